"""Whose workspace is it: the exact owner, and what a registration of it means for a deploy.

A registration outlives its run. Whether it executes, is only retained, or is unknown is decided by
one table, from the registration, the accepted attach beside it, and what the run ledger answers
about that very owner. Source: spec/deploy-fence.md A.1, C.0 (P5.4).
"""

from typing import Any, Final, Literal

import attrs

from .documents import as_int, as_mapping

__all__ = [
    "CLASSIFICATION",
    "AnswerForm",
    "FenceForm",
    "Owner",
    "Registration",
    "RegistrationForm",
    "Rule",
    "Standing",
    "answer_form",
    "classify",
    "fence_form",
    "is_superseded",
    "registration_form",
]

Standing = Literal["none", "executing", "retained", "unknown"]
RegistrationForm = Literal["none", "malformed", "legacy", "elapsed legacy", "owned"]
FenceForm = Literal["nothing", "something", "equal", "other"]
AnswerForm = Literal["not asked", "live, exact", "live, other", "ended, exact", "anything else"]

OWNER_FIELDS: Final = ("runId", "ownerGen", "ownerFence")
FINAL_STATUSES: Final = frozenset(
    {"completed", "stopped_soft", "stopped_hard", "failed", "interrupted"}
)
"""How a run can have ended; any other word is unknown."""


@attrs.frozen
class Owner:
    """Who may act on a thread's workspace: equal only if all three are.

    Attributes:
        run_id: the run.
        generation: of the run's owner.
        fence: number that grows with each owner that a thread gets.
    """

    run_id: str
    generation: int
    fence: int

    @classmethod
    def parse(cls, raw: object) -> "Owner | None":
        """Return the owner that *raw* names, or None if a part is missing or malformed."""
        run, generation, fence = map((as_mapping(raw) or {}).get, OWNER_FIELDS)
        if not (isinstance(run, str) and run) or type(generation) is not int:
            return None
        return cls(run, generation, fence) if type(fence) is int else None

    def wire(self) -> dict[str, Any]:
        """Return it as fields of a document."""
        return {"runId": self.run_id, "ownerGen": self.generation, "ownerFence": self.fence}


@attrs.frozen
class Registration:
    """A stored row that says that a thread's workspace belongs to an owner.

    Attributes:
        thread: whose row it is, by its key.
        owner: the owner that it names; None where a part of it is missing or malformed.
        form: what can be said of the row by itself.
    """

    thread: str
    owner: Owner | None
    form: RegistrationForm

    @classmethod
    def parse(cls, thread: str, raw: object, now: int) -> "Registration":
        """Return what the row *raw* under the key of *thread* says at *now*."""
        return cls(thread, Owner.parse(raw), registration_form(thread, raw, now))


def registration_form(thread: str, raw: object, now: int) -> RegistrationForm:
    """Return what a stored row is: by its fields and the thread under whose key it is kept."""
    if raw is None:
        return "none"
    fields = as_mapping(raw)
    if fields is None or fields.get("thread") != thread:
        return "malformed"
    if all(fields.get(name) is None for name in OWNER_FIELDS):
        deadline = as_int(fields.get("deadlineAt"))
        return "legacy" if deadline is None or deadline > now else "elapsed legacy"
    return "malformed" if Owner.parse(fields) is None else "owned"


def fence_form(owner: Owner | None, accepted: object, last_owner: object) -> FenceForm:
    """Return what the row of the newest accepted attach says to a registration of *owner*."""
    if owner is not None:
        return "equal" if Owner.parse(accepted) == owner else "other"
    return "nothing" if accepted is None and last_owner is None else "something"


def is_superseded(accepted: object, owner: Owner) -> bool:
    """Whether a newer owner than *owner* was accepted for the thread."""
    newest = Owner.parse(accepted)
    return newest is not None and newest != owner and owner.fence <= newest.fence


def answer_form(owner: Owner, thread: str, answer: object) -> AnswerForm:
    """Return what the ledger's *answer* says of *owner* and its thread; None is an error."""
    fields = as_mapping(answer) or {}
    if fields.get("kind") == "live":
        return "live, exact" if names_owner(owner, thread, fields.get("row")) else "live, other"
    if fields.get("kind") == "terminal":
        record: object = fields.get("record")
        if is_final(record) and names_owner(owner, thread, record):
            return "ended, exact"
    return "anything else"


def names_owner(owner: Owner, thread: str, row: object) -> bool:
    """Whether a row of the ledger is about *owner* on *thread*; its fence number may be absent."""
    fields = as_mapping(row) or {}
    run, fence = fields.get("runId", fields.get("id")), fields.get("ownerFence")
    same = (run, fields.get("thread"), fields.get("ownerGen")) == (
        owner.run_id, thread, owner.generation,
    )  # fmt: skip
    return same and (fence is None or fence == owner.fence)


def is_final(record: object) -> bool:
    """Whether a terminal record says an ending that stands: known, and not provisional."""
    fields = as_mapping(record) or {}
    return fields.get("status") in FINAL_STATUSES and fields.get("provisional") is False


@attrs.frozen
class Rule:
    """One row of the classification; the first that matches decides.

    Attributes:
        registration: forms of the registration that it is about.
        fence: form of the accepted attach, or None for any.
        answer: form of the ledger's answer, or None for any.
        standing: what the registration counts as.
        why: for people.
    """

    registration: tuple[RegistrationForm, ...]
    fence: FenceForm | None
    answer: AnswerForm | None
    standing: Standing
    why: str

    def covers(self, form: RegistrationForm, fence: FenceForm, answer: AnswerForm) -> bool:
        """Whether the row is about these forms."""
        return (
            form in self.registration
            and self.fence in (None, fence)
            and self.answer in (None, answer)
        )


CLASSIFICATION: Final = (
    Rule(("none",), "nothing", None, "none", "nothing was ever attached, or it was released"),
    Rule(("none",), None, None, "unknown", "an attach is remembered, and its registration is gone"),
    Rule(("malformed",), None, None, "unknown", "the registration cannot be read"),
    Rule(
        ("legacy", "elapsed legacy"), None, None, "unknown", "nobody is named as its owner (I-05)"
    ),
    Rule(("owned",), "equal", "live, exact", "executing", "its exact owner is live"),
    Rule(("owned",), "equal", "live, other", "unknown", "the live owner is another"),
    Rule(("owned",), "equal", "ended, exact", "retained", "its exact owner has ended for good"),
    Rule(("owned",), "equal", None, "unknown", "nobody can say how its owner stands"),
    Rule(("owned",), None, None, "unknown", "another owner was accepted, or none"),
)
"""Owner classification (C.0). An ending counts for its exact owner only, generation included: the
record of an earlier generation says nothing of a run that was resumed (G05)."""

ELAPSED_RETAINED: Final = Rule(
    ("elapsed legacy",), None, None, "retained", "it names no owner, and its deadline has passed"
)
"""Goes first where a deployment says so (I-05)."""


def classify(
    form: RegistrationForm, fence: FenceForm, answer: AnswerForm, *, elapsed_retained: bool = False
) -> Standing:
    """Return what a registration counts as."""
    rules = (ELAPSED_RETAINED, *CLASSIFICATION) if elapsed_retained else CLASSIFICATION
    return next(rule.standing for rule in rules if rule.covers(form, fence, answer))
