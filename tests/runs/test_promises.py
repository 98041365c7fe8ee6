"""Each promise of the system has properties that watch over it, and they reject what they must."""

import re
from typing import Any, NoReturn

import pytest
import trio

from durasim.actors import Address
from durasim.actors.runs import Owner, RunObject, is_execution_fence_refusal
from durasim.sim import Job, LoseReply, Mutant, Ordinary, Recorded, Scenario, World, run_once
from durasim.sim.ordinary import OrdinaryLog
from durasim.sim.runs import SYSTEM, losses, lost, properties
from durasim.sim.runs.bystanders import rewire
from durasim.sim.runs.deployment import set_stage
from durasim.sim.runs.logged import left_claims_are_logged
from durasim.sim.runs.remains import Begun, look_at_run, look_at_thread
from durasim.sim.runs.verdicts import shut_out_is_told

from ..tidy import ROOT

NAMES = {
    each.name
    for each in (*SYSTEM.properties, *(p for s in SYSTEM.scenarios for p in s.properties))
    if each.when != "sometimes"
}
"""Everything that must hold somewhere in the system."""


def test_every_property_stands_beside_a_promise() -> None:
    """By its name, and no other name stands there."""
    listed = set(re.findall(r"`([^`]+)`", (properties.__doc__ or "").replace("\n", " ")))

    files = {name for name in listed if name.endswith(".py")}
    assert listed - files == NAMES
    assert [name for name in sorted(files) if not (ROOT / "tests/runs" / name).is_file()] == []


async def hushed_up(releasing: Any, key: str, run_id: str, error: Exception, log: Any) -> NoReturn:
    """Give back, and keep quiet about it if that fails."""
    del log
    if is_execution_fence_refusal(error):
        try:
            await releasing.release(key, run_id)
        except Exception:
            raise error from None
    raise error


HUSHED = Mutant(
    "hushed_up", "durasim.actors.runs.reservations:rollback_fenced_start", hushed_up,
    lost.release_unapplied, (left_claims_are_logged,),
)  # fmt: skip
RELEASE = ("query 2 of UPDATE flowsafe_start_idempotency by RunRouter", "lost")


def test_a_hushed_up_release_is_found() -> None:
    """Without its line in the log nobody finds the claim that is left (8.6)."""
    job = Job(
        scenario=lost.release_unapplied,
        seed=0,
        source=Recorded([RELEASE]),
        parameters={"topology": "objects", "design": "router"},
    )
    with HUSHED.applied():
        wrong = run_once(job)

    assert left_claims_are_logged.name in {each.property for each in wrong.failures}


async def stranded(world: World, code: str = "IDEMPOTENT_START_UNRESOLVABLE") -> None:
    """A key is unresolvable, and nothing was ever lost."""
    note = world.ledger.note
    note("deployed", ("objects", "router"))
    note("asked", ("ann", "key-1"))
    note("final", ("key-1", 409, code, None))


def test_a_key_that_is_stranded_by_nothing_is_found() -> None:
    """Without a loss of its own no key may be unresolvable."""
    story = Scenario("stranded", stranded, properties=(properties.no_key_is_stranded,))

    result = run_once(Job(scenario=story, seed=0, source=Recorded([])))

    assert [each.property for each in result.failures] == ["no key is stranded"]


@pytest.mark.parametrize(("code", "holds"), [("EXECUTION_FENCED", True), (None, False)])
def test_a_start_that_is_shut_out_and_told_something_else_is_found(
    code: str | None, holds: bool
) -> None:
    """A status alone is no refusal: nobody would know that nothing ran."""

    async def shut_out(world: World) -> None:
        await set_stage(world, "objects", "router", born="migration-locked")
        world.ledger.note("sent", (1, "key-1"))
        world.ledger.note("sent back", (1, 503, code))

    story = Scenario("shut out", shut_out, properties=(shut_out_is_told,))

    assert run_once(Job(scenario=story, seed=0, source=Ordinary())).ok is holds


async def refused_then_failed(world: World) -> None:
    """A key is refused; later, when the deployment is open, its start fails for another reason."""
    stage = await set_stage(world, "objects", "router")
    await stage.surely_move("open", "draining")
    await stage.start("key-1")
    await stage.surely_move("draining", "open")
    rewire(stage, request_context=refuse)
    # Whoever is awake knows the policy of before.
    await trio.sleep(60)
    await stage.start("key-1")


