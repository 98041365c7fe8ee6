"""What `scenario` refuses, in one sentence each, where it is written."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from durasim.sim import LoseReply, Property, World, always, scenario


async def story(world: World) -> None:
    """Do nothing."""
    del world


async def sized(world: World, size: int) -> None:
    """Do nothing, with a size."""
    del world, size


def plain(world: World) -> bool:
    """Decorated with nothing."""
    del world
    return True


def synchronous(world: World) -> None:
    """Wait for nothing."""
    del world


class Counted(Property[int]):
    """A property that can be asked."""

    name = "counted"

    def init(self) -> int:
        """Begin with nothing."""
        return 0

    def holds(self, state: int, world: World) -> bool:
        """Say yes."""
        del state, world
        return True


class Nameless(Counted):
    """Nobody can say which it is."""

    name = ""


class Timeless(Counted):
    """Asked at no known moment."""

    when = "never"  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class Letters(Counted):
    """A text is not a tuple of kinds."""

    kinds = "commit"  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class Beginless(Property[int]):
    """Has no state to begin with."""

    name = "beginless"

    def holds(self, state: int, world: World) -> bool:
        """Say yes."""
        del state, world
        return True


MADE: dict[str, tuple[Callable[[Any], object], str]] = {
    "forgotten comma": (
        lambda make: make(faults=LoseReply()),
        ("faults of a scenario is one LoseReply, not a tuple: a tuple of one has a comma, `(…,)`"),
    ),
    "no tuple": (
        lambda make: make(faults=None),
        "faults of a scenario is None, not a tuple of Fault",
    ),
    "class of a fault": (
        lambda make: make(faults=(LoseReply,)),
        "faults of a scenario has the class LoseReply in it: write LoseReply(), an instance",
    ),
    "no fault": (
        lambda make: make(faults=("reply lost",)),
        "faults of a scenario has 'reply lost' in it, which is no Fault",
    ),
    "plain function": (
        lambda make: make(properties=(plain,)),
        (
            "properties of a scenario has the plain function plain in it: decorate it with "
            "always, sometimes, eventually or at_rest"
        ),
    ),
    "class of a property": (
        lambda make: make(properties=(Counted,)),
        "properties of a scenario has the class Counted in it: write Counted(), an instance",
    ),
    "no init": (
        lambda make: make(properties=(Beginless(),)),
        "property Beginless has no method init",
    ),
    "no name": (
        lambda make: make(properties=(Nameless(),)),
        "property Nameless has no name: verdicts call it by `name`",
    ),
    "no moment": (
        lambda make: make(properties=(Timeless(),)),
        ("property 'counted' has when = 'never'; there are always, sometimes, eventually, at_rest"),
    ),
    "kinds": (
        lambda make: make(properties=(Letters(),)),
        "property 'counted' has kinds = 'commit', not a tuple of them",
    ),
    "no parentheses": (
        lambda make: make(story),
        "scenario takes named arguments only: write @scenario() with parentheses",
    ),
    "parameter": (
        lambda make: make(parameters={"size": 3}),
        "parameter 'size' of a scenario is 3, not a list of its values",
    ),
    "no coroutine": (
        lambda make: make()(synchronous),
        f"a scenario is made of an `async def`, and {synchronous!r} is none",
    ),
    "parameter that is not taken": (
        lambda make: make(parameters={"size": [1]})(story),
        (
            "scenario story cannot be called with a world, 'size': "
            "got an unexpected keyword argument 'size'"
        ),
    ),
    "parameter without values": (
        lambda make: make()(sized),
        "scenario sized cannot be called with a world: missing a required argument: 'size'",
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_wrong_argument_is_refused_in_one_sentence(name: str) -> None:
    """A TypeError at the definition, before anything runs."""
    make, said = MADE[name]

    with pytest.raises(TypeError, match=f"^{re.escape(said)}$"):
        make(scenario)


def test_right_arguments_make_a_scenario() -> None:
    """Lists are taken as tuples."""
    made = scenario(
        faults=[LoseReply()],  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        properties=(always(plain), Counted()),
        parameters={"size": [1, 2]},
    )(sized)

    assert made.name == "sized"
    assert made.faults == (LoseReply(),)
    assert [each.name for each in made.properties] == ["plain", "counted"]
