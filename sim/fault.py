"""What a fault is: a value that says what strikes, where, and how often at most.

It becomes options at the sites that it matches; whether it strikes there is a choice.
"""

import sys
from collections.abc import Callable
from math import inf
from typing import Any, ClassVar, cast

import attrs

from ..actors import DurableObject
from .wording import listed

__all__ = ["Fault", "Sentences", "Subject", "Where", "among"]

Sentences = tuple[tuple[str, str], ...]
"""Options with their sentences: {n} is the number of the choice; {call} the object and method,
{owner} the object, {caller} who called, {during} the method that runs there, {statement} what the
shared database is asked."""

Where = type | Callable[..., Any] | str | None

METHODS = frozenset({"request", "reply", "commit", "await", "query"})
"""Kinds of sites that know a method."""


def among(*known: str) -> Callable[[Any, "attrs.Attribute[tuple[str, ...]]", object], None]:
    """Make a validator of attrs: a tuple of some of *known*, or a ValueError that names them."""

    def check(fault: object, attribute: "attrs.Attribute[tuple[str, ...]]", value: object) -> None:
        whose = f"{type(fault).__name__}({attribute.name}=...)"
        texts = ", ".join(map(repr, known))
        if not isinstance(value, tuple) or not value:
            raise ValueError(f"{whose} is {value!r}, not a tuple of some of {texts}")
        wrong = [each for each in cast(tuple[object, ...], value) if each not in known]
        if wrong:
            raise ValueError(f"{whose} has {wrong[0]!r}; there are {texts}")

    return check


@attrs.frozen
class Subject:
    """What a site touches, as faults match it.

    Attributes:
        kind: of the site: request, reply, commit, await, read, start, alarm, clock, program, query.
        cls: stored class name of the object, name of the program, or table of the database.
        name: of the object.
        method: called, or running, or the first word of a statement; "" if none.
        caller: who called; "" if nobody.
    """

    kind: str
    cls: str = ""
    name: str = ""
    method: str = ""
    caller: str = ""


@attrs.frozen
class Fault:
    """One thing that may go wrong.

    Attributes:
        where: a class, a method of a class, a stored class name, or None for everywhere. Of the
            shared database: a table, or "table.VERB".
        at_most: how often it may strike in one run.
        caller: only what this participant sends, None for everybody.
        weight: how often it is chosen, against the other options of a site.
    """

    where: Where = None
    at_most: float = attrs.field(default=inf, kw_only=True)
    caller: str | None = attrs.field(default=None, kw_only=True)
    weight: float = attrs.field(default=1.0, kw_only=True)

    title: ClassVar[str] = "fault"
    kinds: ClassVar[tuple[str, ...]] = ()
    sentences: ClassVar[Sentences] = ()

    def __attrs_post_init__(self) -> None:
        """Refuse what could never strike, as far as it can be told here.

        Raises:
            ValueError: there is no such place, or a bound or a weight makes no sense.
        """
        if not self.at_most >= 0:
            raise ValueError(f"{self.title}: at_most is {self.at_most!r}, not a number from 0 on")
        if not self.weight > 0:
            raise ValueError(f"{self.title}: weight is {self.weight!r}, not above 0")
        wrong = misplaced(self.where, self.kinds)
        if wrong is not None:
            raise ValueError(f"{type(self).__name__} strikes nowhere: {wrong}")

    def strikes(self, kind: str) -> Sentences:
        """Return (option, sentence) of what this fault can do at sites of *kind*."""
        del kind
        return self.sentences

    def matches(self, subject: Subject) -> bool:
        """Whether it can strike at *subject*."""
        if subject.kind not in self.kinds:
            return False
        if self.caller is not None and self.caller != subject.caller:
            return False
        where = self.where
        if where is None:
            return True
        if isinstance(where, str):
            return where in (subject.cls, f"{subject.cls}.{subject.method}")
        if isinstance(where, type):
            return getattr(where, "stored_name", where.__qualname__) == subject.cls
        owner, _, method = where.__qualname__.rpartition(".")
        return method == subject.method and owner.rpartition(".")[2] in (
            subject.cls.rpartition(".")[2],
            owner,
        )

    def __str__(self) -> str:
        where = self.where
        place = where if isinstance(where, str) else getattr(where, "__qualname__", None)
        return self.title if place is None else f"{self.title} of {place}"


def misplaced(where: object, kinds: tuple[str, ...]) -> str | None:
    """Say why nothing is ever at *where*; None if something may be."""
    if where is None or isinstance(where, str | type):
        return None
    name = getattr(where, "__qualname__", None)
    if not isinstance(name, str):
        return f"{where!r} is no class, method or text"
    owner, _, method = name.rpartition(".")
    if not owner or owner.endswith("<locals>"):
        return f"{name} is a function, no method of a class"
    if METHODS.isdisjoint(kinds):
        return f"it strikes whole objects, not one method; say {owner} instead of {name}"
    cls = class_named(getattr(where, "__module__", ""), owner)
    if cls is not None and method != "alarm" and method not in cls.methods:
        there = listed(sorted(cls.methods)) or "none"
        return f"{owner} has no public coroutine method {method!r}; it has {there}"
    return None


def class_named(module: str, name: str) -> type[DurableObject] | None:
    """Return the class of objects that *module* calls *name*, None if it knows none."""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, DurableObject):
        return found
    return None
