"""What may go wrong, as values.

A fault names what strikes, where, and how often at most. It becomes options at the sites it
matches; whether it strikes there is a choice. A plan is a tuple of faults.
"""

from collections.abc import Callable, Iterable
from math import inf
from typing import Any, ClassVar

import attrs

from .choices import Option

__all__ = [
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
    "SlowDisk",
    "StaleIncarnation",
    "Subject",
    "Swap",
    "every_fault",
    "options_at",
]

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

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Yield (name, sentence) of what this fault can do at *subject*, which it matches."""
        raise NotImplementedError

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


def _call(subject: Subject) -> str:
    target = f"{subject.cls}/{subject.name}" if subject.name else subject.cls
    return f"{target}.{subject.method}"


def _owner(subject: Subject) -> str:
    return f"{subject.cls}/{subject.name}" if subject.name else subject.cls


@attrs.frozen
class LoseRequest(Fault):
    """A request never arrives; its caller waits until the deadline."""

    title: ClassVar[str] = "request lost"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Lose it."""
        yield "lost", f"request {{n}} of {_call(subject)} by {subject.caller} is lost"


@attrs.frozen
class DuplicateRequest(Fault):
    """A request arrives a second time, a little later."""

    title: ClassVar[str] = "request duplicated"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Deliver it at once and again 10 ms later."""
        yield "twice", f"request {{n}} of {_call(subject)} by {subject.caller} arrives twice"


@attrs.frozen
class CorruptRequest(Fault):
    """The bytes of a request are damaged; the host answers that it cannot read them."""

    title: ClassVar[str] = "request corrupted"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Damage it."""
        yield "corrupt", f"request {{n}} of {_call(subject)} by {subject.caller} is damaged"


