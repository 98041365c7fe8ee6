"""INV-31 to INV-35, INV-37 to INV-42, LIV-06: what may become of rows of permits (F.3, F.9)."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ...actors import WebRequest
from ...actors.fleet import FleetRouter
from ...wire import content_hash
from .checks import Check
from .fleet import BEARERS
from .log import Answer, Call, Change, Commit, Log, Seen
from .sights import FETCH, answered

__all__ = ["PERMITS"]

ADMISSION: Final = "deploy:admission:"
RECEIPT: Final = "deploy:receipt:"
RECOVERED: Final = "deploy:recovered:"
ABANDONED: Final = "deploy:abandoned:"
RECEIPTS_MAX: Final = 128
ENDS: Final = ("end_keyed", "end_deploy_admission", "recover_quoted", "recover_admission")


def permit_of(change: Change) -> str:
    """Return the id in the key of *change*."""
    return change.key.rpartition(":")[2]


def removed(commit: Commit) -> list[Change]:
    """Return the permits that *commit* has deleted."""
    return [each for each in commit.of(ADMISSION) if each.after is None and each.before is not None]


def leaves_proof(commit: Commit, permit: str) -> bool:
    """Whether *commit* has written the receipt or the recovery audit of *permit*."""
    keys = (RECEIPT + permit, RECOVERED + permit)
    return any(each.key in keys and each.after is not None for each in commit.changes)


@attrs.define
class Requests:
    """What has arrived at the Registry that may take a permit away: arguments by method and id."""

    asked: dict[tuple[str, str], list[tuple[Any, ...]]] = attrs.field(
        factory=dict[tuple[str, str], list[tuple[Any, ...]]]
    )

    def of(self, method: str, permit: str) -> list[tuple[Any, ...]]:
        """Return the arguments of each request of *method* for *permit*."""
        return self.asked.get((method, permit), [])


class OfRemovals(Check[Requests]):
    """Sees each permit that goes, with the requests that have named it."""

    sees = (*(f"deliver Registry.{method}" for method in ENDS), "commit Registry")

    def begin(self) -> Requests:
        """Nothing was asked."""
        return Requests()

    def see(self, seen: Seen[Requests]) -> None:
        """Remember a request, or judge a commit."""
        if seen.entry.kind != "commit Registry":
            call: Call = seen.entry.data
            permit = str(call.arguments[0])
            seen.own.asked.setdefault((call.method, permit), []).append(call.arguments)
            return
        for change in removed(seen.entry.data):
            self.gone(seen, permit_of(change), change.before)

    def gone(self, seen: Seen[Requests], permit: str, row: Mapping[str, Any]) -> None:
        """A permit is gone."""


class GoneForCause(OfRemovals):
    """A permit row disappears only by exact keyed end, legacy end of a legacy row, or quoted
    recovery.
    """

    name = "INV-31"
    level = 3

    def gone(self, seen: Seen[Requests], permit: str, row: Mapping[str, Any]) -> None:
        """One of the three has been asked, and fits the row."""
        provenance = row.get("provenanceSha256")
        exact = any(asked[1] == provenance for asked in seen.own.of("end_keyed", permit))
        keyed = provenance is not None and exact
        legacy = provenance is None and bool(seen.own.of("end_deploy_admission", permit))
        quoted = any(
            asked[2] == content_hash({**row, "id": permit})
            for asked in seen.own.of("recover_quoted", permit)
        )
        assert keyed or legacy or quoted, f"the permit {permit} went, and nothing that fits it came"


class NotBoth(Check[None]):
    """For every id: not (permit and receipt); not (permit and recovery audit)."""

    name = "INV-32"
    level = 2
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Look at the ids that the commit has touched."""
        rows = seen.log.registry
        for change in seen.entry.data.of("deploy:"):
            permit = permit_of(change)
            both = RECEIPT + permit in rows and RECOVERED + permit in rows
            assert not both, f"{permit} was released and was recovered"
            if ADMISSION + permit in rows:
                assert RECEIPT + permit not in rows, f"{permit} is active and has a receipt"
                assert RECOVERED + permit not in rows, f"{permit} is active and was recovered"


