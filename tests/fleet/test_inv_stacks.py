"""What a stack may do about its permit: wrong code is rejected."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from durasim.actors import Context
from durasim.actors.fleet import REGISTRY, Registry, admission
from durasim.sim import Mutant, Scenario, explore
from durasim.sim.fleet import SYSTEM

STORIES = [
    story
    for story in SYSTEM.scenarios
    if story.name in ("begin_reply_lost", "caller_dies_at_work", "members_at_work")
]


async def settled_before_work(
    context: Context,
    kind: str,
    origin: Mapping[str, Any],
    work: Callable[[str], Awaitable[Any]],
) -> Any:
    """End the permit, and do the work then: whoever looks meanwhile counts nothing."""
    ticket = admission.ticket_for(context, kind, origin)
    registry = context.objects.get(Registry, REGISTRY)
    await admission.begin(registry, ticket)
    await admission.settle(context, registry, ticket)
    return await work(ticket.permit)


@pytest.mark.parametrize("story", STORIES, ids=lambda each: each.name)
def test_work_after_the_end_of_its_permit_is_seen(story: Scenario) -> None:
    """A permit stands for the whole of its work (C.2)."""
    expected = "work comes before the end of its permit"
    wrong = Mutant(
        "settled_before_work", "durasim.actors.fleet.admission:with_permit", settled_before_work,
        story, (expected,),
    )  # fmt: skip

    found = explore(story, runs=5, mutant=wrong, shrink=False).found

    assert [each.property for each in found] == [expected]
    assert explore(story, runs=5).found == ()