@attrs.frozen
class LoseReply(Fault):
    """The object ran and answered; the answer never arrives."""

    title: ClassVar[str] = "reply lost"
    kinds: ClassVar[tuple[str, ...]] = ("reply",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Lose it."""
        yield "lost", f"reply {{n}} of {_call(subject)} to {subject.caller} is lost"


@attrs.frozen
class CorruptReply(Fault):
    """The bytes of a reply are damaged; its caller cannot know what it said."""

    title: ClassVar[str] = "reply corrupted"
    kinds: ClassVar[tuple[str, ...]] = ("reply",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Damage it."""
        yield "corrupt", f"reply {{n}} of {_call(subject)} to {subject.caller} is damaged"


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

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Crash at the moments of this kind of site."""
        what = f"of {_owner(subject)}" + (f" in {subject.method}" if subject.method else "")
        if subject.kind == "await":
            if "await" in self.at:
                yield "crash", f"the host crashes at await {{n}} {what}"
            return
        if "before commit" in self.at:
            yield "crash before", f"the host crashes before commit {{n}} {what}"
        if "after commit" in self.at:
            yield "crash after", f"the host crashes after commit {{n}} {what}"


@attrs.frozen
class FailWrite(Fault):
    """A commit fails, and nothing of it is stored: the object is reset."""

    title: ClassVar[str] = "write failure"
    kinds: ClassVar[tuple[str, ...]] = ("commit",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Fail it."""
        yield "fails", f"commit {{n}} of {_owner(subject)} fails, nothing is stored"


@attrs.frozen
class AmbiguousCommit(Fault):
    """A commit is said to have failed, and is stored all the same."""

    title: ClassVar[str] = "ambiguous commit"
    kinds: ClassVar[tuple[str, ...]] = ("commit",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Store it and report failure."""
        yield "ambiguous", f"commit {{n}} of {_owner(subject)} is stored but reported as failed"


@attrs.frozen
class SlowDisk(Fault):
    """A commit takes a second; everything behind the output gate waits for it."""

    title: ClassVar[str] = "slow disk"
    kinds: ClassVar[tuple[str, ...]] = ("commit",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Take 1 s."""
        yield "1 s", f"commit {{n}} of {_owner(subject)} takes 1 s"


@attrs.frozen
class FailRead(Fault):
    """A read of storage fails; nothing changes."""

    title: ClassVar[str] = "read failure"
    kinds: ClassVar[tuple[str, ...]] = ("read",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Fail it."""
        yield "fails", f"read {{n}} of {_owner(subject)} fails"


@attrs.frozen
class Evict(Fault):
    """An idle incarnation is let go: memory is lost, storage stays (LC-7)."""

    title: ClassVar[str] = "eviction"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Evict right before a request."""
        yield (
            "evicted",
            f"{_owner(subject)} is evicted before request {{n}} of {_call(subject)} "
            f"by {subject.caller}",
        )


@attrs.frozen
class FailConstructor(Fault):
    """The constructor of an object raises: everything that waits for it fails (LC-3)."""

    title: ClassVar[str] = "constructor failure"
    kinds: ClassVar[tuple[str, ...]] = ("start",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Raise."""
        yield "fails", f"start {{n}} of {_owner(subject)} fails in the constructor"


@attrs.frozen
class Swap(Fault):
    """The host changes over to another version of the code, here or back: everything restarts."""

    title: ClassVar[str] = "version swap"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Swap right before a request."""
        yield (
            "swapped",
            f"the code is swapped before request {{n}} of {_call(subject)} by {subject.caller}",
        )


@attrs.frozen
class StaleIncarnation(Fault):
    """A second incarnation starts while the first still runs; the first is refused at storage."""

    title: ClassVar[str] = "replaced but running"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Replace right before a request."""
        yield (
            "replaced",
            f"{_owner(subject)} is replaced, and the old one runs on, at request {{n}} of "
            f"{_call(subject)} by {subject.caller}",
        )


@attrs.frozen
class AlarmLate(Fault):
    """An alarm rings a minute late, as the platform allows."""

    title: ClassVar[str] = "alarm late"
    kinds: ClassVar[tuple[str, ...]] = ("alarm",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """60 s late."""
        yield "60 s late", f"alarm {{n}} of {_owner(subject)} rings a minute late"


@attrs.frozen
class AlarmTwice(Fault):
    """An alarm rings, and rings again: delivery is at least once."""

    title: ClassVar[str] = "alarm twice"
    kinds: ClassVar[tuple[str, ...]] = ("alarm",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Ring now and 1 s later."""
        yield "twice", f"alarm {{n}} of {_owner(subject)} rings twice"


@attrs.frozen
class ClockSkew(Fault):
    """A host's wall clock is wrong from the start."""

    title: ClassVar[str] = "clock skew"
    kinds: ClassVar[tuple[str, ...]] = ("clock",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """A minute ahead or behind."""
        yield "60 s ahead", f"the clock of {subject.cls} is a minute ahead at start {{n}}"
        yield "60 s behind", f"the clock of {subject.cls} is a minute behind at start {{n}}"


@attrs.frozen
class ClockJump(Fault):
    """A host's wall clock jumps while it runs."""

    title: ClassVar[str] = "clock jump"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Jump right before a request."""
        call = f"before request {{n}} of {_call(subject)} by {subject.caller}"
        yield "clock +60 s", f"the host's clock jumps a minute ahead {call}"
        yield "clock -60 s", f"the host's clock jumps a minute back {call}"


@attrs.frozen
class Partition(Fault):
    """The link between a participant and a host is cut for 5 s: what is sent then is lost."""

    title: ClassVar[str] = "partition"
    kinds: ClassVar[tuple[str, ...]] = ("request",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Cut right before a request."""
        yield (
            "cut 5 s",
            f"{subject.caller} is cut off from {_owner(subject)} for 5 s at request {{n}} "
            f"of {_call(subject)}",
        )


@attrs.frozen
class KillProgram(Fault):
    """An external program dies at an await; it does not come back by itself."""

    title: ClassVar[str] = "program killed"
    kinds: ClassVar[tuple[str, ...]] = ("program",)

    def options(self, subject: Subject) -> Iterable[tuple[str, str]]:
        """Kill."""
        yield "killed", f"program {subject.cls} is killed at await {{n}}"


def options_at(plan: tuple[Fault, ...], subject: Subject) -> tuple[Option, ...]:
    """Return what *plan* allows to happen at *subject*."""
    return tuple(
        Option(name, sentence, fault.weight, number)
        for number, fault in enumerate(plan)
        if fault.matches(subject)
        for name, sentence in fault.options(subject)
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
