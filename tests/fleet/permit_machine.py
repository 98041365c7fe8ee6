"""Permits and receipts against dicts: the rows of E.2, written down once more, by hand."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from durasim.actors.fleet.bounds import MINUTE_MS, RECEIPTS_MAX
from durasim.wire import content_hash

from .lone_registry import LoneRegistry
from .registry_stage import HASH, OTHER_HASH

__all__ = ["PermitMachine"]

IDS = st.sampled_from([f"00000000-0000-4000-9000-{number:012}" for number in range(4)])
HASHES = st.sampled_from((HASH, OTHER_HASH))
KINDS = st.sampled_from(("exec", "reconcile"))
OLD = {"workerVersion": "00000000-0000-4000-8000-000000000001", "uploadedAt": 1}
NEW = {"workerVersion": "00000000-0000-4000-8000-000000000002", "uploadedAt": 1 << 40}
EVIDENCE = "e" * 64


class PermitMachine(RuleBasedStateMachine):
    """Rows, receipts and audits as dicts, beside the real ones."""

    def __init__(self) -> None:
        super().__init__()
        self.lone = LoneRegistry()
        self.rows: dict[str, dict[str, Any]] = {}
        self.receipts: dict[str, Any] = {}
        self.audits: dict[str, Any] = {}
        self.fence: str | None = None
        self.is_recovery = False
        self.others = 0

    @property
    def registry(self) -> Any:
        """The Registry of now."""
        return self.lone.registry

    # ---- around the permits

    @rule()
    def restarts(self) -> None:
        """No restart removes a permit."""
        self.lone.restart()

    @rule()
    def much_later(self) -> None:
        """Nor does any time, nor the end of a drain."""
        self.lone.now_ms += 91 * MINUTE_MS
        self.lone.ring()
        self.fence = None

    @rule(recovery=st.booleans())
    def fences(self, recovery: bool) -> None:
        """Close the fleet."""
        if self.fence is None:
            self.lone.ask(self.registry.drain(90))
            owner = {"kind": "recovery" if recovery else "preflight", "ref": ""}
            self.fence = self.lone.ask(self.registry.set_fence(owner, OLD, []))["fenceId"]
            self.is_recovery = recovery

    @rule()
    def reopens(self) -> None:
        """Take the fence back."""
        if self.fence is not None:
            self.lone.ask(self.registry.withdraw_fence(self.fence))
            self.fence = None

    # ---- begin and end

    def closed(self, kind: str | None, newer: bool) -> str | None:
        """The code by which a fence refuses, if one does."""
        if self.fence is None:
            return None
        if kind != "reconcile":
            return "FENCED"
        return None if newer else "RECONCILE_BEFORE_UPLOAD"

    @rule(permit=IDS, sha=HASHES, kind=KINDS, newer=st.booleans())
    def begins(self, permit: str, sha: str, kind: str, newer: bool) -> None:
        """Begin a keyed request."""
        by = NEW if newer else OLD
        got = self.lone.ask(self.registry.begin_keyed(permit, sha, kind, by))
        if permit in self.audits:
            assert got == "ADMISSION_ID_RETIRED", got
        elif permit in self.receipts:
            assert got == "ADMISSION_ID_RELEASED", got
        elif permit in self.rows:
            assert got == "ADMISSION_ID_EXISTS", got
        elif (code := self.closed(kind, newer)) is not None:
            assert got == code, got
        else:
            assert got == {"granted": True, "startedAt": self.lone.now_ms}
            self.rows[permit] = {
                "startedAt": self.lone.now_ms, "kind": kind, "provenanceSha256": sha, "schema": 2,
                "workerVersion": by["workerVersion"],
            }  # fmt: skip

    @rule()
    def begins_legacy(self) -> None:
        """Begin a request of old code."""
        got = self.lone.ask(self.registry.begin_deploy_admission("exec"))
        if self.fence is not None:
            assert got == "FENCED", got
        else:
            assert got["id"] not in self.rows
            self.rows[got["id"]] = {"startedAt": self.lone.now_ms, "kind": "exec"}

    @rule(permit=IDS, sha=HASHES)
    def ends(self, permit: str, sha: str) -> None:
        """End a keyed request."""
        self.ended(permit, sha)

    @rule(sha=HASHES)
    def ends_legacy_by_hash(self, sha: str) -> None:
        """End a request of old code as if it were keyed."""
        for permit, row in self.rows.items():
            if "provenanceSha256" not in row:
                self.ended(permit, sha)
                break

    def ended(self, permit: str, sha: str) -> None:
        """End *permit* by *sha*."""
        row = self.rows.get(permit)
        got = self.lone.ask(self.registry.end_keyed(permit, sha, OLD))
        if permit in self.receipts:
            same = self.receipts[permit]["provenanceSha256"] == sha
            assert got == (self.receipts[permit] if same else "HASH_MISMATCH"), got
        elif row is None:
            assert got == "ADMISSION_UNKNOWN", got
        elif "provenanceSha256" not in row:
            assert got == "LEGACY_RECORD", got
        elif row["provenanceSha256"] != sha:
            assert got == "HASH_MISMATCH", got
        else:
            assert (got["id"], got["provenanceSha256"]) == (permit, sha)
            assert got["recordSha256"] == content_hash({**row, "id": permit})
            self.keep(self.rows.pop(permit), got)

    def keep(self, row: dict[str, Any], receipt: dict[str, Any]) -> None:
        """Keep the receipt of *row*, and no more of them than there may be."""
        del row
        self.receipts[receipt["id"]] = receipt
        for permit in list(self.receipts)[:-RECEIPTS_MAX]:
            del self.receipts[permit]

    @rule(permit=IDS)
    def ends_as_legacy(self, permit: str) -> None:
        """End whatever it is by the old method."""
        got = self.lone.ask(self.registry.end_deploy_admission(permit))
        keyed = permit in self.rows
        assert got == ("KEYED_RELEASE_NEEDS_HASH" if keyed else {"ended": False}), got

    @rule()
    def ends_legacy(self) -> None:
        """End a request of old code."""
        for permit, row in list(self.rows.items()):
            if "provenanceSha256" not in row:
                got = self.lone.ask(self.registry.end_deploy_admission(permit))
                assert got == {"ended": True}
                del self.rows[permit]
                break

    @precondition(lambda self: self.others == 0)
    @rule()
    def many_others_end(self) -> None:
        """So many that the oldest receipts go."""
        if self.fence is None:
            for _ in range(RECEIPTS_MAX + 1):
                self.others += 1
                permit = f"00000000-0000-4000-a000-{self.others:012}"
                self.lone.ask(self.registry.begin_keyed(permit, HASH, "op", OLD))
                self.keep({}, self.lone.ask(self.registry.end_keyed(permit, HASH, OLD)))

    # ---- recovery

    @rule(permit=IDS, wrong=st.sampled_from((None, "start", "row", "fence")))
    def recovers(self, permit: str, wrong: str | None) -> None:
        """Recover what was quoted, or what was not."""
        quote = self.lone.ask(self.registry.quote_admission(permit))["quote"]
        assert (quote is not None) == (permit in self.rows)
        at, sha = (quote["startedAt"], quote["recordSha256"]) if quote else (1, HASH)
        got = self.lone.ask(
            self.registry.recover_quoted(
                permit, at + (wrong == "start"), HASH if wrong == "row" else sha, EVIDENCE,
                "other" if wrong == "fence" else self.fence or "", OLD,
            )
        )  # fmt: skip
        if self.fence is None or not self.is_recovery or wrong == "fence":
            assert got == "RECOVERY_NEEDS_UNFENCED_DRAIN", got
        elif permit in self.audits:
            assert got == "AUDIT_EXISTS", got
        elif permit not in self.rows:
            assert got == "ADMISSION_NOT_FOUND", got
        elif wrong is not None:
            assert got == "QUOTE_MISMATCH", got
        else:
            assert (got["original"], got["recordSha256"]) == (self.rows.pop(permit), sha)
            assert (got["evidenceUrlSha256"], got["fence"]["fenceId"]) == (EVIDENCE, self.fence)
            self.audits[permit] = got

    @invariant()
    def rows_are_the_dicts(self) -> None:
        """What is stored is what the dicts say, and nothing stands twice."""
        assert self.lone.rows("deploy:admission:") == self.rows
        assert self.lone.rows("deploy:receipt:") == self.receipts
        assert self.lone.rows("deploy:recovered:") == self.audits
        left = self.receipts.keys() | self.audits.keys()
        assert not self.rows.keys() & left
