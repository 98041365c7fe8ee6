"""The Registry: what each method writes, answers and refuses."""

from typing import Any

import pytest
import trio

from durasim.actors.fleet.bounds import MINUTE_MS, RECEIPTS_MAX
from durasim.sim import AlarmTwice

from .lone_registry import LoneRegistry
from .registry_stage import (
    HASH,
    ID,
    NEW,
    OLD,
    OTHER_HASH,
    OTHER_ID,
    PREFLIGHT,
    RECOVERY,
    START_MS,
    Stage,
    staged,
)


def uuid(number: int) -> str:
    """Return the id of the *number*-th permit."""
    return f"33333333-3333-4333-8333-{number:012}"


# ---- drain and fence


def test_a_drain_ends_by_itself() -> None:
    """Its row goes with its alarm, and who asks later is told of none."""

    async def story(stage: Stage) -> None:
        drain = await stage.registry.drain(30, "me", "a deploy")
        assert (drain["since"], drain["until"]) == (START_MS, START_MS + 30 * MINUTE_MS)
        assert await stage.registry.draining() == drain == stage.stored["drain"]
        await trio.sleep(30 * 60)
        assert await stage.registry.draining() is None
        await trio.sleep(1)
        assert "drain" not in stage.stored

    staged(story)


@pytest.mark.parametrize(
    "asked", [(0,), (91,), (True,), ("60",), (60, "x" * 81), (60, "me", "x" * 201), (60, 7)]
)
def test_a_drain_out_of_bounds_is_refused(asked: tuple[Any, ...]) -> None:
    """Nothing is cut to fit."""

    async def story(stage: Stage) -> None:
        assert await stage.code(stage.registry.drain(*asked)) == "BAD_REQUEST"

    staged(story)


def test_a_second_drain_replaces_the_first_unless_it_is_fenced() -> None:
    """Its holds are not carried over (L, 4); a fence keeps it as it is."""

    async def story(stage: Stage) -> None:
        first = await stage.registry.drain()
        assert first["until"] - first["since"] == 60 * MINUTE_MS
        await stage.registry.hold_for("repo:a", "t")
        second = await stage.registry.drain(90)
        assert second["drainId"] != first["drainId"]
        assert "holds" not in second
        await stage.registry.set_fence(PREFLIGHT, OLD, [])
        assert await stage.code(stage.registry.drain(90)) == "DRAIN_FENCED"

    staged(story)


def test_a_fence_stands_once_and_is_taken_back_by_its_name() -> None:
    """The drain stays; another name changes nothing."""

    async def story(stage: Stage) -> None:
        refused = stage.registry.set_fence(PREFLIGHT, OLD, [])
        assert await stage.code(refused) == "FENCE_UNAVAILABLE"
        fence = await stage.fence()
        again = stage.registry.set_fence(PREFLIGHT, OLD, [])
        assert await stage.code(again) == "FENCE_UNAVAILABLE"
        assert await stage.registry.withdraw_fence("other") == {
            "withdrawn": False, "standing": fence,
        }  # fmt: skip
        assert await stage.registry.withdraw_fence(fence) == {"withdrawn": True, "standing": None}
        drain = await stage.registry.draining()
        assert drain is not None
        assert (drain["swapFence"], drain["swapVersion"]) == (False, OLD["workerVersion"])
        assert await stage.registry.withdraw_fence(fence) == {"withdrawn": False, "standing": None}

    staged(story)


def test_a_fence_needs_an_owner_a_version_and_room() -> None:
    """Each lack is refused by its code."""

    async def story(stage: Stage) -> None:
        await stage.registry.drain(90)
        end = START_MS + 19 * MINUTE_MS
        for owner, by, ends, code in (
            ({"kind": "nobody", "ref": ""}, OLD, [], "BAD_REQUEST"),
            (PREFLIGHT, {}, [], "PRODUCER_IDENTITY_UNKNOWN"),
            (PREFLIGHT, OLD, [end], "FENCE_UNAVAILABLE"),
        ):
            assert await stage.code(stage.registry.set_fence(owner, by, ends)) == code

    staged(story)


