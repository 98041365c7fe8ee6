"""What a detach releases and what a sweep removes: nothing without all of the evidence."""

from typing import Any

import trio

from durasim.actors.fleet.removal import is_settled
from durasim.actors.fleet.requests import value_of
from durasim.sim import DuplicateRequest, LoseReply, LoseRequest
from durasim.sim.fleet.plane import NativeContainer

from .residence import BOB, Residence, reside


async def detached(here: Residence) -> tuple[bool, Any]:
    """Detach; returns whether it was released, and why not."""
    said: dict[str, Any] = value_of(await here.detach())
    return said["released"], said["why"]


async def swept(here: Residence) -> list[str]:
    """Have the watchdog sweep; returns what it has removed."""
    removed: list[str] = (await here.stub.watchdog(here.origin()))["removed"]
    return removed


def test_only_what_is_settled_may_go() -> None:
    """Not what executes, and not what nobody can tell."""
    assert [s for s in ("none", "executing", "retained", "unknown") if is_settled(s)] == [
        "none",
        "retained",
    ]


def test_a_thread_with_private_files_is_neither_released_nor_removed() -> None:
    """Until they are saved; then the owner is forgotten, and the workspace goes with a sweep."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.live()
        await here.exec("write")
        assert await detached(here) == (False, "it may hold files that exist nowhere else")
        assert "reg:t1" in here.stored
        await here.exec("save")
        assert await swept(here) == []
        assert await detached(here) == (True, None)
        assert not {"reg:t1", "regFence:t1"} & set(here.stored)
        assert await here.standing() == (0, 0, 0, 0)
        assert await swept(here) == ["t1"]
        assert here.container.workspaces == {}
        assert await swept(here) == []

    reside(story)


def test_an_ended_run_whose_files_are_saved_is_swept() -> None:
    """Its exact owner has ended: the registration goes in the same commit."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.exec("write")
        await here.end()
        assert await swept(here) == []
        assert await here.standing() == (0, 1, 0, 1)
        here.container.workspaces["t1"].saved_remotely = True
        assert await swept(here) == ["t1"]
        assert await here.standing() == (0, 0, 0, 0)

    reside(story)


def test_while_an_operation_runs_nothing_goes() -> None:
    """Neither by its own owner's detach nor by a sweep."""

    async def story(here: Residence) -> None:
        await here.attach()

        async def work() -> None:
            await here.exec("run:30")

        here.world.spawn("bot 2", work)
        await trio.sleep(10)
        assert await detached(here) == (False, "an operation runs")
        await here.end()
        assert await swept(here) == []

    reside(story)


def test_an_operation_that_came_and_went_meanwhile_counts() -> None:
    """The answer about the files is from before it."""

    async def story(here: Residence) -> None:
        await here.attach()

        async def work() -> None:
            await trio.sleep(0.5)
            await here.exec("write")

        here.world.spawn("bot 2", work)
        assert await detached(here) == (False, "an operation ran meanwhile")

    slow = ("reply 1 of NativeContainer/member-1.is_preserved to Resident/repo:o/a", "1 s late")
    reside(story, deviations=(slow,))


def test_an_operation_of_which_nobody_knows_keeps_the_workspace_while_a_process_runs() -> None:
    """Where no process is left it has ended; where the probe fails nobody can tell."""

    async def story(here: Residence) -> None:
        await here.attach()
        worked = await here.exec("run:600")
        assert worked.value["outcome"] == "unknown"
        here.container.operations["o"] = "t1"
        why = "an operation may still run"
        assert await detached(here) == (False, why)
        here.container.operations.clear()
        here.container.probe_fails = True
        assert await detached(here) == (False, why)
        here.container.probe_fails = False
        assert await detached(here) == (True, None)

    lost = ("reply 1 of NativeContainer/member-1.submit to Resident/repo:o/a", "lost")
    untold = ("request 1 of Resident/repo:o/a.native_outcome by NativeContainer/member-1", "lost")
    reside(
        story,
        faults=(LoseReply(NativeContainer.submit), LoseRequest("Resident.native_outcome")),
        deviations=(lost, untold),
    )


def test_files_of_which_nobody_can_tell_stay() -> None:
    """A question that is lost is no proof."""

    async def story(here: Residence) -> None:
        await here.attach()
        assert await detached(here) == (False, "it may hold files that exist nowhere else")
        assert await detached(here) == (True, None)

    lost = ("request 1 of NativeContainer/member-1.is_preserved by Resident/repo:o/a", "lost")
    reside(story, faults=(LoseRequest(NativeContainer.is_preserved),), deviations=(lost,))


def test_a_removal_that_comes_twice_strikes_no_later_workspace() -> None:
    """The next workspace of the thread has another name."""

    async def story(here: Residence) -> None:
        await here.attach()
        await here.end()
        assert await swept(here) == ["t1"]
        attached = await here.attach(BOB)
        assert attached.value["workspace"] == "t1#1"
        await here.exec("write", BOB)
        await trio.sleep(60)
        assert here.container.workspaces["t1#1"].is_only_copy

    twice = ("request 1 of NativeContainer/member-1.remove by Resident/repo:o/a", "twice")
    reside(story, faults=(DuplicateRequest(NativeContainer.remove),), deviations=(twice,))
