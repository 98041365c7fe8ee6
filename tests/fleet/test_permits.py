"""Permits: their rows, the common calculation, the table."""

from typing import Any

import attrs
import pytest

from durasim.actors.fleet import FleetRefused
from durasim.actors.fleet.drain import Fence, FenceOwner, Swap
from durasim.actors.fleet.permit_rows import keyed_row, permits_of
from durasim.actors.fleet.permits import (
    KINDS,
    PERMIT_MACHINE,
    Counted,
    Exempted,
    Permit,
    PermitFacts,
    RecoveryAudit,
    ReleaseReceipt,
    counted,
    is_well_formed,
    permit_state,
    record_sha,
)
from durasim.wire import content_hash

from .registry_stage import HASH, ID, OTHER_HASH, OTHER_ID

V1 = "00000000-0000-4000-8000-000000000001"
KEYED = Permit.of(ID, keyed_row(5, "attach", HASH, V1))
LEGACY = Permit.of(OTHER_ID, {"startedAt": 7})
BOTH = {ID: KEYED, OTHER_ID: LEGACY}
RECEIPT = ReleaseReceipt(ID, HASH, 5, "attach", KEYED.sha, 9, 1, {"workerVersion": V1})
AUDIT = RecoveryAudit(ID, KEYED.row, KEYED.sha, 5, OTHER_HASH, 9, {"fenceId": "f"}, {})
FENCE = Fence("f-1", FenceOwner("decision", "d"), Swap(V1, "b", 1))


# ---- rows


def test_the_hash_binds_key_and_complete_row() -> None:
    """Another id, start or field is another record (I-27)."""
    row = dict(KEYED.row)
    assert record_sha(ID, row) == KEYED.sha == content_hash({**row, "id": ID})
    others = [
        record_sha(OTHER_ID, row), record_sha(ID, {**row, "startedAt": 6}),
        record_sha(ID, {**row, "more": 1}),
    ]  # fmt: skip
    assert len({KEYED.sha, *others}) == 4


def test_a_keyed_row_has_its_fields_and_a_legacy_one_what_it_has() -> None:
    """A producer that does not know its version writes none."""
    assert KEYED.row == {
        "startedAt": 5, "kind": "attach", "provenanceSha256": HASH, "schema": 2,
        "workerVersion": V1,
    }  # fmt: skip
    assert "workerVersion" not in keyed_row(5, "attach", HASH, None)
    assert (LEGACY.started_at, LEGACY.kind, LEGACY.provenance_sha256) == (7, None, None)


def test_the_compact_form_has_no_hash() -> None:
    """Id, start, and the kind if there is one (P23.4)."""
    assert KEYED.compact() == {"id": ID, "startedAt": 5, "kind": "attach"}
    assert LEGACY.compact() == {"id": OTHER_ID, "startedAt": 7}


def test_a_row_that_makes_no_sense_counts() -> None:
    """Nobody knows what it stands for."""
    found = permits_of({f"p:{ID}": 17, "p:x": {"startedAt": "soon"}}, "p:")
    assert found[ID].row == {}
    assert found["x"].started_at is None
    assert counted(found, None, None, None, 0, "verify").blocking == {ID, "x"}


@pytest.mark.parametrize("value", [RECEIPT, AUDIT])
def test_a_document_reads_as_what_was_written(value: Any) -> None:
    """And one that lacks any field is none."""
    document: dict[str, Any] = value.wire()
    assert value.parse(document) == value
    assert value.parse(None) is None
    for field in document:
        if field != "nativeOutcome":
            assert value.parse({**document, field: None}) is None


def test_an_audit_says_that_nothing_is_verified() -> None:
    """An operator attested the end; what came of it natively nobody has seen (P21.2)."""
    document = AUDIT.wire()
    assert document["requestEnd"] == "operator-attested"
    assert document["nativeOutcome"] == "unverified"


# ---- the common calculation

WINDOW = Exempted(
    kind="window", gates=frozenset({"claim"}), record_id=ID, record_sha256=KEYED.sha, started_at=5,
    audit_sha256=content_hash({"a": 1}), expires_at=100, fence_id="f-1",
)  # fmt: skip
PROPOSAL = attrs.evolve(WINDOW, kind="proposal", gates=frozenset({"risk"}), audit_sha256=None)
DECISION = attrs.evolve(WINDOW, kind="decision", gates=frozenset({"release"}))


