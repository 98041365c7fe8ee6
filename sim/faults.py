"""What may go wrong, as values.

A fault names what strikes, where, and how often at most. It becomes options at the sites it
matches; whether it strikes there is a choice. A plan is a tuple of faults.
"""

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar

import attrs

from .choices import Option

__all__ = [
    "Abort",
    "AlarmLate",
    "AlarmTwice",
    "AmbiguousCommit",
    "ClockJump",
    "ClockSkew",
    "CorruptReply",
    "CorruptRequest",
    "Crash",
    "DuplicateRequest",
    "Evict",
    "FailConstructor",
    "FailRead",
    "FailWrite",
    "Fault",
    "KillProgram",
    "LoseReply",
    "LoseRequest",
    "Partition",
    "Restart",
    "SlowDisk",
    "StaleIncarnation",
    "Subject",
    "Swap",
    "every_fault",
    "options_at",
]

Sentences = tuple[tuple[str, str], ...]
"""Options with their sentences: {n} is the number of the choice; {call} the object and method,
{owner} the object, {caller} who called, {during} the method that runs there."""

Where = type | Callable[..., Any] | str | None


@attrs.frozen
class Subject:
    """What a site touches, as faults match it.

    Attributes:
        kind: of the site: request, reply, commit, await, read, start, alarm, clock, program, link.
        cls: stored class name of the object, or name of the program.
        name: of the object.
        method: called, or running; "" if none.
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
        where: a class, a method of a class, a stored class name, or None for everywhere.
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


@attrs.frozen
class LoseRequest(Fault):
    """A request never arrives; its caller waits until the deadline."""

    title: ClassVar[str] = "request lost"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (("lost", "request {n} of {call} by {caller} is lost"),)


@attrs.frozen
class DuplicateRequest(Fault):
    """A request arrives a second time, a little later."""

    title: ClassVar[str] = "request duplicated"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (("twice", "request {n} of {call} by {caller} arrives twice"),)


@attrs.frozen
class CorruptRequest(Fault):
    """The bytes of a request are damaged; the host answers that it cannot read them."""

    title: ClassVar[str] = "request corrupted"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (("corrupt", "request {n} of {call} by {caller} is damaged"),)


@attrs.frozen
class LoseReply(Fault):
    """The object ran and answered; the answer never arrives."""

    title: ClassVar[str] = "reply lost"
    kinds: ClassVar[tuple[str, ...]] = ("reply",)
    sentences: ClassVar[Sentences] = (("lost", "reply {n} of {call} to {caller} is lost"),)


@attrs.frozen
class CorruptReply(Fault):
    """The bytes of a reply are damaged; its caller cannot know what it said."""

    title: ClassVar[str] = "reply corrupted"
    kinds: ClassVar[tuple[str, ...]] = ("reply",)
    sentences: ClassVar[Sentences] = (("corrupt", "reply {n} of {call} to {caller} is damaged"),)


@attrs.frozen
class Crash(Fault):
    """The host dies before or after a commit, or at any await, and starts again at once.

    Attributes:
        at: which moments: "before commit", "after commit", "await".
    """

    at: tuple[str, ...] = attrs.field(
        default=("before commit", "after commit", "await"), kw_only=True
    )

    title: ClassVar[str] = "crash"
    kinds: ClassVar[tuple[str, ...]] = ("commit", "await")

    def strikes(self, kind: str) -> tuple[tuple[str, str], ...]:
        """Crash at those moments that belong to *kind*."""
        return tuple(
            (f"crash {moment}", f"the host crashes {words} {{n}} of {{owner}}{{during}}")
            for moment, site, words in (
                ("before", "commit", "before commit"),
                ("after", "commit", "after commit"),
                ("here", "await", "at await"),
            )
            if site == kind and (words.removeprefix("at ") in self.at)
        )


@attrs.frozen
class Restart(Fault):
    """The host goes down and starts again right before a request; nothing it runs survives."""

    title: ClassVar[str] = "restart"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        ("restarted", "the host is restarted before request {n} of {call} by {caller}"),
    )


@attrs.frozen
class Abort(Fault):
    """An object is reset at an await: the writes of that turn are lost, all callers are told."""

    title: ClassVar[str] = "abort"
    kinds: ClassVar[tuple[str, ...]] = ("await",)
    sentences: ClassVar[Sentences] = (("aborted", "{owner} is reset at await {n}{during}"),)


@attrs.frozen
class FailWrite(Fault):
    """A commit fails, and nothing of it is stored: the object is reset."""

    title: ClassVar[str] = "write failure"
    kinds: ClassVar[tuple[str, ...]] = ("commit",)
    sentences: ClassVar[Sentences] = (("fails", "commit {n} of {owner} fails, nothing is stored"),)


@attrs.frozen
class AmbiguousCommit(Fault):
    """A commit is said to have failed, and is stored all the same."""

    title: ClassVar[str] = "ambiguous commit"
    kinds: ClassVar[tuple[str, ...]] = ("commit",)
    sentences: ClassVar[Sentences] = (
        ("ambiguous", "commit {n} of {owner} is stored but reported as failed"),
    )


@attrs.frozen
class SlowDisk(Fault):
    """A commit takes a second; everything behind the output gate waits for it."""

    title: ClassVar[str] = "slow disk"
    kinds: ClassVar[tuple[str, ...]] = ("commit",)
    sentences: ClassVar[Sentences] = (("1 s", "commit {n} of {owner} takes 1 s"),)


@attrs.frozen
class FailRead(Fault):
    """A read of storage fails; nothing changes."""

    title: ClassVar[str] = "read failure"
    kinds: ClassVar[tuple[str, ...]] = ("read",)
    sentences: ClassVar[Sentences] = (("fails", "read {n} of {owner} fails"),)


@attrs.frozen
class Evict(Fault):
    """An idle incarnation is let go: memory is lost, storage stays (LC-7)."""

    title: ClassVar[str] = "eviction"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        ("evicted", "{owner} is evicted before request {n} of {call} by {caller}"),
    )


@attrs.frozen
class FailConstructor(Fault):
    """The constructor of an object raises: everything that waits for it fails (LC-3)."""

    title: ClassVar[str] = "constructor failure"
    kinds: ClassVar[tuple[str, ...]] = ("start",)
    sentences: ClassVar[Sentences] = (("fails", "start {n} of {owner} fails in the constructor"),)


@attrs.frozen
class Swap(Fault):
    """The host changes over to another version of the code, here or back: everything restarts."""

    title: ClassVar[str] = "version swap"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        ("swapped", "the code is swapped before request {n} of {call} by {caller}"),
    )


@attrs.frozen
class StaleIncarnation(Fault):
    """A second incarnation starts while the first still runs; the first is refused at storage."""

    title: ClassVar[str] = "replaced but running"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        (
            "replaced",
            "{owner} is replaced, and the old one runs on, at request {n} of {call} by {caller}",
        ),
    )


@attrs.frozen
class AlarmLate(Fault):
    """An alarm rings a minute late, as the platform allows."""

    title: ClassVar[str] = "alarm late"
    kinds: ClassVar[tuple[str, ...]] = ("alarm",)
    sentences: ClassVar[Sentences] = (("60 s late", "alarm {n} of {owner} rings a minute late"),)


@attrs.frozen
class AlarmTwice(Fault):
    """An alarm rings, and rings again: delivery is at least once."""

    title: ClassVar[str] = "alarm twice"
    kinds: ClassVar[tuple[str, ...]] = ("alarm",)
    sentences: ClassVar[Sentences] = (("twice", "alarm {n} of {owner} rings twice"),)


@attrs.frozen
class ClockSkew(Fault):
    """A host's wall clock is wrong from the start."""

    title: ClassVar[str] = "clock skew"
    kinds: ClassVar[tuple[str, ...]] = ("clock",)
    sentences: ClassVar[Sentences] = (
        ("60 s ahead", "the clock of {owner} is a minute ahead at start {n}"),
        ("60 s behind", "the clock of {owner} is a minute behind at start {n}"),
    )


