"""What may go wrong where objects and programs run: hosts, code, disks, alarms, clocks."""

from typing import ClassVar

import attrs

from .fault import Fault, Sentences, among

__all__ = [
    "Abort",
    "AlarmLate",
    "AlarmTwice",
    "AmbiguousCommit",
    "ClockJump",
    "ClockSkew",
    "Crash",
    "Evict",
    "FailConstructor",
    "FailRead",
    "FailWrite",
    "KillProgram",
    "Restart",
    "SlowDisk",
    "StaleIncarnation",
    "Swap",
]

MOMENTS = ("before commit", "after commit", "await")


@attrs.frozen
class Crash(Fault):
    """The host dies before or after a commit, or at any await, and starts again at once.

    Attributes:
        at: which moments: "before commit", "after commit", "await".
    """

    at: tuple[str, ...] = attrs.field(default=MOMENTS, kw_only=True, validator=among(*MOMENTS))

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
class KillProgram(Fault):
    """An external program dies at an await; it does not come back by itself."""

    title: ClassVar[str] = "program killed"
    kinds: ClassVar[tuple[str, ...]] = ("program",)
    sentences: ClassVar[Sentences] = (("killed", "program {owner} is killed at await {n}"),)
