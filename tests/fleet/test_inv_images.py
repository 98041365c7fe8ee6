"""The checkers of images each reject what they are about."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from durasim.sim.fleet.inv_images import IMAGES
from durasim.sim.fleet.inv_verified import VERIFIED
from durasim.sim.fleet.plane import APPLICATION

from .liar import A, Liars, rejected, target

OWED: dict[str, Any] = {"resource": A, "build": "b1", "target": target(), "token": "x"}
BEGUN: dict[str, Any] = {"build": "b1", "target": target(), "cycleIssued": False}
DEBT = {"image:pending": OWED, "image:progress": BEGUN}
CYCLED = {**BEGUN, "cycleIssued": True, "containerBeforeCycle": "another"}


async def verifies_without_a_report(liars: Liars) -> None:
    """A debt begins, and is over."""
    await liars.stub.write(DEBT)
    await liars.stub.write({"image:pending": None})
    await liars.asked(result="current", verified=True)


async def reads_current_without_a_report(liars: Liars) -> None:
    """As a reading sees it."""
    await liars.stub.write(DEBT)
    await liars.read(imageReport="current", imageBuild="b1", imageTarget=target())


async def overwrites_a_debt(liars: Liars) -> None:
    """By one for another target."""
    await liars.stub.write(DEBT)
    await liars.stub.write({"image:pending": {**OWED, "target": target(2)}})


async def changes_progress_under_a_debt(liars: Liars) -> None:
    """The marker stays as it is."""
    await liars.stub.write(DEBT)
    await liars.stub.write({"image:progress": {**BEGUN, "build": "b2"}})


async def answers_another_target(liars: Liars) -> None:
    """Without saying that it conflicts."""
    await liars.stub.write(DEBT)
    await liars.asked(version=2, result="deferred")


async def stops_a_replacement(liars: Liars) -> None:
    """Another boot was the one to stop."""
    await liars.container.start()
    await liars.stub.write({**DEBT, "image:progress": CYCLED})
    await liars.stub.stop()


async def reports_after_a_stop(liars: Liars) -> None:
    """Nothing was seen of the container since."""
    await liars.container.start()
    await liars.stub.write(DEBT)
    await liars.stub.stop()
    await liars.stub.report("x")


async def calls_a_stop_verified(liars: Liars) -> None:
    """The answer says both."""
    await liars.asked(result="restarted", verified=True)


async def owes_without_a_hold(liars: Liars) -> None:
    """While a drain lives."""
    await liars.fleet.registry("ops").drain(60, "ops", "")
    await liars.stub.write(DEBT)


async def forgets_a_debt(liars: Liars) -> None:
    """After some time, and without a report."""
    await liars.stub.write(DEBT)
    await liars.stub.write({"image:pending": None})


async def begins_a_debt_without_progress(liars: Liars) -> None:
    """The marker alone."""
    await liars.stub.write({"image:pending": OWED})


async def begins_progress_without_a_debt(liars: Liars) -> None:
    """The progress alone."""
    await liars.stub.write({"image:progress": BEGUN})


async def begins_as_if_it_was_stopped(liars: Liars) -> None:
    """Both, and nothing was stopped."""
    await liars.stub.write({"image:pending": OWED, "image:progress": CYCLED})


async def verifies_old_progress(liars: Liars) -> None:
    """It names no target."""
    liars.store({"image:progress": {"build": "b1", "cycleIssued": True}})
    await liars.asked(result="current", verified=True)


async def is_current_on_an_old_image(liars: Liars) -> None:
    """The container booted before the target was selected."""
    await liars.container.start()
    liars.fleet.ground.select(APPLICATION, "image:2")
    said = liars.fleet.ground.application(APPLICATION).wire()
    await liars.asked(result="current", verified=True, target=said)


async def reads_current_on_an_old_image(liars: Liars) -> None:
    """As a reading sees it."""
    await liars.container.start()
    liars.fleet.ground.select(APPLICATION, "image:2")
    said = liars.fleet.ground.application(APPLICATION).wire()
    await liars.read(imageReport="current", imageBuild="b1", imageTarget=said)


@pytest.mark.parametrize(
    ("act", "name"),
    [
        (verifies_without_a_report, "INV-77"),
        (reads_current_without_a_report, "INV-77"),
        (overwrites_a_debt, "INV-78"),
        (changes_progress_under_a_debt, "INV-78"),
        (forgets_a_debt, "INV-78"),
        (answers_another_target, "INV-79"),
        (answers_another_target, "LIV-09"),
        (stops_a_replacement, "INV-80"),
        (reports_after_a_stop, "INV-81"),
        (calls_a_stop_verified, "INV-81"),
        (owes_without_a_hold, "INV-82"),
        (forgets_a_debt, "INV-83"),
        (begins_a_debt_without_progress, "INV-84"),
        (begins_progress_without_a_debt, "INV-84"),
        (begins_as_if_it_was_stopped, "INV-84"),
        (verifies_old_progress, "INV-91"),
        (is_current_on_an_old_image, "a verified member runs its target"),
        (reads_current_on_an_old_image, "a verified member runs its target"),
    ],
)
def test_an_offence_is_seen(act: Callable[[Liars], Awaitable[None]], name: str) -> None:
    """By the invariant that forbids it."""
    assert name in rejected(act)


def test_each_checker_of_images_is_tested() -> None:
    """Every one that stands in the tuple has its number once."""
    names = [each.name for each in (*VERIFIED, *IMAGES) if each.name.startswith("INV")]
    assert sorted(names) == [f"INV-{n:02}" for n in (*range(77, 85), 91)]


def test_a_whole_cycle_breaks_nothing() -> None:
    """Debt, report, end, and a conflict that is told."""

    async def honest(liars: Liars) -> None:
        await liars.stub.write(DEBT)
        await liars.asked(version=2, result="error")
        await liars.stub.report("x")
        await liars.stub.write({"image:pending": None})
        await liars.asked(result="current", verified=True)

    assert rejected(honest) - {"INV-76"} == set()
