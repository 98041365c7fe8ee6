"""Registered classes: which attrs classes and enums have a name on the wire.

The fields of an object are written as they are, each with its own type, never by their
annotations: what was sent is what arrives, also where a field holds more than it declares. cattrs
makes the constructor call (defaults of fields that the sender did not have, private names, fields
that take no part in ``__init__``).
"""

from collections.abc import Callable, Mapping
from enum import Enum, Flag
from operator import attrgetter
from typing import Any, Final, TypeVar, cast, overload

import attrs
from cattrs import Converter
from cattrs.gen import (
    make_dict_structure_fn_from_attrs,  # pyright: ignore[reportUnknownVariableType]
)
from msgpack import ExtType

from .errors import MalformedRecord, UnknownName
from .extensions import MEMBER, MEMBERS, WRITERS

C = TypeVar("C", bound=type)

# One converter for all: detailed validation would triple the cost of reading an object, and its
# groups of errors would be folded into one MalformedRecord anyway.
_CONVERTER: Final = Converter(detailed_validation=False)


class RecordClass:
    """One registered attrs class: how its objects are taken apart and put together."""

    __slots__ = ("_get", "_known", "_read", "cls", "name", "names")

    def __init__(self, cls: type, name: str) -> None:
        # Without annotations cattrs neither resolves names that exist only for type checkers nor
        # converts what it finds in a field.
        fields = [field.evolve(type=Any) for field in attrs.fields(cls)]
        self.cls = cls
        self.name = name
        self.names = tuple(field.name for field in fields)
        self._known = frozenset(self.names)
        self._get: Callable[[Any], Any] = attrgetter(*self.names) if fields else _nothing
        self._read: Callable[[Mapping[str, Any], type], Any] = make_dict_structure_fn_from_attrs(
            fields,
            cls,
            _CONVERTER,
            {parameter.__name__: Any for parameter in getattr(cls, "__parameters__", ())},
            _cattrs_include_init_false=True,
        )

    def values(self, value: Any) -> tuple[Any, ...]:
        """The fields of *value*, in the order of `names`."""
        got = self._get(value)
        return got if len(self.names) != 1 else (got,)

    def build(self, fields: Mapping[str, Any]) -> Any:
        """An object with these *fields*; those that are missing take their default.

        Raises:
            MalformedRecord: a field is unknown here, or missing without a default, or the class
                itself refuses a value.
        """
        if not self._known.issuperset(fields):
            # Dropped, a field of newer code would be lost for good when older code writes back.
            raise MalformedRecord(f"{self.name} has a field that is not known here")
        try:
            return self._read(fields, self.cls)
        except Exception as error:
            raise MalformedRecord(f"no {self.name}: {type(error).__name__}") from error


def _nothing(_value: object) -> tuple[()]:
    return ()


RECORDS: Final[dict[type, RecordClass]] = {}
"""Class to how it is written."""

_BY_NAME: Final[dict[str, RecordClass]] = {}
_OWNERS: Final[dict[str, type]] = {}


@overload
def register(cls: C) -> C: ...


@overload
def register(cls: C, *, name: str) -> C: ...


@overload
def register(*, name: str) -> Callable[[C], C]: ...


def register(cls: C | None = None, *, name: str | None = None) -> C | Callable[[C], C]:
    """Give an attrs class or an enum a name on the wire, so that its values can be sent and stored.

    A decorator, with or without a name, or a plain call. Decorate outside of ``@attrs.frozen``.
    Without *name* the qualified name of the class is used. The name is stored with every value:
    give it explicitly to a class that may be renamed. Subclasses need a name of their own.

    Loading the same module again replaces the classes of its first load.

    Raises:
        TypeError: the class is neither an attrs class nor an enum, or is a `Flag`, whose
            combinations have no names.
        ValueError: another class has this name.
    """
    if cls is None:
        return lambda decorated: _register(decorated, name)
    return _register(cls, name)


def _register(cls: C, name: str | None) -> C:
    name = cls.__qualname__ if name is None else name
    plain: type = cls  # a checker would narrow the class itself and lose what it decorates
    owner = _OWNERS.get(name)
    if owner is not None and (owner.__module__, owner.__qualname__) != (
        cls.__module__,
        cls.__qualname__,
    ):
        raise ValueError(
            f"the wire name {name!r} is that of {owner.__module__}.{owner.__qualname__}"
        )
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is no wire name")

    if issubclass(plain, Enum) and not issubclass(plain, Flag):
        _register_enum(plain, name)
    elif attrs.has(plain):
        RECORDS[plain] = _BY_NAME[name] = RecordClass(plain, name)
    else:
        raise TypeError(
            f"{cls.__qualname__} is neither an attrs class nor an enum of single members"
        )
    _OWNERS[name] = cls
    return cls


def _register_enum(cls: type[Enum], name: str) -> None:
    payloads = {
        member: ExtType(MEMBER, f"{name}\0{member.name}".encode())
        for member in cls.__members__.values()
    }
    WRITERS[cls] = cast("Callable[[Any], ExtType]", payloads.__getitem__)
    for label, member in cls.__members__.items():
        MEMBERS[f"{name}\0{label}".encode()] = member


def record_class(name: object) -> RecordClass:
    """The registered attrs class of this wire name.

    Raises:
        UnknownName: there is none in this process.
    """
    if type(name) is not str or name not in _BY_NAME:
        shown = repr(name[:80]) if type(name) is str else f"of type {type(name).__name__}"
        raise UnknownName(f"no class {shown} is registered here")
    return _BY_NAME[name]
