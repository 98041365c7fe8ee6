"""One attempt at a quiet fleet: fence, read, verify, and what becomes of the fence."""

from typing import Any

import attrs
import pytest

from durasim.actors import WebRequest
from durasim.actors.fleet import Refused
from durasim.actors.fleet.fencing import (
    Readback,
    Reading,
    diagnostic,
    is_ready,
    known_producer,
    standing_fence,
    withdrawn_fence,
)
from durasim.actors.fleet.identities import BuildStamp, Producer, WorkerVersion
from durasim.actors.fleet.outcomes import Granted, Uncertain
from durasim.actors.fleet.registry import Registry
from durasim.actors.fleet.resident import Resident
from durasim.sim import World

from .told import told
from .whole import asked, attach, code_of, drained, end_run, fenced, granted, whole_fleet

QUIET = {"live": {"state": "warm", "executingRuns": 0, "unknownRuns": 0}}
STANDING = Readback("standing", "matched", {})
READY = Reading([QUIET, QUIET], True, 0, None, STANDING)


def test_a_reading_is_ready_only_if_nothing_at_all_speaks_against_it() -> None:
    """Each part alone makes it not ready; a fleet without members is ready."""
    busy = {"live": {"state": "warm", "executingRuns": 1, "unknownRuns": 0}}

    assert is_ready(READY)
    assert is_ready(attrs.evolve(READY, views=[]))
    assert not is_ready(attrs.evolve(READY, views=[QUIET, busy]))
    assert not is_ready(attrs.evolve(READY, is_verified=False))
    assert not is_ready(attrs.evolve(READY, counted=1))
    assert not is_ready(attrs.evolve(READY, counted=None))
    assert not is_ready(attrs.evolve(READY, fence=Readback("absent", "mismatched", None)))


def test_a_fence_is_said_withdrawn_only_after_it_was_seen_gone() -> None:
    """An unreadable drain leaves it uncertain, one that still has it standing."""
    drain = {"swapFence": True, "fenceId": "f"}

    assert withdrawn_fence(Granted({"swapFence": False}), "f").status == "withdrawn"
    assert withdrawn_fence(Granted(None), "f") == Readback("withdrawn", "matched", None)
    assert withdrawn_fence(Granted({**drain, "fenceId": "g"}), "f").status == "withdrawn"
    assert withdrawn_fence(Granted(drain), "f") == Readback("standing", "mismatched", drain)
    assert withdrawn_fence(Uncertain("lost"), "f") == Readback("withdraw-uncertain", "unreadable")
    assert standing_fence(drain, "f").status == "standing"
    assert standing_fence(None, "f") == Readback("absent", "mismatched", None)


def test_who_answers_is_named_by_separate_identities() -> None:
    """Commit, artifact, Worker version and upload time are fields of their own."""
    build = BuildStamp("c" * 40, 5, "label")
    said = diagnostic(Producer(WorkerVersion("v", 7), build), None, STANDING, 0)

    assert said["producer"] == {
        "commit": "c" * 40,
        "builtAt": 5,
        "artifactId": "label",
        "workerVersion": "v",
        "uploadedAt": 7,
    }
    nameless = diagnostic(Producer(None, build), "f", STANDING, None)
    assert nameless["producer"]["workerVersion"] is None
    assert nameless["fence"] == {"status": "standing", "fenceId": "f"}


@pytest.mark.parametrize("version", [None, WorkerVersion("v", None)])
def test_a_worker_that_does_not_know_itself_sets_no_fence(version: WorkerVersion | None) -> None:
    """Without version and upload time nobody could say later which Worker may lift it."""

    class Nobody:
        env: Any

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        deployment = fleet.deployment(fleet.ground.versions[-1])
        producer = attrs.evolve(deployment.producer, version=version)
        nobody: Any = Nobody()
        nobody.env = {"fleet": attrs.evolve(deployment, producer=producer)}
        with pytest.raises(Exception, match="PRODUCER_IDENTITY_UNKNOWN"):
            known_producer(nobody)

    assert told(story).ok


