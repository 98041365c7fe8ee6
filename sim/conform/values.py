"""The corpus's notation of JavaScript values, and the Python values that stand for them.

null, booleans, numbers, strings, arrays and plain objects are themselves; undefined is `ABSENT`;
the rest are the small classes below, registered with the wire, so that they are stored and sent as
any user's values are. What JavaScript cannot clone is no registered class, so that durasim refuses
it by itself.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

import attrs

from ...wire import ABSENT, register
from .promises import Promise, Thrown

__all__ = [
    "Date",
    "JsError",
    "JsMap",
    "JsSet",
    "Uncloneable",
    "UnknownNotation",
    "add",
    "decode",
    "encode",
    "encode_error",
    "is_array",
    "is_members",
]

Notation: TypeAlias = Any
Value: TypeAlias = Any

LONG_LENGTH: Final = 300
"""Characters or bytes from which the corpus keeps only the length (harness, values.js)."""


def is_members(value: Value) -> TypeGuard[dict[str, Value]]:
    """Whether *value* is an object given by its members."""
    return isinstance(value, dict)


def is_array(value: Value) -> TypeGuard[list[Value]]:
    """Whether *value* is an array."""
    return isinstance(value, list)


class UnknownNotation(Exception):
    """The notation has a kind of value that no Python value stands for. Nothing was made."""


@register(name="js.Map")
@attrs.frozen
class JsMap:
    """A Map; pairs in insertion order."""

    pairs: tuple[tuple[Value, Value], ...]


@register(name="js.Set")
@attrs.frozen
class JsSet:
    """A Set; elements in insertion order."""

    elements: tuple[Value, ...]


@register(name="js.Date")
@attrs.frozen
class Date:
    """A Date: milliseconds since 1970, None if it is invalid."""

    ms: int | float | None


@register(name="js.BigInt")
@attrs.frozen
class BigInt:
    """A BigInt, which is no number."""

    digits: str


@register(name="js.Bytes")
@attrs.frozen
class Bytes:
    """An ArrayBuffer (`view` is "ArrayBuffer"), a typed array or a DataView."""

    view: str
    data: bytes


@register(name="js.RegExp")
@attrs.frozen
class RegExp:
    """A regular expression."""

    source: str
    flags: str


@register(name="js.Boxed")
@attrs.frozen
class Boxed:
    """A boxed primitive."""

    value: Value


@register(name="js.Hole")
@attrs.frozen
class Hole:
    """A missing element of an array."""


@register(name="js.Error")
@attrs.frozen
class JsError:
    """An error object.

    Attributes:
        kind: its class, as far as the observer has that class.
        message: its message.
        name: its name, if it is not that of the class.
        own_name: whether the name is an own property.
        props: all other own properties.
    """

    kind: str
    message: str
    name: str | None = None
    own_name: bool = False
    props: dict[str, Value] = attrs.field(factory=dict[str, Value])

    def having(self, **props: Value) -> "JsError":
        """The same error with further own properties."""
        return attrs.evolve(self, props={**self.props, **props})


@attrs.frozen
class Uncloneable:
    """A value that can be neither stored nor sent; `text` is how JavaScript names it."""

    text: str


Scope: TypeAlias = Mapping[str, Mapping[str, Value]]
"""What expressions refer to: "var" and "mem", each name to value."""

_NUMBERS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "-0": -0.0}


def decode(notation: Notation, scope: Scope, now_ms: Callable[[], int]) -> Value:
    """The value that *notation* stands for; expressions are evaluated in *scope*.

    Raises:
        UnknownNotation: a kind that is not interpreted.
    """

    def read(part: Notation) -> Value:
        return decode(part, scope, now_ms)

    if is_array(notation):
        return [read(part) for part in notation]
    if not is_members(notation):
        return notation
    if "$" not in notation:
        return {name: read(part) for name, part in notation.items()}
    kind = notation["$"]
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if kind == "now-plus":
        return now_ms() + notation["v"]
    if kind in _EXPRESSIONS:
        return _EXPRESSIONS[kind](notation, read, scope)
    if kind in _LITERALS:
        return _LITERALS[kind](notation, read)
    raise UnknownNotation(f"the kind of value {kind!r} is not interpreted")


def make_error(spec: Notation, read: Callable[[Notation], Value]) -> JsError:
    """The error that `throw` is given, as its thrower sees it (harness, makeError).

    Raises:
        UnknownNotation: a type, a cause or members that are not interpreted.
    """
    kind = spec.get("type", "Error")
    if kind not in _ERROR_CLASSES or "cause" in spec or "errors" in spec:
        raise UnknownNotation(f"an error of type {kind!r} is not interpreted")
    cls, name = _ERROR_CLASSES[kind]
    props = {key: read(value) for key, value in spec.get("props", {}).items()}
    own_name = "name" in spec or kind == "subclass-own-name"
    return JsError(cls, spec.get("message", ""), spec.get("name", name), own_name, props)


_ERROR_CLASSES: Final[dict[str, tuple[str, str | None]]] = {
    **{
        name: (name, None)
        for name in (
            "Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError",
            "URIError",
        )
    },
    "subclass": ("MyError", "Error"),
    "subclass-own-name": ("NamedError", "NamedError"),
    "subclass-proto-name": ("ProtoNamedError", "ProtoNamedError"),
}  # fmt: skip


def _bytes(notation: Notation, _read: Callable[[Notation], Value]) -> Bytes:
    return Bytes(notation.get("t", "Uint8Array"), bytes.fromhex(notation["v"]))


def _utf16(notation: Notation, _read: Callable[[Notation], Value]) -> str:
    return bytes.fromhex(notation["v"]).decode("utf-16-be", "surrogatepass")


_LITERALS: Final[dict[str, Callable[[Notation, Callable[[Notation], Value]], Value]]] = {
    "undefined": lambda _n, _r: ABSENT,
    "error": lambda n, r: make_error(n, r),
    "bigint": lambda n, _r: BigInt(n["v"]),
    "date": lambda n, _r: Date(n["v"]),
    "invalid-date": lambda _n, _r: Date(None),
    "buffer": lambda n, _r: Bytes("ArrayBuffer", bytes.fromhex(n["v"])),
    "bytes": _bytes,
    "zeros": lambda n, _r: Bytes("Uint8Array", bytes(n["n"])),
    "map": lambda n, r: JsMap(tuple((r(key), r(value)) for key, value in n["v"])),
    "set": lambda n, r: JsSet(tuple(r(part) for part in n["v"])),
    "obj": lambda n, r: {key: r(value) for key, value in n["v"]},
    "regexp": lambda n, _r: RegExp(n["source"], n.get("flags", "")),
    "repeat": lambda n, _r: n["s"] * n["n"],
    "str16": _utf16,
    "boxed": lambda n, r: Boxed(r(n["v"])),
    "hole": lambda _n, _r: Hole(),
    "symbol": lambda n, _r: Uncloneable(f"Symbol({n['v']})"),
    "function": lambda _n, _r: Uncloneable("function f() {}"),
    "weakmap": lambda _n, _r: Uncloneable("#<WeakMap>"),
    "promise": lambda _n, _r: Uncloneable("#<Promise>"),
}

_EXPRESSIONS: Final[dict[str, Callable[[Notation, Callable[[Notation], Value], Scope], Value]]] = {
    "var": lambda n, _r, scope: scope["var"].get(n["v"], ABSENT),
    "mem": lambda n, _r, scope: scope["mem"].get(n["v"], ABSENT),
    "add": lambda n, r, _s: add(r(n["a"]), r(n["b"])),
    "or": lambda n, r, _s: _either(r(n["a"]), lambda: r(n["b"])),
    "prop": lambda n, r, _s: _property(r(n["of"]), n["name"]),
}


def add(a: Value, b: Value) -> Value:
    """JavaScript's ``+``, as far as numbers, texts and undefined go."""
    if isinstance(a, str) or isinstance(b, str):
        return _text(a) + _text(b)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a + b
    return math.nan


