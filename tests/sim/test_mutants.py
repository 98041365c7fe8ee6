"""A mutant replaces one function for one run, and everything is put back."""

from typing import Any, ClassVar

import pytest

from durasim.sim import Mutant, UnknownTarget, explore, simulate

from . import stories
from .stories import Tally, never_negative, retried, right

HERE = "tests.sim.test_mutants"


class Thing:
    """Something with methods of each kind."""

    word: ClassVar[str] = "right"

    def plain(self) -> str:
        """Say how it is."""
        return "right"

    @staticmethod
    def static() -> str:
        """Say how it is."""
        return "right"

    @classmethod
    def of_class(cls) -> str:
        """Say how it is."""
        return cls.word


def backwards(by: int) -> int:
    """Subtract what was to be added."""
    return -by


async def forgetful(self: Tally, by: int) -> int:
    """Add nothing."""
    del by
    return int(await self.storage.get("total", 0))


def wrong(*given: object) -> str:
    """Say how it is, and how much was given."""
    return f"wrong {len(given)}"


def mutant(target: str, replacement: Any, **rest: Any) -> Mutant:
    """Make a mutant of *target*."""
    return Mutant("m", target, replacement, right, ["scenario"], **rest)


def test_a_function_of_a_module_is_replaced_and_put_back() -> None:
    """The module's other code sees the wrong one, also after an error."""
    with pytest.raises(ZeroDivisionError), mutant("tests.sim.stories:step", backwards).applied():
        assert 1 // (stories.step(2) + 2)
    assert stories.step(2) == 2


def test_a_function_that_was_imported_by_name_is_replaced_there_too() -> None:
    """Whoever holds it under its own name calls the wrong one."""
    with mutant("durasim.sim.trio_order:unsupported", lambda: "wrong").applied():
        import durasim.sim.trio_order as order

        assert order.unsupported() == "wrong"
    assert order.unsupported() is None


@pytest.mark.parametrize("name", ["plain", "static", "of_class"])
def test_methods_of_every_kind_are_replaced(name: str) -> None:
    """A static or class method stays one."""
    with mutant(f"{HERE}:Thing.{name}", wrong).applied():
        assert getattr(Thing(), name)() == f"wrong {0 if name == 'static' else 1}"
    assert getattr(Thing(), name)() == "right"


@pytest.mark.parametrize(
    "target",
    [
        "tests.sim.nowhere:step",
        "tests.sim.stories:nothing",
        "tests.sim.stories:Tally.nothing",
        "tests.sim.stories:Nobody.add",
        "tests.sim.stories:retried.__init__",
        ":",
    ],
)
def test_a_target_that_is_not_there_is_an_error(target: str) -> None:
    """It is one line, names the mutant, and nothing is replaced."""
    with pytest.raises(UnknownTarget, match=r"^mutant 'm'.*$"), mutant(target, backwards).applied():
        pass


def test_expected_properties_may_be_given_themselves() -> None:
    """A property stands for its name."""
    expected = Mutant("m", "a:b", backwards, "right", (never_negative, "scenario")).expected

    assert expected == ("never_negative", "scenario")


def test_a_mutant_is_found_and_named_in_the_replay_file() -> None:
    """The run fails under the mutant, and only under it."""
    wrong = mutant("tests.sim.stories:Tally.add", forgetful)
    found = explore(right, runs=5, mutant=wrong).found[0]

    assert found.property == "scenario"
    assert found.replay.mutant == "m"
    assert explore(right, runs=5).ok


def test_a_mutant_is_reported_by_the_property_that_sees_it() -> None:
    """A total below zero is what `never_negative` is for."""
    report = simulate(right, mutant=mutant("tests.sim.stories:step", backwards))

    assert report.failures[0].property == "never_negative"
    assert simulate(retried).ok
