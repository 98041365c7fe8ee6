"""What every `Entropy` promises."""

from durasim.actors import Entropy

from .arms import Arm


def test_a_draw_has_the_length_asked_for(entropies: Arm[Entropy]) -> None:
    """None at all included."""

    async def body(entropy: Entropy) -> None:
        for count in (0, 1, 16, 1000):
            assert len(entropy.draw("Cart/a", count)) == count

    entropies.run(body)


def test_draws_differ(entropies: Arm[Entropy]) -> None:
    """From draw to draw and from actor to actor."""

    async def body(entropy: Entropy) -> None:
        drawn = [entropy.draw(actor, 16) for actor in ("Cart/a", "Cart/b") for _ in range(50)]
        assert len(set(drawn)) == 100

    entropies.run(body)
