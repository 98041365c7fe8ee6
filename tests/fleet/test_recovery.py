"""Quoted recovery, from its shape to its one read."""

from typing import Any

import attrs
import pytest

from durasim.actors.fleet.codes import FleetRefused
from durasim.actors.fleet.identities import BuildStamp, Producer, WorkerVersion
from durasim.actors.fleet.recovery import (
    RECOVERY_MACHINE,
    Order,
    is_full_match,
    problem_of_quote,
    recorded,
)
from durasim.actors.fleet.registry import Registry
from durasim.sim import World
from durasim.sim.fleet.fleet import Fleet
from durasim.wire import content_hash

from .told import told
from .whole import attach, code_of, drained, end_run, granted, whole_fleet

LINK = "https://example.com/runs/1"
SHA = "a" * 64
BODY = {
    "id": "p",
    "evidence": LINK,
    "expectedStartedAt": 5,
    "expectedRecordSha256": SHA,
    "disposition": "request-ended",
}
ORDER = Order(id="p", started_at=5, record_sha256=SHA, evidence_sha256=content_hash(LINK))
PRODUCER = Producer(WorkerVersion("v", 7), BuildStamp("c" * 40, 5, "label"))


def test_an_order_keeps_the_hash_of_the_link_and_not_the_link() -> None:
    """The text of the evidence is stored nowhere."""
    assert Order.of(BODY) == ORDER
    assert LINK not in repr(ORDER)


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"evidence": "http://example.com/runs/1"},
        {"expectedStartedAt": "5"},
        {"expectedRecordSha256": "A" * 64},
        {"disposition": None},
    ],
)
def test_a_malformed_order_is_a_bad_request(change: dict[str, Any]) -> None:
    """Nothing was read."""
    with pytest.raises(FleetRefused) as no:
        Order.of({**BODY, **change})
    assert no.value.code == "BAD_REQUEST"


@pytest.mark.parametrize(
    "change",
    [
        {"disposition": "abandoned"},
        {"abandoned": True},
        {"force": True},
        {"ended": True, "newVersion": "v", "processes": 0},
    ],
)
def test_nothing_stands_for_the_end_of_a_request(change: dict[str, Any]) -> None:
    """No flag, no upload, no count and no version is evidence of it (G53)."""
    with pytest.raises(FleetRefused) as no:
        Order.of({**BODY, **change})
    assert no.value.code == "ABANDONMENT_UNSUPPORTED"


def test_a_quote_is_id_start_and_row_or_none() -> None:
    """Any part that differs, an absent row, and an earlier audit are told apart."""
    quote = {"id": "p", "startedAt": 5, "recordSha256": SHA}
    found = {"admission": {"id": "p"}, "quote": quote, "evidence": {"recovered": None}}

    assert problem_of_quote(found, ORDER) is None
    for change in ({"id": "q"}, {"startedAt": 6}, {"recordSha256": "b" * 64}):
        assert problem_of_quote({**found, "quote": {**quote, **change}}, ORDER) == "QUOTE_MISMATCH"
    assert problem_of_quote({**found, "admission": None}, ORDER) == "ADMISSION_NOT_FOUND"
    assert problem_of_quote({**found, "quote": None}, ORDER) == "ADMISSION_NOT_FOUND"
    audited = {**found, "evidence": {"recovered": {"id": "p"}}}
    assert problem_of_quote(audited, ORDER) == "AUDIT_EXISTS"


def test_an_audit_matches_in_every_field_that_was_sent_or_not_at_all() -> None:
    """An audit of another recovery is no proof of this one (G57)."""
    audit = {
        "id": "p",
        "startedAt": 5,
        "recordSha256": SHA,
        "evidenceUrlSha256": ORDER.evidence_sha256,
        "fence": {"fenceId": "f"},
        "producer": {"workerVersion": "v"},
    }

    assert is_full_match(audit, ORDER, "f", PRODUCER)
    assert not is_full_match(None, ORDER, "f", PRODUCER)
    assert not is_full_match(audit, ORDER, "f", attrs.evolve(PRODUCER, version=None))
    changes: tuple[dict[str, Any], ...] = (
        {"id": "q"},
        {"startedAt": 6},
        {"recordSha256": "b" * 64},
        {"evidenceUrlSha256": "b" * 64},
        {"fence": {"fenceId": "g"}},
        {"fence": None},
        {"producer": {"workerVersion": "w"}},
    )
    for change in changes:
        assert not is_full_match({**audit, **change}, ORDER, "f", PRODUCER)


def test_what_is_said_claims_no_more_than_a_person_did() -> None:
    """An attested end, an unverified native outcome."""
    assert recorded(ORDER) == {
        "recovered": "p",
        "recordSha256": SHA,
        "evidenceSha256": ORDER.evidence_sha256,
        "requestEnd": "operator-attested",
        "nativeOutcome": "unverified",
    }


def test_the_machine_deletes_once_and_reads_once() -> None:
    """Nothing leads back to where a deletion or a read is sent (E.3)."""
    sends = [edge for edge in RECOVERY_MACHINE.edges if edge.next in ("COMMIT_SENT", "AUDIT_READ")]

    assert [(edge.states, edge.next) for edge in sends] == [
        (("READING",), "COMMIT_SENT"),
        (("COMMIT_SENT",), "AUDIT_READ"),
    ]


# ---- in a fleet


async def debt(fleet: Fleet) -> dict[str, Any]:
    """Leave a permit behind whose caller is gone; return the body that recovers it."""
    permit = "11111111-1111-4111-8111-111111111111"
    producer = fleet.deployment(fleet.ground.versions[-1]).producer.wire()
    await fleet.registry("gone").begin_keyed(permit, "b" * 64, "exec", producer)
    return await quoted(fleet, permit)


