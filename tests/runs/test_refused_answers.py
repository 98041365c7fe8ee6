"""What a refused caller is answered: the same bytes, whatever became of its claim."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from durasim.actors import DatabaseFailed, WebResponse
from durasim.actors.runs import StartReservations
from durasim.actors.runs.http import router_error_response
from durasim.sim import World
from durasim.sim.runs import SYSTEM

from .agents import DESIGNS, AgentStage
from .stage import WAYS, Stage, play

Release = Callable[..., Awaitable[bool]]
FENCE = "flowsafe_execution_fence"


def landed(right: Release) -> Release:
    """The release is as it is."""
    return right


def failed(_right: Release) -> Release:
    """The release never reaches the row."""

    async def release(*_args: Any) -> bool:
        raise DatabaseFailed("lost on its way", nothing_ran=True)

    return release


def unheard(right: Release) -> Release:
    """The release lands, and nobody hears of it."""

    async def release(*args: Any) -> bool:
        await right(*args)
        raise DatabaseFailed("the answer is lost", nothing_ran=False)

    return release


def late(_right: Release) -> Release:
    """The release finds a row that it does not fit, and changes nothing."""

    async def release(*_args: Any) -> bool:
        return False

    return release


ENDS: dict[str, tuple[Callable[[Release], Release], str]] = {
    "landed": (landed, "reserved"),
    "failed": (failed, "started"),
    "unheard": (unheard, "reserved"),
    "changed nothing": (late, "started"),
}
"""What becomes of a release: how it is replaced, and the row that it leaves."""


def drained(stage: Stage) -> None:
    """Close the fence."""
    stage.put_fence("draining")


def unreadable(stage: Stage) -> None:
    """Put the fence into a state that this build does not know."""
    stage.world.database.prepare(f"DROP TABLE {FENCE}")
    stage.world.database.prepare(f"CREATE TABLE {FENCE} (id, state, proof_key, proof_run_id)")
    stage.world.database.prepare(f"INSERT INTO {FENCE} VALUES ('deployment', 'ajar', '', '')")


CLOSINGS = {"EXECUTION_FENCED": drained, "EXECUTION_FENCE_UNREADABLE": unreadable}
Ask = Callable[[Stage], Awaitable[WebResponse]]


def answers(make: Callable[[World], Stage], ask: Ask, code: str) -> dict[str, bytes]:
    """Return the answer of a refused start, head and body, for each end that a release can have."""
    found: dict[str, bytes] = {}
    for end, (wrong, left) in ENDS.items():

        async def story(world: World) -> None:
            stage = await make(world).open()
            stage.log.hooks["start-decided"] = lambda: CLOSINGS[code](stage)
            answer = await ask(stage)
            row = stage.row("k1")
            assert row is not None
            assert row["state"] == left  # noqa: B023
            head = repr((answer.status, sorted(answer.headers.items()))).encode()
            found[end] = head + b"\n" + answer.body  # noqa: B023

        with pytest.MonkeyPatch.context() as patch:
            for name in ("release", "release_exact"):
                right: Release = vars(StartReservations)[name]
                patch.setattr(StartReservations, name, wrong(right))
            play(story)
    return found


def assert_all_alike(found: dict[str, bytes], code: str) -> None:
    """Require one refusal for every end."""
    assert set(found) == set(ENDS)
    (answer,) = set(found.values())
    assert answer.startswith(b"(503, ")
    assert b'"code":"%b"' % code.encode() in answer


async def ask_router(stage: Stage) -> WebResponse:
    """Start a run as a tenant does."""
    body = {"workflowId": "order", "idempotencyKey": "k1"}
    return await stage.send("POST", "/runs", body)


async def ask_agent(stage: Stage) -> WebResponse:
    """Start an agent as a trusted caller does, and render what it raises."""
    assert isinstance(stage, AgentStage)
    _, error = await stage.ask("k1", thread="t1")
    return router_error_response(error)


each_code = pytest.mark.parametrize("code", CLOSINGS)


@each_code
@pytest.mark.parametrize(("topology", "design"), WAYS)
def test_8_6_the_answer_does_not_tell_what_became_of_the_claim(
    topology: Any, design: str, code: str
) -> None:
    """Status, headers and body: the caller is refused, and that is all."""
    found = answers(lambda world: Stage(world, topology, design), ask_router, code)

    assert_all_alike(found, code)


@each_code
@pytest.mark.parametrize("design", DESIGNS)
def test_8_6_nor_does_that_of_an_agent(design: str, code: str) -> None:
    """By the topology of agents, too."""
    found = answers(lambda world: AgentStage(world, design), ask_agent, code)

    assert_all_alike(found, code)


def test_answers_that_differ_are_seen() -> None:
    """Wrong code lets the error of the storage out instead of the refusal."""
    (wrong,) = (
        mutant for mutant in SYSTEM.mutants if mutant.name == "storage_error_replaces_refusal"
    )
    with wrong.applied():
        found = answers(
            lambda world: Stage(world, "process", "router"), ask_router, "EXECUTION_FENCED"
        )

    assert found["landed"] == found["changed nothing"] != found["failed"] != found["unheard"]
