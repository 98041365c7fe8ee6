"""How every thread of one member stands, for whoever counts or removes.

The ledger is asked about the exact owner of each registration, all at once; a row that has changed
by the time the answers are there is unknown. Source: spec/deploy-fence.md OP-33, C.0.
"""

from collections.abc import Iterable

from ..context import Context
from .bounds import milliseconds
from .owners import AnswerForm, Owner, Standing, answer_form, classify, fence_form
from .state_worker import ask_owner, owner_answer
from .wiring import fleet_of
from .workspaces import Workspaces

__all__ = ["executing_count", "read_all", "read_standings", "standing_of"]


async def read_standings(
    context: Context, workspaces: Workspaces, threads: Iterable[str]
) -> dict[str, Standing]:
    """Return how each of *threads* stands. Reads only (P8.2)."""
    owners = {thread: asked_owner(context, workspaces, thread) for thread in threads}
    asked = {
        thread: ask_owner(context, owner, thread)
        for thread, owner in owners.items()
        if owner is not None
    }
    forms: dict[str, AnswerForm] = {}
    for thread, call in asked.items():
        owner = owners[thread]
        assert owner is not None
        forms[thread] = answer_form(owner, thread, await owner_answer(call))
    standings: dict[str, Standing] = {}
    for thread, owner in owners.items():
        if asked_owner(context, workspaces, thread) == owner:
            standings[thread] = standing_of(
                context, workspaces, thread, forms.get(thread, "not asked")
            )
        else:
            standings[thread] = "unknown"
    return standings


async def read_all(context: Context, workspaces: Workspaces) -> dict[str, Standing]:
    """Return how every thread stands. Reads only (P8.2).

    One that was registered while the ledger was asked is unknown: its attach may have begun before
    any fence, and its permit may have ended since.
    """
    standings = await read_standings(context, workspaces, workspaces.threads())
    for thread in workspaces.threads():
        standings.setdefault(thread, "unknown")
    return standings


def asked_owner(context: Context, workspaces: Workspaces, thread: str) -> Owner | None:
    """Return the owner about whom the ledger has to be asked; None if nothing depends on it."""
    registration = workspaces.registration(thread, milliseconds(context.now()))
    if fence_form(registration.owner, workspaces.accepted(thread), None) != "equal":
        return None
    return registration.owner if registration.form == "owned" else None


def standing_of(
    context: Context, workspaces: Workspaces, thread: str, answer: AnswerForm
) -> Standing:
    """Return how *thread* stands if the ledger's answer is of this form."""
    registration = workspaces.registration(thread, milliseconds(context.now()))
    fence = fence_form(
        registration.owner, workspaces.accepted(thread), workspaces.last_owner(thread)
    )
    return classify(
        registration.form,
        fence,
        answer,
        elapsed_retained=fleet_of(context).legacy_elapsed_retained,
    )


def executing_count(standings: dict[str, Standing], busy: Iterable[str], in_flight: int) -> int:
    """Return how many executions there are: an operation and its own owner are one (INV-15)."""
    with_operation = frozenset(busy)
    alone = [
        thread
        for thread, standing in standings.items()
        if standing == "executing" and thread not in with_operation
    ]
    return len(alone) + in_flight