async def refuse(run_id: str, owner: Owner) -> NoReturn:
    """Be against it."""
    raise PermissionError(f"{owner.id} may not start {run_id}")


def test_a_refusal_long_ago_is_no_cause_to_give_a_claim_back() -> None:
    """A claim goes back for what happened to it, not for what happened to the one before."""
    watched = (properties.given_back_for_cause, properties.given_back_for_its_cause)
    story = Scenario("refused, then failed", refused_then_failed, properties=watched)
    (careless,) = [each for each in SYSTEM.mutants if each.name == "any_start_failure"]
    job = Job(scenario=story, seed=0, source=Ordinary())

    right = run_once(job)
    with careless.applied():
        wrong = run_once(job)

    assert right.failures == ()
    assert [each.property for each in wrong.failures] == ["each claim goes back for its own cause"]


async def two_refused(world: World) -> None:
    """Two keys are refused, and asked for again when the deployment is open."""
    stage = await set_stage(world, "objects", "router")
    await stage.surely_move("open", "draining")
    for key in ("key-1", "key-2"):
        await stage.start(key)
    await stage.surely_move("draining", "open")
    for key in ("key-1", "key-2"):
        await stage.until_done(key)


def test_what_was_lost_of_one_key_excuses_no_other() -> None:
    """The answer about the first key is lost; nothing is ever given back; the second is found."""
    watched = (properties.no_key_is_stranded,)
    story = Scenario("two refused", two_refused, (LoseReply(RunObject, at_most=1),), watched)
    (never_released,) = [each for each in SYSTEM.mutants if each.name == "never_released"]
    calm = run_once(Job(scenario=story, seed=0, source=Ordinary(), log=True))
    place, *_ = OrdinaryLog.of(calm.log).losses

    right = run_once(Job(scenario=story, seed=0, source=Recorded([place])))
    with never_released.applied():
        wrong = run_once(Job(scenario=story, seed=0, source=Recorded([place])))

    assert sum(right.faults) == 1
    assert right.failures == ()
    assert [each.message.partition(" ")[0] for each in wrong.failures] == ["key-2"]


@pytest.mark.parametrize("design", ["router", "holder", "sealer"])
def test_a_loss_excuses_the_designs_of_its_row_alone(design: str) -> None:
    """Each in the table, whether the run has begun or not; and nothing is no excuse."""
    assert not losses.is_excused(design, set(), is_begun=True)
    for loss in losses.LOSSES:
        is_excused = losses.is_excused(design, {loss.what}, is_begun=loss.is_begun)
        assert is_excused or design not in loss.designs


def test_the_sealer_is_excused_for_runs_that_began_alone() -> None:
    """Whatever was lost, what never began comes back."""
    everything = {loss.what for loss in losses.LOSSES}

    assert not losses.is_excused("sealer", everything, is_begun=False)
    assert losses.is_excused("sealer", everything, is_begun=True)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("run", {"flowsafe:run-owner-recovery:v1": {}}),
        ("run", {"flowsafe:run-deadline:v1": {}}),
        ("thread", {"flowsafe:thread-run-recovery:v1/order:r": {}}),
        ("thread", {"flowsafe:thread:v1": {}}),
        ("thread", {"flowsafe:thread-active:v1": "order:r"}),
        ("thread", {"flowsafe:thread-deadline:v1/order:r": {}}),
    ],
)
def test_what_a_refused_start_may_not_leave_is_found(kind: str, kept: dict[str, Any]) -> None:
    """Journal, deadline, the owner of a thread, its active run; a sealed claim may stay."""
    sealed = {f"flowsafe:{kind}-sealed-claim:v1/order:r": 5}
    look, address = (
        (look_at_run, Address("RunObject", "order:r"))
        if kind == "run"
        else (look_at_thread, Address("ThreadObject", "thread-1"))
    )
    look(address, sealed, Begun())

    with pytest.raises(AssertionError):
        look(address, {**sealed, **kept}, Begun())


@pytest.mark.parametrize(("status", "holds"), [(0, False), (500, False), (504, False), (503, True)])
def test_an_answer_that_says_nothing_is_found_where_nothing_was_lost(
    status: int, holds: bool
) -> None:
    """A lost reply is told as 504, so without a loss nobody may be told that."""

    async def told(world: World) -> None:
        world.ledger.note("answered", ("ann", "key-1", status, None, None, "", False))

    story = Scenario("told", told, properties=(properties.no_start_fails_unheard,))

    assert run_once(Job(scenario=story, seed=0, source=Ordinary())).ok is holds
