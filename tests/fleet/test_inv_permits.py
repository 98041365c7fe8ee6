"""Checks of permits and stacks that no mutant of the system is the first to meet."""

from collections.abc import Mapping
from typing import Any

import pytest

from durasim.actors.fleet import Registry
from durasim.actors.fleet.admission import normalize
from durasim.actors.fleet.admissions import ADMISSION, Admissions
from durasim.actors.fleet.permit_rows import Permit
from durasim.sim import Mutant, Scenario, explore
from durasim.sim.fleet.log import Call
from durasim.sim.fleet.meddling import end_by_a_stranger
from durasim.sim.fleet.permitting import begin_twice, end_of_many
from durasim.sim.fleet.stacks import arrivals_of
from durasim.sim.fleet.unsettling import exists_is_granted
from durasim.wire import Envelope, content_hash, encode_envelope

FLEET = "durasim.actors.fleet"
right_end, right_release = Registry.end_keyed, Admissions.release


async def edited_before_end(self: Registry, permit_id: str, *rest: Any) -> Any:
    """Note in the row that its end was asked."""
    row = self.storage.kv.get(ADMISSION + permit_id)
    if row is not None:
        self.storage.kv.put(ADMISSION + permit_id, {**row, "ending": True})
        await self.storage.sync()
        self.storage.kv.put(ADMISSION + permit_id, row)
    return await right_end(self, permit_id, *rest)


def evicts_the_oldest(
    self: Admissions, permit: Permit, now: int, producer: Mapping[str, Any]
) -> Any:
    """Evict whatever is oldest, be it a permit that stands."""
    receipt = right_release(self, permit, now, producer)
    if receipt.seq > 128:
        for permit_id in self.permits():
            self.end_legacy(permit_id)
    return receipt


@pytest.mark.parametrize(
    ("name", "target", "wrong", "story"),
    [
        ("INV-35", "admissions:Admissions.release", evicts_the_oldest, end_of_many),
        (
            "INV-42",
            "admitting:Admitting.end_keyed",
            edited_before_end,
            end_by_a_stranger,
        ),
        ("LIV-07", "admission:begin", exists_is_granted, begin_twice),
    ],
)
def test_wrong_code_is_rejected(name: str, target: str, wrong: Any, story: Scenario) -> None:
    """A check that nothing can fail would show nothing."""
    mutant = Mutant("wrong", f"{FLEET}.{target}", wrong, story, (name,))
    (found,) = explore(story, runs=100, mutant=mutant, shrink=False).found
    assert name in [failure.property for failure in found.result.failures]


def test_a_story_names_its_requests_as_a_member_hashes_them() -> None:
    """The checks' own idea of provenance is that of the code, written down once more."""
    origin = {"actor": "e\u0301", "request": "7", "secret": "s"}
    envelope = Envelope(
        1, "bot", 0, 1, 0, "Resident", "repo:o/a", "set_deadline", ("t", "r", 1, 1, origin, 5), {},
        0, "",
    )  # fmt: skip
    data = encode_envelope(envelope)
    call = Call("bot", 1, 1, (1, "Resident", "repo:o/a", "set_deadline", data))
    whole = {**origin, "method": "POST", "route": "/deadline", "resource": "repo:o/a"}
    assert list(arrivals_of(call)) == [content_hash(normalize("deadline", whole))]