def test_a_quiet_fleet_is_ready_under_a_fence_that_stands() -> None:
    """The verdict names the fence, and covers every member."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await drained(fleet)
        said = await fenced(fleet)
        assert said["fenceReady"]
        assert said["draining"]["swapFence"]
        assert said["deployDiagnostic"]["fence"]["fenceId"] == said["draining"]["fenceId"]
        assert [view["resource"] for view in said["residents"]] == ["repo:o/a", "repo:o/b"]

    assert told(story).ok


def test_an_ended_run_with_its_workspace_keeps_no_deploy_waiting() -> None:
    """Execution keeps it waiting, retention does not (G01)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await attach(fleet)
        await drained(fleet)
        assert not (await fenced(fleet))["fenceReady"]
        await end_run(fleet)
        said = await fenced(fleet)
        assert said["fenceReady"]
        assert said["residents"][0]["live"]["retainedRuns"] == 1

    assert told(story).ok


def test_a_verdict_that_is_not_ready_takes_its_fence_back_and_leaves_the_drain() -> None:
    """The next attempt sets another; the Worker that set the first one stays named."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await attach(fleet)
        until = (await drained(fleet))["draining"]["until"]
        said = await fenced(fleet)
        assert not said["fenceReady"]
        assert said["draining"]["until"] == until
        assert not said["draining"]["swapFence"]
        assert said["draining"]["swapVersion"] == fleet.ground.versions[-1].id
        assert said["deployDiagnostic"]["fence"]["status"] == "withdrawn"
        assert said["deployDiagnostic"]["readback"] == "matched"

    assert told(story).ok


def test_a_member_that_cannot_be_read_is_a_view_and_never_quiet() -> None:
    """All members are judged, not those that answered (G08)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world, resident=Silent)
        await drained(fleet)
        said = await fenced(fleet)
        assert not said["fenceReady"]
        assert [set(view["live"]) == {"error"} for view in said["residents"]] == [True, False]

    assert told(story).ok


def test_no_drain_no_fence() -> None:
    """Neither without a drain, nor a second one, nor with too little of it left."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        assert code_of(await asked(fleet, "POST", "/deploy-fence")) == "FENCE_UNAVAILABLE"
        await drained(fleet, 19)
        assert code_of(await asked(fleet, "POST", "/deploy-fence")) == "FENCE_UNAVAILABLE"
        await drained(fleet, 20)
        assert granted(await asked(fleet, "POST", "/deploy-fence"))["fenceReady"]
        assert code_of(await asked(fleet, "POST", "/deploy-fence")) == "FENCE_UNAVAILABLE"

    assert told(story).ok


class Silent(Resident, name="Resident"):
    """Cannot be read if it is the first."""

    async def deploy_info(self) -> dict[str, Any]:
        """Fail, or not."""
        if self.address.name == "repo:o/a":
            raise RuntimeError("unreadable")
        return await super().deploy_info()


class Forgetful(Registry, name="Registry"):
    """Sets fences, and cannot list its members."""

    async def list_members(self) -> list[Any]:
        """Fail."""
        raise RuntimeError("unreadable")


class Nameless(Registry, name="Registry"):
    """Sets fences without a name."""

    async def set_fence(self, owner: Any, producer: Any, ends: Any) -> dict[str, Any]:
        """Name none."""
        del owner, producer, ends
        return {}


@pytest.mark.parametrize(
    ("registry", "status"), [(Forgetful, "withdrawn"), (Nameless, "withdraw-uncertain")]
)
def test_a_reading_that_breaks_off_says_what_became_of_its_fence(
    registry: type[Registry], status: str
) -> None:
    """Whoever asked is told nothing for certain, and the diagnostic what was seen."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world, registry=registry)
        await drained(fleet)
        router = world.client("a").worker(fleet.code.router)
        headers = {"authorization": f"Bearer {'d' * 32}"}
        answer = await router.fetch(WebRequest("POST", "/deploy-fence", {}, headers))
        assert (answer.status, answer.body["code"]) == (503, "FENCE_READ_FAILED")
        assert answer.body["deployDiagnostic"]["fence"]["status"] == status
        assert not isinstance(await fleet.registry("a").draining(), Refused)

    assert told(story).ok