def test_without_an_exception_every_permit_counts() -> None:
    """And a fleet without permits is clear."""
    assert counted(BOTH, None, None, None, 0, "verify") == Counted(frozenset(BOTH))
    assert counted({}, None, None, None, 0, "verify").is_clear
    assert not counted(BOTH, None, None, None, 0, "verify").is_clear


@pytest.mark.parametrize(
    ("exempted", "gate"), [(WINDOW, "claim"), (PROPOSAL, "risk"), (DECISION, "release")]
)
def test_one_record_is_left_out_at_the_gates_of_its_exception(
    exempted: Exempted, gate: str
) -> None:
    """And nothing else is."""
    found = counted(BOTH, exempted, {"a": 1}, FENCE, 0, gate)
    assert found == Counted(frozenset({OTHER_ID}), ID)
    alone = counted({ID: KEYED}, exempted, {"a": 1}, FENCE, 0, gate)
    assert alone.is_clear


def test_an_empty_exception_leaves_nothing_out() -> None:
    """A window without a record is a window all the same (I-14)."""
    empty = attrs.evolve(WINDOW, record_id=None)
    assert counted(BOTH, empty, None, FENCE, 0, "claim") == Counted(frozenset(BOTH))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"gate": "verify"}, "EXCEPTION_NOT_FOR_GATE"),
        ({"now": 100}, "WINDOW_NOT_LIVE"),
        ({"exempted": attrs.evolve(WINDOW, state="expired")}, "WINDOW_NOT_LIVE"),
        ({"fence": None}, "WINDOW_FENCE_MISMATCH"),
        ({"fence": attrs.evolve(FENCE, fence_id="f-2")}, "WINDOW_FENCE_MISMATCH"),
        (
            {"exempted": attrs.evolve(DECISION, gates=frozenset({"claim"}), used_by="r")},
            "DECISION_USED",
        ),
        ({"permits": {OTHER_ID: LEGACY}}, "ORIGINAL_ABSENT"),
        ({"exempted": attrs.evolve(WINDOW, record_sha256=HASH)}, "ORIGINAL_CHANGED"),
        ({"exempted": attrs.evolve(WINDOW, started_at=6)}, "ORIGINAL_CHANGED"),
        ({"audit": None}, "AUDIT_CHANGED"),
        ({"audit": {"a": 2}}, "AUDIT_CHANGED"),
    ],
)
def test_an_exception_that_does_not_hold_leaves_nothing_out(
    changed: dict[str, Any], problem: str
) -> None:
    """Every permit counts, and the gate learns why."""
    asked: dict[str, Any] = {
        "permits": BOTH, "exempted": WINDOW, "audit": {"a": 1}, "fence": FENCE, "now": 0,
        "gate": "claim", **changed,
    }  # fmt: skip
    found = counted(*asked.values())
    assert found == Counted(frozenset(asked["permits"]), None, problem)
    assert not found.is_clear


# ---- the table


def test_a_begin_has_its_form() -> None:
    """A UUID in lower case, a hash, a kind that holds permits."""
    assert all(is_well_formed(ID, HASH, kind) for kind in KINDS)
    assert not is_well_formed(ID.replace("1", "A"), HASH, "attach")
    assert not is_well_formed(ID, HASH[1:], "attach")
    assert not is_well_formed(ID, HASH, "upload")


@pytest.mark.parametrize(
    ("permit", "has_receipt", "is_retired", "state"),
    [
        (None, False, False, "absent"),
        (None, True, False, "released"),
        (None, True, True, "retired"),
        (KEYED, False, True, "keyed"),
        (LEGACY, True, False, "legacy"),
    ],
)
def test_a_row_that_stands_comes_before_what_is_left_of_it(
    permit: Permit | None, has_receipt: bool, is_retired: bool, state: str
) -> None:
    """An abandoned request is active."""
    assert permit_state(permit, has_receipt=has_receipt, is_retired=is_retired) == state