class LeavesProof(Check[None]):
    """A keyed permit that disappears leaves, in the same transaction, a receipt or a recovery
    audit.
    """

    name = "INV-33"
    level = 3
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Look at what the commit has deleted."""
        for change in removed(seen.entry.data):
            if change.before.get("provenanceSha256") is not None:
                permit = permit_of(change)
                proved = leaves_proof(seen.entry.data, permit)
                assert proved, f"{permit} is gone, and nothing is left of it"


class ReceiptsAreBounded(Check[dict[str, int]]):
    """Receipts stored <= 128, each with id and hash."""

    name = "INV-34"
    level = 2
    sees = ("commit Registry",)

    def begin(self) -> dict[str, int]:
        """How many there are."""
        return {"": 0}

    def see(self, seen: Seen[dict[str, int]]) -> None:
        """Count what comes and goes."""
        for change in seen.entry.data.of(RECEIPT):
            if change.after is not None:
                named = (change.after.get("id"), bool(change.after.get("provenanceSha256")))
                assert named == (permit_of(change), True), f"{change.key} does not say of what"
            seen.own[""] += (change.after is not None) - (change.before is not None)
        count = seen.own[""]
        assert count <= RECEIPTS_MAX, f"{count} receipts are stored"


class EvictionChangesNothing(Check[None]):
    """Eviction changes no permit and retires no debt; a begin delivered again afterwards leaves
    debt, never work.
    """

    name = "INV-35"
    level = 2
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A commit that evicts releases one permit, and touches no other."""
        commit: Commit = seen.entry.data
        receipts = commit.of(RECEIPT)
        if not any(each.after is None for each in receipts):
            return
        released = {permit_of(each) for each in receipts if each.after is not None}
        touched = {permit_of(each) for each in commit.of(ADMISSION)}
        assert touched == released, f"an eviction has touched {sorted(touched - released)}"
        audits = [*commit.of(RECOVERED), *commit.of(ABANDONED)]
        assert not audits, f"an eviction has touched {audits[0].key}"


class OutcomesAreNative(Check[set[str]]):
    """Ending a permit changes no native outcome."""

    name = "INV-37"
    sees = ("commit Resident", "note native outcome")

    def begin(self) -> set[str]:
        """Operations that have really completed."""
        return set()

    def see(self, seen: Seen[set[str]]) -> None:
        """Only what the container says has completed is said to have."""
        if seen.entry.kind == "note native outcome":
            if seen.entry.data["outcome"] == "completed":
                seen.own.add(seen.entry.data["operation"])
            return
        for change in seen.entry.data.of("native:"):
            if change.after is not None and change.after.get("outcome") == "completed":
                operation = change.after["opId"]
                assert operation in seen.own, f"{operation} is said to have completed"


class NothingButRequests(OfRemovals):
    """No timer, restart, upload or drain end removes a permit."""

    name = "INV-38"

    def gone(self, seen: Seen[Requests], permit: str, row: Mapping[str, Any]) -> None:
        """Somebody has asked for it by its id."""
        del row
        asked_for = any(seen.own.of(method, permit) for method in ENDS)
        assert asked_for, f"the permit {permit} went, and nobody has asked for that"


class IdsAreSpent(Check[None]):
    """An id with a permit, receipt or audit is never admitted again."""

    name = "INV-39"
    level = 2
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Look for what is left of the ids that are admitted."""
        commit: Commit = seen.entry.data
        before = {each.key: each.before for each in commit.changes}
        for change in commit.of(ADMISSION):
            if change.after is None or change.before is not None:
                continue
            permit = permit_of(change)
            for prefix in (RECEIPT, RECOVERED, ABANDONED):
                key = prefix + permit
                left = before.get(key, seen.log.registry.get(key))
                assert left is None, f"{permit} is admitted again, and {key} stands"


class ExactlyEnded(OfRemovals):
    """A keyed row is never deleted through the legacy interface of upgraded code, nor with another
    hash.
    """

    name = "INV-40"
    level = 2

    def gone(self, seen: Seen[Requests], permit: str, row: Mapping[str, Any]) -> None:
        """A keyed row that goes without an audit was ended by its hash."""
        provenance = row.get("provenanceSha256")
        if provenance is None or RECOVERED + permit in seen.log.registry:
            return
        ends = seen.own.of("end_keyed", permit)
        if ends or seen.own.of("end_deploy_admission", permit):
            exact = any(asked[1] == provenance for asked in ends)
            assert exact, f"the keyed row {permit} was not ended by its hash"


class ScopesIgnorePermits(Check[None]):
    """No authorization decision reads a permit's existence: the scope verdict is the same with the
    permit table emptied.
    """

    name = "INV-41"
    sees = FETCH

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """The verdict is that of the credential alone."""
        if not seen.entry.kind.startswith("answer"):
            return
        answer: Answer = seen.entry.data
        request = next(iter(answer.call.arguments), None)
        status, _ = answered(answer)
        if not isinstance(request, WebRequest) or not answer.is_granted:
            return
        verdict = is_let_in(request)
        if verdict is not None:
            let_in = status != 401
            assert let_in is verdict, f"{request.path} was answered {status} for its credential"


def is_let_in(request: WebRequest) -> bool | None:
    """Whether the credential of *request* covers its route; None if there is no such route."""
    for route in FleetRouter.routes:
        if route.method == request.method and route.match(request.path) is not None:
            return route.scope is None or is_covered(route.scope, request)
    return None


def is_covered(scope: str, request: WebRequest) -> bool:
    """Whether *request* shows the bearer of *scope*, or the one that implies every other."""
    shown = request.headers.get("authorization", "")
    tokens = {getattr(BEARERS, each) for each in (scope, "admin")}
    return shown in {f"Bearer {token}" for token in tokens}


class RowsAreNotEdited(Check[None]):
    """Permit rows are not edited in place by any operation."""

    name = "INV-42"
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A row comes or goes, and stays as it came."""
        for change in seen.entry.data.of(ADMISSION):
            edited = None not in (change.before, change.after) and change.before != change.after
            assert not edited, f"the row of {permit_of(change)} was changed in place"


