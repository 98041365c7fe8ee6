"""Mutants of members: owners that are guessed, workspaces that go, counters that are believed."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from ...actors.fleet import Granted, Resident, attempt, images, owners, refused, removal
from ..mutants import Mutant
from .cycling import native_rows_stay
from .keeping import (
    admitted_before_fence,
    counted_once,
    ended_without_saving,
    ending_of_before,
    member_restarts,
    newcomer_under_fence,
    owners_unheard,
    provisional_ending,
)

__all__ = ["FORGETTING"]

FLEET: Final = "durasim.actors.fleet"

right_admitted = Resident._admitted
right_answer = owners.answer_form
right_names = owners.names_owner
right_begin = images.ImageRecords.begin


def owner_by_run_id(owner: owners.Owner, thread: str, row: Any) -> bool:
    """Take whatever is known under the id of the run for this owner's."""
    del thread
    fields: Mapping[str, Any] = row or {}
    return owner.run_id in (fields.get("id"), fields.get("runId"))


def provisional_is_terminal(record: Any) -> bool:
    """Take an ending for final that was written ahead."""
    fields: Mapping[str, Any] = record or {}
    return fields.get("status") in owners.FINAL_STATUSES


def owner_error_is_retained(owner: owners.Owner, thread: str, answer: Any) -> owners.AnswerForm:
    """Take an owner of whom nothing is heard for one that has ended."""
    return "ended, exact" if answer is None else right_answer(owner, thread, answer)


def double_count(standing: dict[str, owners.Standing], busy: Iterable[str], in_flight: int) -> int:
    """Count an operation, and its owner as well."""
    del busy
    return [*standing.values()].count("executing") + in_flight


async def unread_is_open(self: Resident, *, returns: bool) -> None:
    """Take a drain that cannot be read for none: the rule of the specification."""
    outcome = await attempt(self._registry.draining())
    drain = outcome.value if isinstance(outcome, Granted) else None
    if drain is not None and (drain.get("swapFence") is True or not returns):
        raise refused("DRAINING")


async def member_gate_only(
    self: Resident, kind: str, origin: Mapping[str, Any], work: Callable[[str], Awaitable[Any]]
) -> Any:
    """Attach without a permit: the member reads the drain itself, as far as it can."""
    if kind == "attach":
        vars(self)["_require_undrained"] = partial(unread_is_open, self)
        return await work("none")
    return await right_admitted(self, kind, origin, work)


async def delete_clean_head(self: removal.RemovalGuard, thread: str) -> bool:
    """Take a tree whose commit was pushed for saved."""
    del self, thread
    return True


def memory_counters_only(
    standing: dict[str, owners.Standing], busy: Iterable[str], in_flight: int
) -> int:
    """Count what this incarnation runs."""
    del standing, busy
    return in_flight


def image_decision_clears_history(
    self: images.ImageRecords, marker: images.PendingMarker, build: str, target: Any
) -> images.ImageDecision:
    """Begin a debt with a clean sheet."""
    decision = right_begin(self, marker, build, target)
    if decision == "START":
        self._kv.delete_many(list(self._kv.list(prefix="native:")))
    return decision


def ending_of_any_generation(owner: owners.Owner, thread: str, row: Any) -> bool:
    """Compare the run and the thread of an ending: the rule of the specification."""
    fields: Mapping[str, Any] = row or {}
    if "runId" in fields:
        return right_names(owner, thread, row)
    return (fields.get("id"), fields.get("thread")) == (owner.run_id, thread)


FORGETTING: Final = (
    Mutant(
        "ending_of_any_generation", f"{FLEET}.owners:names_owner", ending_of_any_generation,
        ending_of_before, ("INV-13", "INV-14"), needs_fault=False,
    ),
    Mutant(
        "owner_by_run_id", f"{FLEET}.owners:names_owner", owner_by_run_id, ending_of_before,
        ("INV-13", "INV-14"), needs_fault=False,
    ),
    Mutant(
        "provisional_is_terminal", f"{FLEET}.owners:is_final", provisional_is_terminal,
        provisional_ending, ("INV-13", "INV-14"), needs_fault=False,
    ),
    Mutant(
        "owner_error_is_retained", f"{FLEET}.owners:answer_form", owner_error_is_retained,
        owners_unheard, ("INV-06", "INV-14"), parameters={"lives": True},
    ),
    Mutant(
        "double_count", f"{FLEET}.standings:executing_count", double_count, counted_once,
        ("INV-15",), needs_fault=False,
    ),
    Mutant(
        "member_gate_only", f"{FLEET}.resident:Resident._admitted", member_gate_only,
        newcomer_under_fence, ("INV-10",),
    ),
    Mutant(
        "unread_is_open", f"{FLEET}.resident:Resident._require_undrained", unread_is_open,
        admitted_before_fence, ("a ready verdict meets no run that lives",),
    ),
    Mutant(
        "delete_clean_head", f"{FLEET}.removal:RemovalGuard.is_preserved", delete_clean_head,
        ended_without_saving, ("INV-04", "INV-05"), parameters={"work": "write"},
        needs_fault=False,
    ),
    Mutant(
        "memory_counters_only", f"{FLEET}.standings:executing_count", memory_counters_only,
        member_restarts, ("INV-14", "INV-08"),
    ),
    Mutant(
        "image_decision_clears_history", f"{FLEET}.images:ImageRecords.begin",
        image_decision_clears_history, native_rows_stay, ("INV-07",), needs_fault=False,
    ),
)  # fmt: skip
"""Found by what has to be kept, and by who really runs."""