def test_verification_repeats_everything_now() -> None:
    """A permit, another name or version, or too little room: not verified, nothing written."""

    async def story(stage: Stage) -> None:
        await stage.registry.begin_keyed(ID, HASH, "exec", OLD)
        fence = await stage.fence()
        verify = stage.registry.verify_fence
        version = OLD["workerVersion"]
        counts = {"verified": False, "counted": 1}
        blocked = await verify(fence, version, [])
        assert blocked == {**counts, "problem": "ADMITTED_WORK_UNSETTLED"}
        assert await verify("other", version, []) == {**counts, "problem": "FENCE_UNAVAILABLE"}
        await stage.registry.end_keyed(ID, HASH, OLD)
        assert await verify(fence, version, []) == {"verified": True, "counted": 0}
        late = await verify(fence, version, [START_MS + MINUTE_MS])
        assert late["problem"] == "RESERVE_TOO_SMALL"
        await trio.sleep(70 * 60 + 1)
        assert (await verify(fence, version, []))["problem"] == "RESERVE_TOO_SMALL"

    staged(story)


def test_a_lift_under_a_fence_needs_a_newer_worker_and_no_permit() -> None:
    """Each refusal leaves the fence; then drain and fence go as one."""

    async def story(stage: Stage) -> None:
        assert await stage.registry.undrain(OLD) == {
            "cleared": False, "held": [], "maintenance": None,
        }  # fmt: skip
        await stage.registry.begin_deploy_admission("exec")
        await stage.fence()
        assert await stage.code(stage.registry.undrain(OLD)) == "PRE_UPLOAD_WORKER"
        assert await stage.code(stage.registry.undrain(NEW)) == "ADMITTED_WORK_UNSETTLED"
        (key,) = [key for key in stage.stored if key.startswith("deploy:admission:")]
        await stage.registry.end_deploy_admission(key.rpartition(":")[2])
        assert (await stage.registry.undrain(NEW))["cleared"]
        assert "drain" not in stage.stored

    staged(story)


def test_a_lift_that_names_a_drain_lifts_no_other() -> None:
    """Whatever stands in it: it is told that nothing was cleared, and nothing is written."""

    async def story(stage: Stage) -> None:
        first = (await stage.registry.drain(90))["drainId"]
        second = (await stage.registry.drain(90))["drainId"]
        await stage.registry.hold_for("repo:a", "t1")
        nothing: dict[str, Any] = {"cleared": False, "held": [], "maintenance": None}
        before = stage.stored
        assert await stage.registry.undrain_exactly(OLD, first) == nothing
        await stage.registry.set_fence(PREFLIGHT, OLD, [])
        assert await stage.registry.undrain_exactly(NEW, first) == nothing
        assert stage.stored["drain"]["drainId"] == before["drain"]["drainId"] == second
        assert await stage.code(stage.registry.undrain_exactly(OLD, second)) == "PRE_UPLOAD_WORKER"
        assert (await stage.registry.undrain_exactly(NEW, second))["held"] == ["repo:a"]
        assert await stage.registry.report_image_current("repo:a", "t1") == {"lifted": True}
        assert await stage.registry.undrain_exactly(NEW, second) == nothing

    staged(story)


def test_a_lift_waits_for_the_last_report() -> None:
    """Undrain is asked once; the fleet opens with the report of the last member."""

    async def story(stage: Stage) -> None:
        assert await stage.registry.hold_for("repo:a", "t") == {"held": False}
        assert await stage.registry.report_image_current("repo:a", "t") == {"lifted": False}
        await stage.registry.drain(90)
        await stage.registry.hold_for("repo:a", "t1")
        await stage.registry.hold_for("repo:b", None, START_MS)
        lift = await stage.registry.undrain(OLD)
        assert lift == {"cleared": False, "held": ["repo:a", "repo:b"], "maintenance": None}
        assert await stage.registry.report_image_current("repo:a", "t1") == {"lifted": False}
        assert await stage.registry.hold_for("repo:a", None, START_MS) == {"held": False}
        assert await stage.registry.report_image_current("repo:b", "t2") == {"lifted": True}
        assert "drain" not in stage.stored

    staged(story)


def test_holds_keep_an_asked_lift_for_ten_minutes() -> None:
    """The alarm of the earlier end deletes the drain."""

    async def story(stage: Stage) -> None:
        await stage.registry.drain(90)
        await stage.registry.hold_for("repo:a", "t1")
        await trio.sleep(10 * 60 - 2)
        await stage.registry.undrain(OLD)
        await trio.sleep(1)
        assert await stage.registry.draining() is not None
        await trio.sleep(2)
        assert await stage.registry.draining() is None
        assert "drain" not in stage.stored

    staged(story)