@attrs.define
class Recoveries:
    """Which recoveries were sent while everything they need was so: rows, by call."""

    sent: dict[tuple[str, int], Any] = attrs.field(factory=dict[tuple[str, int], Any])


class DebtIsRecovered(Check[Recoveries]):
    """Debt blocks deploys until recovered; with a correct request-end receipt and idle members one
    quoted recovery unblocks.
    """

    name = "LIV-06"
    level = 3
    sees = (
        "call Registry.recover_quoted", "answer Registry.recover_quoted",
        "answer Registry.verify_fence",
    )  # fmt: skip

    def begin(self) -> Recoveries:
        """Nobody recovers."""
        return Recoveries()

    def see(self, seen: Seen[Recoveries]) -> None:
        """A recovery that fits is not refused, and a debt is not overlooked."""
        own, data = seen.own, seen.entry.data
        if seen.entry.kind.startswith("call"):
            own.sent[data.caller, data.number] = fitting(seen.log, data)
            return
        answer: Answer = data
        if answer.call.method == "verify_fence":
            verified = answer.is_granted and answer.value.get("verified") is True
            debts = [permit for permit, row in seen.log.permits.items() if is_older(row, seen)]
            assert not (verified and debts), f"the fence was verified over {debts[0]}"
            return
        fitted = own.sent.pop((answer.call.caller, answer.call.number), None)
        # An error without a code of ours is a failure, and refuses nothing.
        is_refused = answer.error is not None and isinstance(answer.error.code, str)
        if fitted is not None and is_refused and fitting(seen.log, answer.call):
            assert fitting(seen.log, answer.call) != fitted, (
                f"a recovery that fits was refused: {answer.error}"
            )


def is_older(row: Mapping[str, Any], seen: Seen[Any]) -> bool:
    """Whether *row* stood for a while before anything that was asked now."""
    return bool(row.get("startedAt", 0) < seen.entry.time_ms - 180_000)


def fitting(log: Log, call: Call) -> Any:
    """Return what a recovery would find, if all that it needs is so: its fence and its row."""
    permit, started_at, sha, _, fence_id, *_ = call.arguments
    row, fence = log.permits.get(permit), log.fence
    if row is None or fence is None or fence.get("fenceId") != fence_id:
        return None
    if f"{RECOVERED}{permit}" in log.registry or row.get("startedAt") != started_at:
        return None
    return (fence_id, sha) if content_hash({**row, "id": permit}) == sha else None


PERMITS: Final = (
    NothingButRequests(), ExactlyEnded(), IdsAreSpent(), LeavesProof(), NotBoth(), GoneForCause(),
    ReceiptsAreBounded(), EvictionChangesNothing(), OutcomesAreNative(), ScopesIgnorePermits(),
    RowsAreNotEdited(), DebtIsRecovered(),
)  # fmt: skip
"""INV-31 to INV-35, INV-37 to INV-42, LIV-06; of several that see a thing, the closest first."""