async def quoted(fleet: Fleet, permit: str) -> dict[str, Any]:
    """Return the body that recovers *permit* by its quote."""
    said = granted(
        await fleet.ask("adm", "GET", "/deploy-admissions", scope="admin", query={"id": permit})
    )
    quote = said["quote"]
    return {
        "id": permit,
        "evidence": LINK,
        "expectedStartedAt": quote["startedAt"],
        "expectedRecordSha256": quote["recordSha256"],
        "disposition": "request-ended",
    }


async def recover(fleet: Fleet, body: dict[str, Any]) -> Any:
    """Send the recovery."""
    return await fleet.ask("adm", "POST", "/recover-quoted-admission", body, scope="admin")


def test_a_quoted_debt_is_recovered_once_and_its_fence_is_gone() -> None:
    """The row goes, its audit stays for ever, and the drain is as it was."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        body = await debt(fleet)
        assert code_of(await recover(fleet, body)) == "RECOVERY_NEEDS_UNFENCED_DRAIN"
        await drained(fleet)
        assert granted(await recover(fleet, body))["recovered"] == body["id"]
        assert not fleet.log.permits
        audit = fleet.log.rows("deploy:recovered:")[body["id"]]
        assert audit["original"]["provenanceSha256"] == "b" * 64
        drain = await fleet.registry("ann").draining()
        assert drain is not None
        assert not drain["swapFence"]
        assert code_of(await recover(fleet, body)) == "AUDIT_EXISTS"
        again = {**body, "id": "22222222-2222-4222-8222-222222222222"}
        assert code_of(await recover(fleet, again)) == "ADMISSION_NOT_FOUND"

    assert told(story).ok


def test_a_fleet_that_works_is_not_recovered_in() -> None:
    """A run that executes, or a member that cannot be read, leaves the row."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        await attach(fleet)
        body = await debt(fleet)
        await drained(fleet)
        assert code_of(await recover(fleet, body)) == "RECOVERY_NOT_IDLE"
        await end_run(fleet)
        fleet.ground.containers["member-1"].probe_fails = True
        assert code_of(await recover(fleet, body)) == "RECOVERY_NOT_IDLE"
        fleet.ground.containers["member-1"].probe_fails = False
        wrong = {**body, "expectedStartedAt": body["expectedStartedAt"] + 1}
        assert code_of(await recover(fleet, wrong)) == "QUOTE_MISMATCH"
        assert body["id"] in fleet.log.permits
        granted(await recover(fleet, body))

    assert told(story).ok


class LateToSay(Registry, name="Registry"):
    """Recovers, and fails to say so."""

    async def recover_quoted(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *given: Any
    ) -> dict[str, Any]:
        """Do it, then fail."""
        await super().recover_quoted(*given)
        await self.storage.sync()
        raise RuntimeError("lost")


class Unable(Registry, name="Registry"):
    """Fails before it recovers, and refuses at another time."""

    async def recover_quoted(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *given: Any
    ) -> dict[str, Any]:
        """Fail."""
        raise RuntimeError(f"lost {given[0]}")


class Changing(Registry, name="Registry"):
    """Its rows change while members are read."""

    async def recover_quoted(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *given: Any
    ) -> dict[str, Any]:
        """Recover against a row that has changed."""
        row = self.storage.kv.get(f"deploy:admission:{given[0]}")
        self.storage.kv.put(f"deploy:admission:{given[0]}", {**row, "kind": "op"})
        return await super().recover_quoted(*given)


class Unsure(Registry, name="Registry"):
    """Fails when a fence is to be set."""

    async def set_fence(self, owner: Any, producer: Any, ends: Any) -> dict[str, Any]:
        """Fail."""
        raise RuntimeError(f"lost {owner} {producer} {ends}")


class Forgetful(Registry, name="Registry"):
    """Cannot list its members."""

    async def list_members(self) -> list[Any]:
        """Fail."""
        raise RuntimeError("unreadable")


@pytest.mark.parametrize(
    ("registry", "code"),
    [
        (LateToSay, None),
        (Unable, "?"),
        (Changing, "QUOTE_MISMATCH"),
        (Forgetful, "RECOVERY_NOT_IDLE"),
        (Unsure, "?"),
    ],
)
def test_an_uncertain_deletion_buys_one_read(registry: type[Registry], code: str | None) -> None:
    """A full match is success; no match is unknown; nothing is sent again (G46)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world, registry=registry)
        body = await debt(fleet)
        await drained(fleet)
        outcome = await recover(fleet, body)
        if code is None:
            assert granted(outcome)["recovered"] == body["id"]
        else:
            assert code_of(outcome) == code
        assert (body["id"] in fleet.log.permits) is (code is not None)
        drain = await fleet.registry("ann").draining()
        assert not drain["swapFence"]

    assert told(story).ok


def test_recovery_without_a_quote_is_refused_on_this_code() -> None:
    """The old route is there, and deletes nothing (G52)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        body = await debt(fleet)
        await drained(fleet)
        outcome = await fleet.ask("adm", "POST", "/recover-admission", body, scope="admin")
        assert code_of(outcome) == "LEGACY_RECOVERY_REFUSED"
        assert body["id"] in fleet.log.permits

    assert told(story).ok


def test_the_compact_list_has_no_hashes() -> None:
    """It is as it was before there were quotes (INV-52)."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        body = await debt(fleet)
        said = granted(await fleet.ask("adm", "GET", "/deploy-admissions", scope="admin"))
        assert said["admissions"] == [
            {"id": body["id"], "startedAt": body["expectedStartedAt"], "kind": "exec"}
        ]

    assert told(story).ok