QUOTED: dict[str, Any] = {
    "permit": KEYED, "is_own_fence": True, "started_at": 5, "record_sha256": KEYED.sha,
}  # fmt: skip
LEFT: dict[str, Any] = {"has_receipt": True, "receipt": RECEIPT, "provenance_sha256": HASH}
RECONCILE: dict[str, Any] = {"is_fenced": True, "is_reconcile": True}


@pytest.mark.parametrize(
    ("event", "facts", "then"),
    [
        ("begin keyed", {}, "keyed"),
        ("begin keyed", {"is_well_formed": False}, "BAD_REQUEST"),
        ("begin keyed", {"is_retired": True}, "ADMISSION_ID_RETIRED"),
        ("begin keyed", {"is_retired": True, "permit": KEYED}, "ADMISSION_ID_RETIRED"),
        ("begin keyed", {"has_receipt": True}, "ADMISSION_ID_RELEASED"),
        ("begin keyed", {"permit": KEYED, "is_fenced": True}, "ADMISSION_ID_EXISTS"),
        ("begin keyed", {"permit": LEGACY}, "ADMISSION_ID_EXISTS"),
        ("begin keyed", {"is_held": True}, "MAINTENANCE_HELD"),
        ("begin keyed", {"is_fenced": True}, "FENCED"),
        ("begin keyed", RECONCILE, "RECONCILE_BEFORE_UPLOAD"),
        ("begin keyed", {**RECONCILE, "is_post_upload": True}, "keyed"),
        ("begin keyed", {**RECONCILE, "is_held": True}, "MAINTENANCE_HELD"),
        ("begin legacy", {}, "legacy"),
        ("begin legacy", {"is_held": True}, "MAINTENANCE_HELD"),
        ("begin legacy", {"is_fenced": True, "is_post_upload": True}, "FENCED"),
        ("end keyed", LEFT, None),
        ("end keyed", {**LEFT, "provenance_sha256": OTHER_HASH}, "HASH_MISMATCH"),
        ("end keyed", {"has_receipt": True}, "HASH_MISMATCH"),
        ("end keyed", {}, "ADMISSION_UNKNOWN"),
        ("end keyed", {"is_retired": True}, "ADMISSION_UNKNOWN"),
        ("end keyed", {"permit": LEGACY}, "LEGACY_RECORD"),
        ("end keyed", {"permit": KEYED, "provenance_sha256": OTHER_HASH}, "HASH_MISMATCH"),
        ("end keyed", {"permit": KEYED, "provenance_sha256": HASH}, "released"),
        ("end legacy", {"permit": KEYED}, "KEYED_RELEASE_NEEDS_HASH"),
        ("end legacy", {"permit": LEGACY}, "absent"),
        ("end legacy", {}, None),
        ("end legacy", {"has_receipt": True}, None),
        ("recover", {**QUOTED, "is_own_fence": False}, "RECOVERY_NEEDS_UNFENCED_DRAIN"),
        ("recover", {**QUOTED, "is_recovered": True, "permit": None}, "AUDIT_EXISTS"),
        ("recover", {**QUOTED, "permit": None}, "ADMISSION_NOT_FOUND"),
        ("recover", {**QUOTED, "started_at": 6}, "QUOTE_MISMATCH"),
        ("recover", {**QUOTED, "record_sha256": HASH}, "QUOTE_MISMATCH"),
        ("recover", QUOTED, "retired"),
        ("recover", {**QUOTED, "is_retired": True}, "retired"),
    ],
)
def test_e2_every_event_ends_as_the_table_says(
    event: str, facts: dict[str, Any], then: str | None
) -> None:
    """Next state or code; None for nothing written."""
    known = PermitFacts(**facts)
    state = permit_state(known.permit, has_receipt=known.has_receipt, is_retired=known.is_retired)
    edge = PERMIT_MACHINE.edge(state, event, known)
    assert (edge.code or edge.next) == then
    if edge.code is not None:
        with pytest.raises(FleetRefused, match=edge.code):
            PERMIT_MACHINE.step(state, event, known)


def test_every_row_of_the_table_is_well_formed() -> None:
    """Its states are those of the machine, and a refusal goes nowhere."""
    for edge in PERMIT_MACHINE.edges:
        assert set(edge.states) <= set(PERMIT_MACHINE.states)
        assert edge.next is None or edge.next in PERMIT_MACHINE.states
        assert edge.code is None or edge.next is None