def test_an_alarm_that_rings_again_leaves_the_drain_that_lives() -> None:
    """It looks at the drain of now, and sets itself to that one's end."""

    async def story(stage: Stage) -> None:
        await stage.registry.drain(1)
        await trio.sleep(60.5)
        later = await stage.registry.drain(2)
        await trio.sleep(60)
        assert await stage.registry.draining() == later
        await trio.sleep(61)
        assert "drain" not in stage.stored

    staged(story, AlarmTwice(), deviations=[("alarm 1 of Registry/registry", "twice")])


def test_an_alarm_without_a_drain_does_nothing() -> None:
    """It may ring late, after the lift; a row that nobody can read is left to the next drain."""
    lone = LoneRegistry()
    for row in (None, "what nobody can read"):
        if row is not None:
            lone.kv.put("drain", row)
        lone.alarm = lone.now_ms
        lone.ring()
        assert lone.kv.get("drain") == row
        assert lone.ask(lone.registry.draining()) is None
    assert lone.ask(lone.registry.drain(1))["since"] == lone.now_ms


# ---- admission


def test_a_permit_is_granted_once_and_ends_by_its_hash() -> None:
    """Row and receipt take turns in one commit; the same end again gives the same receipt."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        assert await registry.begin_keyed(ID, HASH, "exec", OLD) == {
            "granted": True, "startedAt": START_MS,
        }  # fmt: skip
        row = stage.stored[f"deploy:admission:{ID}"]
        assert await registry.read_admission(ID) == {"row": row}
        assert row["workerVersion"] == OLD["workerVersion"]
        exists = registry.begin_keyed(ID, HASH, "exec", OLD)
        assert await stage.code(exists) == "ADMISSION_ID_EXISTS"
        assert await stage.code(registry.end_keyed(ID, OTHER_HASH, OLD)) == "HASH_MISMATCH"
        legacy = registry.end_deploy_admission(ID)
        assert await stage.code(legacy) == "KEYED_RELEASE_NEEDS_HASH"
        receipt = await registry.end_keyed(ID, HASH, OLD)
        assert await registry.read_receipt(ID) == {"receipt": receipt}
        assert await registry.read_admission(ID) == {"row": None}
        assert await registry.end_keyed(ID, HASH, NEW) == receipt
        assert await stage.code(registry.end_keyed(ID, OTHER_HASH, OLD)) == "HASH_MISMATCH"
        spent = registry.begin_keyed(ID, HASH, "exec", OLD)
        assert await stage.code(spent) == "ADMISSION_ID_RELEASED"
        assert await registry.end_deploy_admission(ID) == {"ended": False}
        unknown = registry.end_keyed(OTHER_ID, HASH, OLD)
        assert await stage.code(unknown) == "ADMISSION_UNKNOWN"

    staged(story)


def test_a_fence_closes_every_admission_but_the_reconcile_of_a_newer_worker() -> None:
    """Of any interface."""

    async def story(stage: Stage) -> None:
        begin = stage.registry.begin_keyed
        assert await stage.code(begin("one", HASH, "exec", OLD)) == "BAD_REQUEST"
        await stage.fence()
        assert await stage.code(begin(ID, HASH, "exec", NEW)) == "FENCED"
        assert await stage.code(stage.registry.begin_deploy_admission()) == "FENCED"
        early = begin(ID, HASH, "reconcile", OLD)
        assert await stage.code(early) == "RECONCILE_BEFORE_UPLOAD"
        assert (await begin(ID, HASH, "reconcile", NEW))["granted"]

    staged(story)


def test_a_legacy_permit_has_an_id_made_here_and_leaves_no_receipt() -> None:
    """And no hash ends it."""

    async def story(stage: Stage) -> None:
        permit = (await stage.registry.begin_deploy_admission())["id"]
        assert stage.stored[f"deploy:admission:{permit}"] == {"startedAt": START_MS}
        assert await stage.code(stage.registry.end_keyed(permit, HASH, OLD)) == "LEGACY_RECORD"
        assert await stage.registry.end_deploy_admission(permit) == {"ended": True}
        assert [key for key in stage.stored if "receipt" in key] == []

    staged(story)


def test_the_newest_receipts_are_kept_also_by_the_next_incarnation() -> None:
    """The rest can no longer be acknowledged; no permit changes."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        await registry.begin_keyed(ID, HASH, "exec", OLD)
        for number in range(RECEIPTS_MAX + 2):
            await registry.begin_keyed(uuid(number), HASH, "exec", OLD)
            await registry.end_keyed(uuid(number), HASH, OLD)
            if number == RECEIPTS_MAX - 1:
                stage.world.default().crash("for the test")
        kept = [key for key in stage.stored if key.startswith("deploy:receipt:")]
        assert kept == [f"deploy:receipt:{uuid(n)}" for n in range(2, RECEIPTS_MAX + 2)]
        assert await registry.read_receipt(uuid(0)) == {"receipt": None}
        assert stage.stored["deploy:receiptSeq"] == RECEIPTS_MAX + 2
        assert await registry.read_admission(ID) != {"row": None}

    staged(story)


