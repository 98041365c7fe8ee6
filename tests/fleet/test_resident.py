"""A member: who may use it, what it says of itself, and what it owes its permits."""

from typing import Any

import trio

from durasim.actors.fleet.native import Activity
from durasim.actors.fleet.outcomes import Granted, attempt
from durasim.actors.fleet.owners import Owner
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.resident import Resident
from durasim.actors.fleet.state_worker import StateWorker
from durasim.sim import LoseReply, LoseRequest
from durasim.sim.fleet.plane import NativeContainer, SimContainers

from .residence import ANN, BOB, A, Residence, code_of, parts, reside


def test_an_attached_owner_works_and_nobody_else_does() -> None:
    """All parts of the owner count, and an owner without a registration has none."""

    async def story(here: Residence) -> None:
        assert code_of(await here.exec("write")) == "NOT_FOUND"
        attached = await here.attach()
        assert attached == Granted({"attached": True, "workspace": "t1"})
        assert here.stored["reg:t1"]["runId"] == "r1"
        assert here.stored["regFence:t1"] == ANN.wire()
        worked = await here.exec("write")
        assert worked.value["outcome"] == "completed"
        operated = await here.stub.op("t1", *parts(ANN), here.origin(), "run:1")
        assert operated["outcome"] == "completed"
        assert here.container.workspaces["t1"].is_only_copy
        assert code_of(await here.exec("save", Owner("r1", 2, 2))) == "NOT_FOUND"
        assert code_of(await here.exec("save", Owner("r1", 1, 0))) == "OWNER_SUPERSEDED"
        assert not here.fleet.log.permits

    reside(story)


def test_a_newer_owner_takes_the_thread_and_the_older_is_told() -> None:
    """It stays superseded for whatever it asks."""

    async def story(here: Residence) -> None:
        await here.attach(ANN)
        assert isinstance(await here.attach(BOB), Granted)
        for asked in (here.attach(ANN), here.exec("write", ANN), here.detach(ANN)):
            assert code_of(await asked) == "OWNER_SUPERSEDED"
        assert here.stored["reg:t1"]["runId"] == "r2"

    reside(story)


def test_a_malformed_request_begins_nothing() -> None:
    """Neither a permit nor a registration."""

    async def story(here: Residence) -> None:
        for asked in (
            here.stub.attach("t1", "", 1, 1, {}),
            here.stub.attach("", "r1", 1, 1, {}),
            here.stub.attach("t#1", "r1", 1, 1, {}),
            here.stub.native_outcome("o1", "fine"),
        ):
            assert code_of(await attempt(asked)) == "BAD_REQUEST"
        assert not here.fleet.log.rows("deploy:receipt:")
        assert "reg:t1" not in here.stored

    reside(story)


def test_a_drain_lets_the_registered_owner_of_a_live_run_back() -> None:
    """Nobody else; and a registered owner whose run is not known to be live is somebody else."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.fleet.registry("ops").drain(60, "ops", "")
        refused = await here.attach()
        assert code_of(refused) == "DRAINING"
        assert refused.reason["draining"]["by"] == "ops"
        await here.live()
        assert isinstance(await here.attach(), Granted)
        await here.live(BOB)
        assert code_of(await here.attach(BOB)) == "DRAINING"
        assert isinstance(await here.exec("write"), Granted)

    reside(story)


def test_a_fence_lets_nobody_in() -> None:
    """The permit is refused before the member looks at anything; what was admitted goes on."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.live()
        registry = here.fleet.registry("ops")
        await registry.drain(60, "ops", "")
        worker = here.fleet.deployment(here.fleet.ground.versions[-1]).producer.wire()
        await registry.set_fence({"kind": "preflight", "ref": "x"}, worker, [])
        for asked in (here.attach(), here.exec("write"), here.detach()):
            assert code_of(await asked) == "FENCED"
        assert code_of(await attempt(here.stub.refresh(here.origin()))) == "FENCED"

    reside(story)


