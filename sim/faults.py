"""What may go wrong: every kind of fault, and what a plan of them allows at a site.

A plan is a tuple of faults. `fault.py` says what a fault is; the kinds stand by what they strike.
"""

from .choices import Option, literal
from .database_faults import DuplicateQuery, FailQuery, LoseQuery, LoseQueryReply, SlowQuery
from .fault import Fault, Subject
from .machine_faults import (
    Abort,
    AlarmLate,
    AlarmTwice,
    AmbiguousCommit,
    ClockJump,
    ClockSkew,
    Crash,
    Evict,
    FailConstructor,
    FailRead,
    FailWrite,
    KillProgram,
    Restart,
    SlowDisk,
    StaleIncarnation,
    Swap,
)
from .message_faults import (
    CorruptReply,
    CorruptRequest,
    DuplicateRequest,
    LoseReply,
    LoseRequest,
    Partition,
)

__all__ = [
    "KINDS",
    "Abort",
    "AlarmLate",
    "AlarmTwice",
    "AmbiguousCommit",
    "ClockJump",
    "ClockSkew",
    "CorruptReply",
    "CorruptRequest",
    "Crash",
    "DuplicateQuery",
    "DuplicateRequest",
    "Evict",
    "FailConstructor",
    "FailQuery",
    "FailRead",
    "FailWrite",
    "Fault",
    "KillProgram",
    "LoseQuery",
    "LoseQueryReply",
    "LoseReply",
    "LoseRequest",
    "Partition",
    "Restart",
    "SlowDisk",
    "SlowQuery",
    "StaleIncarnation",
    "Subject",
    "Swap",
    "every_fault",
    "options_at",
]


def options_at(plan: tuple[Fault, ...], subject: Subject) -> tuple[Option, ...]:
    """Return what *plan* allows to happen at *subject*."""
    owner = f"{subject.cls}/{subject.name}" if subject.name else subject.cls
    words = {
        "call": f"{owner}.{subject.method}",
        "owner": owner,
        "caller": subject.caller,
        "during": f" in {subject.method}" if subject.method else "",
        "statement": f"{subject.method} {subject.cls}".strip(),
    }
    words = {"n": "{n}"} | {name: literal(word) for name, word in words.items()}
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
    LoseQuery,
    LoseQueryReply,
    FailQuery,
    SlowQuery,
    DuplicateQuery,
)
"""Every kind of fault, in the order in which plans are drawn from it."""