@attrs.frozen
class ClockJump(Fault):
    """A host's wall clock jumps while it runs."""

    title: ClassVar[str] = "clock jump"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        (
            "clock +60 s",
            "the host's clock jumps a minute ahead before request {n} of {call} by {caller}",
        ),
        (
            "clock -60 s",
            "the host's clock jumps a minute back before request {n} of {call} by {caller}",
        ),
    )


@attrs.frozen
class Partition(Fault):
    """The link between a participant and a host is cut for 5 s: what is sent then is lost."""

    title: ClassVar[str] = "partition"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        ("cut 5 s", "{caller} is cut off from {owner} for 5 s at request {n} of {call}"),
    )


@attrs.frozen
class KillProgram(Fault):
    """An external program dies at an await; it does not come back by itself."""

    title: ClassVar[str] = "program killed"
    kinds: ClassVar[tuple[str, ...]] = ("program",)
    sentences: ClassVar[Sentences] = (("killed", "program {owner} is killed at await {n}"),)


def options_at(plan: tuple[Fault, ...], subject: Subject) -> tuple[Option, ...]:
    """Return what *plan* allows to happen at *subject*."""
    owner = f"{subject.cls}/{subject.name}" if subject.name else subject.cls
    words = {
        "n": "{n}",
        "call": f"{owner}.{subject.method}",
        "owner": owner,
        "caller": subject.caller,
        "during": f" in {subject.method}" if subject.method else "",
    }
    return tuple(
        Option(name, sentence.format_map(words), fault.weight, number)
        for number, fault in enumerate(plan)
        if fault.matches(subject)
        for name, sentence in fault.strikes(subject.kind)
    )


def every_fault() -> tuple[Fault, ...]:
    """Return one of each kind of fault, everywhere and without bound."""
    return tuple(kind() for kind in KINDS)


KINDS: tuple[type[Fault], ...] = (
    LoseRequest,
    DuplicateRequest,
    CorruptRequest,
    LoseReply,
    CorruptReply,
    Crash,
    Restart,
    Abort,
    FailWrite,
    AmbiguousCommit,
    SlowDisk,
    FailRead,
    Evict,
    FailConstructor,
    Swap,
    StaleIncarnation,
    AlarmLate,
    AlarmTwice,
    ClockSkew,
    ClockJump,
    Partition,
    KillProgram,
)
"""Every kind of fault, in the order in which plans are drawn from it."""