def test_a_fence_is_seen_by_an_attach_that_was_admitted_before_it() -> None:
    """The permit was granted first: the drain with its fence refuses the attach all the same."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.live()
        registry = here.fleet.registry("ops")
        await registry.drain(60, "ops", "")
        worker = here.fleet.deployment(here.fleet.ground.versions[-1]).producer.wire()
        answers: list[Any] = []

        async def attach() -> None:
            answers.append(await here.attach())

        here.world.spawn("bot 2", attach)
        await trio.sleep(0.5)
        assert len(here.fleet.log.permits) == 1
        await registry.set_fence({"kind": "preflight", "ref": "x"}, worker, [])
        await trio.sleep(60)
        assert code_of(answers[0]) == "DRAINING"

    slow = ("reply 2 of Registry/registry.begin_keyed to Resident/repo:o/a", "1 s late")
    reside(story, deviations=(slow,))


def test_a_drain_that_cannot_be_read_refuses() -> None:
    """It may have a fence in it, and the members may have been read by now."""

    async def story(here: Residence) -> None:
        assert code_of(await here.attach()) == "DRAINING"
        assert isinstance(await here.attach(), Granted)

    lost = ("request 1 of Registry/registry.draining by Resident/repo:o/a", "lost")
    reside(story, faults=(LoseRequest(Registry.draining),), deviations=(lost,))


def test_no_new_run_comes_while_a_report_is_owed() -> None:
    """The registered owner of a live run comes back all the same."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.live()
        assert await here.reconcile(here.other_target()) == ("deferred", False, None)
        assert code_of(await here.attach(BOB, "t2")) == "IMAGE_STALE"
        assert isinstance(await here.attach(), Granted)

    reside(story)


def test_a_run_is_counted_once_while_it_works_and_while_it_waits() -> None:
    """An operation and its own owner are one execution; its end leaves what is retained."""

    async def story(here: Residence) -> None:
        assert await here.standing() == (0, 0, 0, 0)
        await here.attach()
        assert await here.standing() == (0, 0, 1, 1)
        await here.live()
        assert await here.standing() == (1, 0, 0, 1)
        here.world.spawn("bot 2", lambda: ignored(here.exec("run:30")))
        await trio.sleep(10)
        assert await here.standing() == (1, 0, 0, 1)
        await trio.sleep(30)
        await here.end(provisional=True)
        assert await here.standing() == (0, 0, 1, 1)
        await here.end()
        assert await here.standing() == (0, 1, 0, 1)

    reside(story)


async def ignored(asked: Any) -> None:
    """Await it."""
    await asked


def test_a_ledger_that_does_not_answer_makes_an_owner_unknown() -> None:
    """Never retained, and nothing is removed by it."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.end()
        assert await here.standing() == (0, 1, 0, 1)
        said = await here.stub.watchdog(here.origin())
        assert (said["state"], len(said["removed"])) == ("warm", 0)
        assert "reg:t1" in here.stored
        assert await here.standing() == (0, 1, 0, 1)

    lost = ("request 2 of StateWorker/.fetch by Resident/repo:o/a", "lost")
    reside(story, faults=(LoseRequest(StateWorker.fetch),), deviations=(lost,))


def test_a_registration_that_changed_while_the_ledger_was_asked_is_unknown() -> None:
    """The answer was about another owner."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.end()
        found: list[Any] = []

        async def look() -> None:
            found.append(await here.standing())

        here.world.spawn("look", look)
        await trio.sleep(0.1)
        await here.attach(BOB)
        await trio.sleep(5)
        assert found == [(0, 0, 1, 1)]

    slow = ("reply 1 of StateWorker/.fetch to Resident/repo:o/a", "1 s late")
    reside(story, deviations=(slow,))


