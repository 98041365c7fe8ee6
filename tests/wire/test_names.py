"""Registered classes keep their names, and what they hold."""

from enum import Enum, Flag, IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import pytest

from durasim.wire import (
    MalformedRecord,
    UnknownName,
    UnsendableValue,
    decode,
    encode,
    names,
    register,
)

from ..strategies import Point

if TYPE_CHECKING:
    from decimal import Decimal

T = TypeVar("T")


@register(name="tests.Node")
@attrs.frozen
class Node:
    """A class whose annotations cannot be resolved at run time."""

    price: "Decimal | None" = None
    next: "Node | None" = None


@register(name="tests.Pair")
@attrs.frozen
class Pair(Generic[T]):
    """A generic class."""

    left: T
    right: T


def upper(text: str) -> str:
    """Convert a field."""
    return text.upper()


@register(name="tests.Checked")
@attrs.define
class Checked:
    """A class that judges and converts its fields."""

    count: int = attrs.field(validator=attrs.validators.instance_of(int))
    code: str = attrs.field(converter=upper, default="a")
    total: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.total = self.count * 2


@pytest.mark.parametrize(
    "value",
    [
        Node(next=Node()),
        Pair(1, "two"),
        Pair(Pair(1, 2), None),
        Checked(3, "xy"),
        Point(1, 2),
    ],
)
def test_objects_of_every_sort_survive(value: Any) -> None:
    """Unresolvable and generic annotations, converters, private and late fields."""
    arrived = decode(encode(value))

    assert type(arrived) is type(value)
    assert arrived == value


def test_a_field_that_was_changed_later_arrives_as_it_is() -> None:
    """A field outside of the constructor is carried, not computed again."""
    value = Checked(3)
    value.total = 100

    assert decode(encode(value)).total == 100


def test_what_the_class_refuses_is_malformed() -> None:
    """A validator of the receiver judges what a peer has written."""
    data = encode(Checked(3)).replace(b"\xa5count\x03", b"\xa5count\xc0")

    with pytest.raises(MalformedRecord, match="TypeError"):
        decode(data)


def test_a_field_that_is_not_known_is_refused() -> None:
    """Older code does not drop what newer code has written."""
    data = encode(Pair(1, 2)).replace(b"\xa4left", b"\xa4lost")

    with pytest.raises(MalformedRecord, match="not known here"):
        decode(data)


def test_a_plain_call_registers_under_the_qualified_name() -> None:
    """Without a name, the name is that of the class where it stands."""

    @attrs.frozen
    class Local:
        x: int = 0

    assert register(Local) is Local
    assert names.record_class(Local.__qualname__).cls is Local
    assert decode(encode(Local(4))) == Local(4)


def test_a_call_with_a_name_registers_under_it() -> None:
    """A class that is not ours can be given a name."""

    @attrs.frozen
    class Foreign:
        pass

    assert register(Foreign, name="tests.Foreign") is Foreign
    assert b"tests.Foreign" in encode(Foreign())


def test_the_same_class_loaded_again_replaces_itself() -> None:
    """A module that is run twice by path does not fail, and its newest class is built."""

    def load() -> type:
        @register(name="tests.Loaded")
        @attrs.frozen
        class Loaded:
            x: int = 0

        return Loaded

    first, second = load(), load()

    assert type(decode(encode(first(1)))) is second


def test_two_classes_cannot_have_one_name() -> None:
    """The first keeps it."""
    with pytest.raises(ValueError, match=r"is that of .*strategies\.Point"):

        @register(name="tests.Point")
        @attrs.frozen
        class Usurper:
            pass

    assert type(decode(encode(Point(1)))) is Point


class Unnamed(Enum):
    """An enum that nobody registers."""

    A = 1


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_some_names_are_none(name: str) -> None:
    """An empty name, and one with the byte that ends a name."""
    with pytest.raises(ValueError, match="is no wire name"):
        register(Unnamed, name=name)


class Plain:
    """Neither an attrs class nor an enum."""


class Bits(Flag):
    """An enum with combinations."""

    A = 1


@pytest.mark.parametrize("value", [Plain(), Bits.A, Unnamed.A])
def test_what_is_not_registered_has_no_form(value: object) -> None:
    """Looking like something that could be registered is not enough."""
    with pytest.raises(UnsendableValue, match=type(value).__name__):
        encode(value)


@pytest.mark.parametrize("cls", [Plain, Bits, dict])
def test_other_classes_cannot_be_registered(cls: type) -> None:
    """Only attrs classes and enums of single members have a form."""
    with pytest.raises(TypeError, match="is neither an attrs class nor"):
        register(cls, name=f"tests.{cls.__name__}")


@register(name="tests.Level")
class Level(IntEnum):
    """An enum of ints."""

    LOW = 1


@register(name="tests.Word")
class Word(StrEnum):
    """An enum of texts."""

    A = "a"


@pytest.mark.parametrize("member", [Level.LOW, Word.A])
def test_members_arrive_as_members(member: Enum) -> None:
    """An enum of ints or texts does not arrive as an int or a text."""
    assert decode(encode([member, {member: member}])) == [member, {member: member}]
    assert type(decode(encode(member))) is type(member)


@pytest.mark.parametrize("name", ["tests.Unheard", 7, None, "x" * 10_000, 10**6000], ids=range(5))
def test_an_unknown_name_is_told_briefly(name: object) -> None:
    """The error shows the name, and not all of a name that is made to be long."""
    with pytest.raises(UnknownName) as caught:
        names.record_class(name)

    assert len(str(caught.value)) < 150
