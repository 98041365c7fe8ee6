"""The two families of wire errors: our mistake, and the peer's."""

import pytest

from durasim import wire
from durasim.wire import MalformedBytes, UnsendableValue, WireError

FAMILY = [
    value
    for name in wire.__all__
    if isinstance(value := getattr(wire, name), type) and issubclass(value, WireError)
]


def test_each_wire_error_is_ours_or_the_peers() -> None:
    """One `except` for each side is enough, and none takes both but the base."""
    assert [
        cls for cls in FAMILY if issubclass(cls, UnsendableValue) == issubclass(cls, MalformedBytes)
    ] == [WireError]


@pytest.mark.parametrize("cls", FAMILY)
def test_wire_errors_are_no_builtin_errors(cls: type[WireError]) -> None:
    """Code that expects a ValueError of its own does not take a broken message for it."""
    assert [base for base in cls.__mro__ if base.__module__ == "builtins"] == [
        Exception,
        BaseException,
        object,
    ]


def test_every_class_is_in_the_drawing() -> None:
    """The tree in the module's docstring shows each class."""
    from durasim.wire import errors

    assert errors.__doc__ is not None
    assert [cls.__name__ for cls in FAMILY if cls.__name__ not in errors.__doc__] == []