def test_counters_are_lost_with_the_incarnation_and_registrations_are_not() -> None:
    """After a restart the live owner still executes; the permit of the dead stack is debt."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.live()
        here.world.spawn("bot 2", lambda: ignored(here.exec("run:600")))
        await trio.sleep(10)
        here.world.machines["members-1"].crash("on purpose")
        here.world.machines["members-2"].crash("on purpose")
        assert await here.standing() == (1, 0, 0, 1)
        assert len(here.fleet.log.permits) == 1
        await trio.sleep(700)
        assert len(here.fleet.log.permits) == 1

    reside(story)


def test_an_operation_whose_answer_is_lost_is_unknown_until_the_container_tells() -> None:
    """Its permit ends with the request, and says nothing of it."""

    async def story(here: Residence) -> None:
        await here.attach()
        worked = await here.exec("write")
        assert worked.value["outcome"] == "unknown"
        assert not here.fleet.log.permits
        (row,) = (row for key, row in here.stored.items() if key.startswith("native:"))
        assert row["outcome"] == "completed"

    lost = ("reply 1 of NativeContainer/member-1.submit to Resident/repo:o/a", "lost")
    reside(story, faults=(LoseReply(NativeContainer.submit),), deviations=(lost,))


def test_an_operation_that_was_certainly_not_submitted_leaves_no_row() -> None:
    """A container that does not know the call has run nothing."""

    async def story(here: Residence) -> None:
        await here.attach()
        here.world.machines["native"].deploy((), None)
        worked = await here.exec("write")
        assert worked.value["outcome"] == "refused"
        assert not [key for key in here.stored if key.startswith("native:")]

    reside(story)


def test_a_deadline_is_kept_with_the_registration() -> None:
    """Its owner sets it."""

    async def story(here: Residence) -> None:
        await here.attach()
        asked = here.stub.set_deadline("t1", *parts(ANN), here.origin(), 99)
        assert await asked == {"deadlineAt": 99}
        assert here.stored["reg:t1"]["deadlineAt"] == 99
        other = here.stub.set_deadline("t1", *parts(BOB), here.origin(), 1)
        assert code_of(await attempt(other)) == "NOT_FOUND"

    reside(story)


def test_a_probe_counts_processes_and_wakes_nothing() -> None:
    """A container that is off has none."""

    async def story(here: Residence) -> None:
        assert await here.stub.recovery_probe() == {"activeProcesses": 0}
        assert not here.container.running
        await here.attach()
        here.world.spawn("bot 2", lambda: ignored(here.exec("run:30")))
        await trio.sleep(10)
        assert await here.stub.recovery_probe() == {"activeProcesses": 1}
        here.container.probe_fails = True
        assert not isinstance(await attempt(here.stub.recovery_probe()), Granted)

    reside(story)


def test_a_probe_that_prints_rubbish_is_no_count(monkeypatch: Any) -> None:
    """Neither a text nor a negative number is one."""

    async def rubbish(self: SimContainers) -> Activity:
        del self
        return Activity(running=True, processes=-1)

    async def story(here: Residence) -> None:
        monkeypatch.setattr(SimContainers, "activity", rubbish)
        assert not isinstance(await attempt(here.stub.recovery_probe()), Granted)

    reside(story)


def test_a_refresh_brings_the_container_up_and_a_watchdog_sees_it_down() -> None:
    """The state is that of the container as it was seen last."""

    async def story(here: Residence) -> None:
        said = await here.stub.watchdog(here.origin())
        assert said["state"] == "down"
        assert await here.stub.refresh(here.origin()) == {"state": "warm"}
        assert here.container.hydrated
        here.container.probe_fails = True
        assert (await here.stub.watchdog(here.origin()))["state"] == "warm"

    reside(story)


def test_a_container_that_does_not_say_which_boot_it_is_reports_nothing(monkeypatch: Any) -> None:
    """Neither after it came up, nor when it is asked for a target."""

    async def nameless(self: SimContainers) -> Activity:
        del self
        return Activity(running=True)

    async def story(here: Residence) -> None:
        monkeypatch.setattr(SimContainers, "start", nameless)
        monkeypatch.setattr(SimContainers, "activity", nameless)
        await here.fleet.world.client("platform").get(NativeContainer, "member-1").start()
        assert await here.stub.refresh(here.origin()) == {"state": "warm"}
        assert await here.reconcile(here.other_target()) == ("deferred", False, None)
        assert here.container.running

    reside(story)


def test_a_new_member_is_pending_until_its_container_is_whole() -> None:
    """It takes a permit for the fleet, and knows its physical member from then on."""

    async def story(here: Residence) -> None:
        here.fleet.ground.containers["member-9"] = type(here.container)("repo:o/new")
        stub: Resident = here.fleet.resident("ops", "repo:o/new")
        said = await stub.onboard("member-9", here.origin())
        assert said == {"resource": "repo:o/new", "physicalMember": "member-9"}
        row = here.fleet.log.rows("resident:")["repo:o/new"]
        assert (row["activation"], row["physicalMember"]) == ("active", "member-9")
        info = await stub.deploy_info()
        assert info["state"] == "warm"
        assert here.fleet.ground.containers["member-9"].hydrated

    reside(story)


def test_a_reconcile_for_somebody_else_is_refused() -> None:
    """Nor is one without a target."""

    async def story(here: Residence) -> None:
        for resource, build, target in (
            ("repo:o/b", "b1", here.target()),
            (A, "", here.target()),
            (A, "b1", {"application": "x"}),
        ):
            asked = here.stub.reconcile_for_deploy(resource, build, target)
            assert code_of(await attempt(asked)) == "RECONCILE_CALLER_INCOMPATIBLE"
        assert "image:progress" not in here.stored

    reside(story)
