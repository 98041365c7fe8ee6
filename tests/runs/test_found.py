"""What soaks have found: of right code nothing, and in what judges it six mistakes."""

from collections.abc import Mapping

import pytest

from durasim.actors import DurableObject
from durasim.actors.runs import RunObject, RunProcess
from durasim.sim import (
    Job,
    Ordinary,
    Recorded,
    RunResult,
    Scenario,
    World,
    make_source,
    run_once,
)
from durasim.sim.faults import KINDS, DuplicateQuery, DuplicateRequest
from durasim.sim.runs.admission import sealed_stays_sealed
from durasim.sim.runs.delivered import still_registered
from durasim.sim.runs.properties import answers_fit
from durasim.sim.runs.setting import HOMES, RESERVATIONS
from durasim.sim.runs.standing import fires_run_once, tick_under_drain
from durasim.sim.runs.storm import anything_fails, router_assumed
from durasim.sim.runs.watching import Reserved, Watched


def told(
    scenario: Scenario, seed: int, parameters: Mapping[str, str], *planned: tuple[str, str]
) -> RunResult:
    """Run *scenario* with the deviations *planned*, each of which must happen."""
    job = Job(scenario=scenario, seed=seed, source=Recorded(planned), parameters=parameters)
    result = run_once(job)

    assert [(each.choice, each.option) for each in result.deviations] == list(planned)
    return result


def test_a_seal_is_no_trace_of_a_start_that_is_shut_out() -> None:
    """A claim is refused for good while the deployment drains: its object writes that it is."""
    sealed_while_shut = 0
    for seed in range(40):
        parameters = {"design": "sealer"}
        source = make_source(
            "swarm", scenario=still_registered, seed=seed, parameters=parameters, ordinary=None
        )
        job = Job(scenario=still_registered, seed=seed, source=source, parameters=parameters)
        result = run_once(job)
        assert result.ok, seed
        kinds = [str(row.detail[0]) for row in result.rows if row.kind == "effect"]
        moves = [number for number, kind in enumerate(kinds) if kind == "log execution-fence-moved"]
        sealed_while_shut += "log claim-sealed" in kinds[moves[0] : moves[1]]

    assert sealed_while_shut > 0


@pytest.mark.parametrize(("callers", "holds"), [(1, False), (2, True)])
def test_whoever_starts_beside_another_may_be_told_to_wait(callers: int, holds: bool) -> None:
    """Also if the others have their answers by then; who is alone is told what the start was."""

    async def beside(world: World) -> None:
        note = world.ledger.note
        note("deployed", ("objects", "router"))
        for _ in range(callers):
            note("asked", ("ann", "key-1"))
        note("log start-decided", (("key", "key-1"), ("runId", "run-1"), ("stamp", 1)))
        for _ in range(callers):
            note("answered", ("ann", "key-1", 503, "IDEMPOTENT_START_PENDING", None, "", False))

    story = Scenario("beside", beside, properties=(answers_fit,))

    assert told(story, 0, {}).ok is holds


def test_a_request_that_arrives_twice_is_two_callers() -> None:
    """The second copy starts the run, and the first is told to wait, or the other way round."""
    parameters = {"topology": "objects", "design": "holder", "workflow": "order"}
    job = Job(scenario=anything_fails, seed=0, source=Ordinary(), parameters=parameters, log=True)
    starts = [
        name
        for name, options in run_once(job).log
        if name.endswith(".fetch by cy") and "twice" in options
    ]
    assert len(starts) == 3

    waits = 0
    # The third is sent when the faults have ended.
    for name in starts[:2]:
        result = told(anything_fails, 0, parameters, (name, "twice"))
        assert result.ok, name
        answers = [str(row.detail[1]) for row in result.rows if row.detail[:1] == ("answered",)]
        waits += any("'cy', 'key-3', 503, 'IDEMPOTENT_START_PENDING'" in each for each in answers)
    assert waits > 0


def test_a_claim_may_be_unheard_of_by_who_was_reset() -> None:
    """The process is reset while its claim is under way: that is a loss, and no design's fault."""
    result = told(
        router_assumed,
        65,
        {"topology": "process", "workflow": "quick"},
        ("await 15 of RunProcess/process in serve", "aborted"),
    )

    finals = [str(row.detail[1]) for row in result.rows if row.detail[:1] == ("final",)]
    assert any("IDEMPOTENT_START_UNRESOLVABLE" in each for each in finals)
    assert result.ok


@pytest.mark.parametrize(("stamp", "holds"), [(1, True), (3, False)])
def test_whoever_learns_late_of_a_seal_speaks_of_a_claim_that_is_gone(
    stamp: int, holds: bool
) -> None:
    """Another router has sealed the same claim; the next claim, of stamp 3, is bound by then."""
    claimed = Reserved("key-1", "run-1", "started", 3, None, "ann")
    bound = claimed._replace(stamp=4, start_token="token")
    verdicts: list[bool] = []

    async def late(world: World) -> None:
        seen = Watched(sealed_stays_sealed.begin())
        sealed_stays_sealed.changed(seen, claimed, bound, world)
        world.ledger.note("log claim-sealed", (("key", "key-1"), ("stamp", stamp)))
        try:
            sealed_stays_sealed.noted(seen, world.ledger.entries[-1], world)
        except AssertionError:
            verdicts.append(False)
        else:
            verdicts.append(True)

    told(Scenario("late", late), 0, {})

    assert verdicts == [holds]


def test_a_storm_has_every_kind_of_fault() -> None:
    """Each everywhere, once."""
    assert {type(each) for each in anything_fails.faults} == set(KINDS)
    assert all(each.where is None and each.at_most == 1 for each in anything_fails.faults)


def test_the_router_is_spared_what_it_assumes_and_nothing_else() -> None:
    """No start arrives twice, and nothing that is asked of the reservations runs twice."""
    twice = [
        each
        for each in router_assumed.faults
        if isinstance(each, DuplicateRequest | DuplicateQuery)
    ]

    assert {type(each) for each in router_assumed.faults} == set(KINDS)
    assert not {each.where for each in twice} & {None, RESERVATIONS, *HOMES}


def test_a_fire_whose_start_died_in_process_stays_a_shell() -> None:
    """It has started, and nobody goes on with it: a loss of that topology, and no second run."""
    result = told(
        tick_under_drain,
        126,
        {"topology": "process", "design": "holder"},
        ("await 9 of RunProcess/process in tick", "crash here"),
    )
    assert result.ok


@pytest.mark.parametrize("home", [RunProcess, RunObject])
@pytest.mark.parametrize("status", ["pending", "success"])
def test_a_started_fire_that_never_ran_is_a_shell_in_process_alone(
    home: type[DurableObject], status: str
) -> None:
    """Over objects somebody goes on with it, and a run that ended must have run."""

    async def left(world: World) -> None:
        world.learn(home)
        world.database.prepare(
            "CREATE TABLE flowsafe_schedule_triggers (run_id, state)",
            "CREATE TABLE flowsafe_runs (run_id, status)",
            "INSERT INTO flowsafe_schedule_triggers VALUES ('run-1', 'started')",
            f"INSERT INTO flowsafe_runs VALUES ('run-1', '{status}')",
        )

    story = Scenario("left", left, properties=(fires_run_once,))

    assert told(story, 0, {}).ok is (home is RunProcess and status == "pending")
