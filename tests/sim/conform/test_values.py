"""The corpus's notation of values, and the Python values that stand for them."""

import math
from typing import Any

import pytest

from durasim.sim.conform.promises import Jobs, Promise, Thrown
from durasim.sim.conform.values import (
    JsError,
    JsMap,
    Uncloneable,
    UnknownNotation,
    add,
    decode,
    encode,
    encode_error,
    make_error,
)
from durasim.wire import ABSENT, UnsendableValue, decode as unpack, encode as pack

NOW = 1000


def read(notation: Any, **scope: dict[str, Any]) -> Any:
    """The value of *notation*; var and mem as given."""
    return decode(notation, {"var": {}, "mem": {}, **scope}, lambda: NOW)


@pytest.mark.parametrize(
    "notation",
    [
        None,
        True,
        0,
        1.5,
        "text",
        [1, [2]],
        {"a": {"b": None}},
        {"$": "undefined"},
        {"$": "nan"},
        {"$": "inf"},
        {"$": "-inf"},
        {"$": "-0"},
        {"$": "bigint", "v": "12345678901234567890"},
        {"$": "date", "v": 5},
        {"$": "invalid-date"},
        {"$": "map", "v": [["k", {"$": "set", "v": [1]}]]},
        {"$": "bytes", "t": "Int16Array", "v": "0001"},
        {"$": "buffer", "v": "ff"},
        {"$": "regexp", "source": "a+", "flags": "g"},
        {"$": "boxed", "v": 1},
        {"$": "obj", "v": [["$", 1]]},
        {"$": "str16", "v": "d800"},
        {"$": "repeat", "s": "x", "n": 400},
        [{"$": "hole"}, 1],
    ],
)
def test_notation_survives_both_ways(notation: Any) -> None:
    """What is read is written as it was."""
    assert encode(read(notation)) == notation


@pytest.mark.parametrize(
    "notation",
    [
        {"$": "undefined"},
        {"$": "map", "v": [["k", {"$": "set", "v": [1]}]]},
        {"$": "date", "v": 5},
        {"$": "bytes", "t": "Int16Array", "v": "0001"},
        {"$": "boxed", "v": "x"},
    ],
)
def test_values_cross_the_wire(notation: Any) -> None:
    """They are registered, as a user's classes are."""
    assert encode(unpack(pack(read(notation)))) == notation


@pytest.mark.parametrize("kind", ["function", "weakmap", "promise", "symbol"])
def test_what_javascript_cannot_clone_durasim_does_not_send(kind: str) -> None:
    """They stand for values that are no class of the wire's."""
    value = read({"$": kind, "v": "s"})

    assert isinstance(value, Uncloneable)
    with pytest.raises(UnsendableValue):
        pack(value)


def test_an_error_is_a_value_as_well() -> None:
    """It is read as what is thrown, and written as what is caught."""
    value = read({"$": "error", "type": "TypeError", "message": "no", "props": {"p": 1}})

    assert encode([value]) == [
        {
            "$": "error",
            "name": "TypeError",
            "message": "no",
            "class": "TypeError",
            "props": {"p": 1},
        }
    ]


def test_long_data_is_told_by_its_length() -> None:
    """Beyond 300 characters or bytes the corpus keeps no content."""
    text = "ab" * 200

    assert encode(text) == {"$": "longstr", "n": 400, "head": text[:16], "tail": text[-16:]}
    assert encode(read({"$": "zeros", "n": 301})) == {
        "$": "longbytes", "t": "Uint8Array", "n": 301,
    }  # fmt: skip
    assert encode(read({"$": "buffer", "v": "00" * 301})) == {"$": "longbuffer", "n": 301}


def test_expressions_are_evaluated_where_they_stand() -> None:
    """Variables, memory, sums, defaults, members and times."""
    scope: dict[str, dict[str, Any]] = {
        "var": {"n": 2, "m": JsMap((("a", 1),))},
        "mem": {"x": [1, 2, 3]},
    }

    def value(notation: Any) -> Any:
        return read(notation, **scope)

    n = {"$": "var", "v": "n"}
    assert value({"$": "add", "a": n, "b": 1}) == 3
    assert value({"$": "var", "v": "missing"}) is ABSENT
    assert value({"$": "or", "a": {"$": "mem", "v": "missing"}, "b": 7}) == 7
    assert value({"$": "or", "a": 0, "b": 7}) == 0
    assert value({"$": "prop", "of": {"$": "var", "v": "m"}, "name": "size"}) == 1
    assert value({"$": "prop", "of": {"$": "mem", "v": "x"}, "name": "length"}) == 3
    assert value({"$": "prop", "of": {"a": 4}, "name": "a"}) == 4
    assert value({"$": "now-plus", "v": 5}) == NOW + 5


def test_a_member_of_undefined_is_a_type_error() -> None:
    """As JavaScript says it."""
    with pytest.raises(Thrown) as caught:
        read({"$": "prop", "of": {"$": "undefined"}, "name": "size"})

    message = "Cannot read properties of undefined (reading 'size')"
    assert caught.value.value == JsError("TypeError", message)


def test_plus_adds_numbers_and_joins_texts() -> None:
    """undefined makes it no number."""
    assert add(1, 2) == 3
    assert add("a", 1) == "a1"
    assert math.isnan(add(ABSENT, 1))


def test_errors_are_shown_as_their_catcher_sees_them() -> None:
    """Name, message, class, own properties; of what is no error the value."""
    error = JsError("Error", "no", props={"remote": True})

    assert encode_error(error) == {
        "name": "Error", "message": "no", "class": "Error", "props": {"remote": True},
    }  # fmt: skip
    assert encode_error(JsError("DOMException", "m", "AbortError")) == {
        "name": "AbortError", "message": "m", "class": "DOMException", "code": 20,
    }  # fmt: skip
    assert encode_error("text", str.upper) == {"nonError": "TEXT"}
    assert encode_error(make_error({"type": "subclass-own-name", "message": "m"}, read)) == {
        "name": "NamedError", "message": "m", "class": "NamedError", "ownName": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    "notation",
    [{"$": "getter"}, {"$": "ref", "id": 1}, {"$": "error", "type": "AggregateError"}],
)
def test_what_is_not_interpreted_is_said(notation: Any) -> None:
    """A kind of value without a Python value is no silent nothing."""
    with pytest.raises(UnknownNotation, match="is not interpreted"):
        read(notation)


def test_a_python_value_of_no_program_has_no_notation() -> None:
    """It would be a fault of the interpreter's."""
    assert encode(Promise(Jobs())) == {"$": "promise"}
    with pytest.raises(UnknownNotation, match="no notation for a object"):
        encode(object())