def _text(value: Value) -> str:
    return value if isinstance(value, str) else str(encode(value))


def _either(a: Value, b: Callable[[], Value]) -> Value:
    return b() if a is None or a is ABSENT else a


def _property(of: Value, name: str) -> Value:
    if of is ABSENT or of is None:
        shown = "undefined" if of is ABSENT else "null"
        message = f"Cannot read properties of {shown} (reading '{name}')"
        raise Thrown(JsError("TypeError", message))
    if isinstance(of, JsMap):
        return len(of.pairs) if name == "size" else ABSENT
    if isinstance(of, JsSet):
        return len(of.elements) if name == "size" else ABSENT
    if isinstance(of, str) or is_array(of):
        return len(of) if name == "length" else ABSENT
    return of.get(name, ABSENT) if is_members(of) else ABSENT


def encode(value: Value, norm: Callable[[str], str] = str) -> Notation:
    """The notation of *value*; *norm* takes out of texts what differs from run to run.

    Raises:
        UnknownNotation: a value that is none of a program's.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _encode_text(norm(value))
    if isinstance(value, (int, float)):
        return _encode_number(value)
    if is_array(value):
        return [encode(part, norm) for part in value]
    if is_members(value):
        members = {name: encode(part, norm) for name, part in value.items()}
        return (
            {"$": "obj", "v": [list(pair) for pair in members.items()]}
            if "$" in members
            else members
        )
    return _encode_special(value, lambda part: encode(part, norm))


def _encode_text(text: str) -> Notation:
    if len(text) > LONG_LENGTH:
        if text == text[0] * len(text):
            return {"$": "repeat", "s": text[0], "n": len(text)}
        return {"$": "longstr", "n": len(text), "head": text[:16], "tail": text[-16:]}
    if any("\ud800" <= character <= "\udfff" for character in text):
        return {"$": "str16", "v": text.encode("utf-16-be", "surrogatepass").hex()}
    return text


def _encode_number(value: int | float) -> Notation:
    if isinstance(value, int):
        return value
    if math.isnan(value):
        return {"$": "nan"}
    if math.isinf(value):
        return {"$": "inf" if value > 0 else "-inf"}
    if value == 0.0 and math.copysign(1, value) < 0:
        return {"$": "-0"}
    return int(value) if value.is_integer() else value


def _encode_special(value: Value, show: Callable[[Value], Notation]) -> Notation:
    if value is ABSENT:
        return {"$": "undefined"}
    if isinstance(value, JsMap):
        return {"$": "map", "v": [[show(key), show(part)] for key, part in value.pairs]}
    if isinstance(value, JsSet):
        return {"$": "set", "v": [show(part) for part in value.elements]}
    if isinstance(value, Date):
        return {"$": "invalid-date"} if value.ms is None else {"$": "date", "v": value.ms}
    if isinstance(value, BigInt):
        return {"$": "bigint", "v": value.digits}
    if isinstance(value, Bytes):
        return _encode_bytes(value)
    if isinstance(value, RegExp):
        return {"$": "regexp", "source": value.source, "flags": value.flags}
    if isinstance(value, JsError):
        return {"$": "error", **_error_members(value, show, str)}
    if isinstance(value, Boxed):
        return {"$": "boxed", "v": show(value.value)}
    if isinstance(value, Hole):
        return {"$": "hole"}
    if isinstance(value, Promise):
        return {"$": "promise"}
    raise UnknownNotation(f"no notation for a {type(value).__qualname__}")


def _encode_bytes(value: Bytes) -> Notation:
    buffer = value.view == "ArrayBuffer"
    if len(value.data) > LONG_LENGTH:
        length = {"n": len(value.data)}
        return (
            {"$": "longbuffer", **length}
            if buffer
            else {"$": "longbytes", "t": value.view, **length}
        )
    if buffer:
        return {"$": "buffer", "v": value.data.hex()}
    return {"$": "bytes", "t": value.view, "v": value.data.hex()}


_DOM_CODES: Final = {"DataCloneError": 25, "AbortError": 20}


def encode_error(value: Value, norm: Callable[[str], str] = str) -> Notation:
    """The notation of a thrown *value* as its catcher sees it (harness, encodeError).

    Raises:
        UnknownNotation: as `encode`.
    """
    if not isinstance(value, JsError):
        return {"nonError": encode(value, norm)}
    return _error_members(value, lambda part: encode(part, norm), norm)


def _error_members(
    error: JsError, show: Callable[[Value], Notation], norm: Callable[[str], str]
) -> dict[str, Notation]:
    name = error.kind if error.name is None else error.name
    members: dict[str, Notation] = {
        "name": name, "message": norm(error.message), "class": error.kind,
    }  # fmt: skip
    if error.kind == "DOMException":
        members["code"] = _DOM_CODES.get(name, 0)
        return members
    if error.own_name:
        members["ownName"] = True
    if error.props:
        members["props"] = {key: show(part) for key, part in error.props.items()}
    return members
