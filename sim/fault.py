"""What a fault is: a value that says what strikes, where, and how often at most.

It becomes options at the sites that it matches; whether it strikes there is a choice.
"""

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar

import attrs

__all__ = ["Fault", "Sentences", "Subject", "Where"]

Sentences = tuple[tuple[str, str], ...]
"""Options with their sentences: {n} is the number of the choice; {call} the object and method,
{owner} the object, {caller} who called, {during} the method that runs there, {statement} what the
shared database is asked."""

Where = type | Callable[..., Any] | str | None


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