# ---- inventory and recovery


def test_the_inventory_shows_a_compact_list_or_one_quote() -> None:
    """The list has no hash; a quote has start and hash of the complete row."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        assert await registry.list_admissions() == {"admissions": []}
        await registry.begin_keyed(ID, HASH, "exec", OLD)
        compact = {"id": ID, "startedAt": START_MS, "kind": "exec"}
        assert await registry.list_admissions() == {"admissions": [compact]}
        nothing = {"recovered": None, "abandoned": None, "receipt": None}
        found = await registry.quote_admission(ID)
        assert (found["admission"], found["evidence"]) == (compact, nothing)
        assert set(found["quote"]) == {"id", "startedAt", "recordSha256"}
        assert await registry.quote_admission(OTHER_ID) == {
            "admission": None, "quote": None, "evidence": nothing,
        }  # fmt: skip

    staged(story)


def test_a_recovery_puts_an_audit_in_the_place_of_what_was_quoted() -> None:
    """Under its own fence; the id is spent, and its late end finds no permit."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        await registry.begin_keyed(ID, HASH, "exec", OLD)
        await registry.begin_keyed(OTHER_ID, HASH, "exec", OLD)
        row = stage.stored[f"deploy:admission:{ID}"]
        quote = (await registry.quote_admission(ID))["quote"]
        fence = await stage.fence(RECOVERY)
        recover = registry.recover_quoted
        asked = (quote["startedAt"], quote["recordSha256"], OTHER_HASH)
        audit = await recover(ID, *asked, fence, OLD)
        assert await registry.read_recovery(ID) == {"audit": audit}
        assert (audit["original"], audit["fence"]["fenceId"]) == (row, fence)
        assert f"deploy:admission:{ID}" not in stage.stored
        assert await stage.code(recover(ID, *asked, fence, OLD)) == "AUDIT_EXISTS"
        await registry.withdraw_fence(fence)
        late = registry.end_keyed(ID, HASH, OLD)
        assert await stage.code(late) == "ADMISSION_UNKNOWN"
        again = registry.begin_keyed(ID, HASH, "exec", OLD)
        assert await stage.code(again) == "ADMISSION_ID_RETIRED"
        assert (await registry.read_admission(ID))["audit"] == audit
        assert (await registry.quote_admission(ID))["evidence"]["recovered"] == audit

    staged(story)


def test_a_recovery_that_does_not_fit_leaves_the_permit() -> None:
    """Another fence, quote or worker, evidence without a hash: each by its code."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        await registry.begin_keyed(ID, HASH, "exec", OLD)
        quote = (await registry.quote_admission(ID))["quote"]
        at, sha = quote["startedAt"], quote["recordSha256"]
        other = await stage.fence(PREFLIGHT)
        needs = "RECOVERY_NEEDS_UNFENCED_DRAIN"
        recover = registry.recover_quoted
        assert await stage.code(recover(ID, at, sha, OTHER_HASH, other, OLD)) == needs
        await registry.withdraw_fence(other)
        fence = await stage.fence(RECOVERY)
        for asked, code in (
            ((ID, at, sha, "https://evidence", fence, OLD), "BAD_REQUEST"),
            ((ID, at, sha, OTHER_HASH, other, OLD), needs),
            ((ID, at, sha, OTHER_HASH, fence, NEW), needs),
            ((ID, at + 1, sha, OTHER_HASH, fence, OLD), "QUOTE_MISMATCH"),
            ((ID, at, HASH, OTHER_HASH, fence, OLD), "QUOTE_MISMATCH"),
            ((OTHER_ID, at, sha, OTHER_HASH, fence, OLD), "ADMISSION_NOT_FOUND"),
        ):
            assert await stage.code(recover(*asked)) == code

    staged(story)
