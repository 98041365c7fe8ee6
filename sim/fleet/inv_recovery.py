"""INV-43 to INV-47, INV-49 to INV-51: what a recovery may do."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import attrs

from ...wire import content_hash
from .checks import Check
from .log import Answer, Call, Change, Commit, Seen
from .sights import ADMISSION, FETCH, answered, asked, living_fence, table
from .stacks import STRANGER

__all__ = ["RECOVERED", "RECOVERY", "ROUTE", "new_audits"]

RECOVERED: Final = "deploy:recovered:"
AUDITS: Final = (RECOVERED, "deploy:abandoned:")
ROUTE: Final = "/recover-quoted-admission"
IDLE: Final = frozenset({"warm", "degraded", "down"})
BODY: Final = {"id", "evidence", "expectedStartedAt", "expectedRecordSha256", "disposition"}


def new_audits(commit: Commit) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """Yield id and row of each recovery audit that a commit has written, and the row it took."""
    taken = {change.key.removeprefix(ADMISSION): change.before for change in commit.of(ADMISSION)}
    for change in commit.of(RECOVERED):
        permit = change.key.removeprefix(RECOVERED)
        if change.after is not None and change.before is None:
            yield permit, table(change.after), taken.get(permit)


def sha_of(permit: str, row: Any) -> str:
    """Return the hash of a complete row, with its id."""
    return content_hash({"id": permit, **table(row)})


@attrs.define
class Orders:
    """What was quoted, and what was asked to be deleted."""

    quotes: set[tuple[Any, Any, Any]] = attrs.field(factory=set[tuple[Any, Any, Any]])
    deletions: list[tuple[Any, ...]] = attrs.field(factory=list[tuple[Any, ...]])


class QuoteHolds(Check[Orders]):
    """A recovery deletes a row only when start and full-row hash equal the quote inside that
    transaction.
    """

    name = "INV-43"
    level = 3
    sees = (
        "call FleetRouter.fetch", "answer Registry.quote_admission",
        "deliver Registry.recover_quoted", "commit Registry",
    )  # fmt: skip

    def begin(self) -> Orders:
        """Nothing was quoted."""
        return Orders()

    def see(self, seen: Seen[Orders]) -> None:
        """What is asked was quoted; what is deleted was asked."""
        own, data = seen.own, seen.entry.data
        if isinstance(data, Answer):
            quote = table(table(data.value if data.is_granted else None).get("quote"))
            own.quotes.add((quote.get("id"), quote.get("startedAt"), quote.get("recordSha256")))
        elif isinstance(data, Call) and data.method == "recover_quoted":
            own.deletions.append(data.arguments)
        elif isinstance(data, Call):
            request = asked(data)
            if request is not None and request.path == ROUTE:
                body = request.body
                sent = (body.get("id"), body.get("expectedStartedAt"),
                        body.get("expectedRecordSha256"))  # fmt: skip
                assert sent in own.quotes, f"{request.who} asks for what nobody has quoted"
        else:
            for permit, _, row in new_audits(data):
                expected = (permit, table(row).get("startedAt"), sha_of(permit, row))
                matches = any(each[:3] == expected for each in own.deletions)
                assert matches, f"{permit} was deleted, and is not the row that was quoted"


class AuditKeepsAll(Check[None]):
    """The audit keeps the complete original row, its hash and the URL hash; the URL text is stored
    nowhere.
    """

    name = "INV-44"
    level = 3
    sees = ("commit Registry", "commit Resident")

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Compare with the row that went, and look for links."""
        commit: Commit = seen.entry.data
        for change in commit.changes:
            links = [text for text in texts(change.after) if "https://" in text]
            assert not links, f"{change.key} has a link in it"
        for permit, audit, row in new_audits(commit):
            assert row is not None, f"the audit of {permit} took no row"
            assert audit.get("original") == row, f"the audit of {permit} lacks its original"
            assert audit.get("recordSha256") == sha_of(permit, row), f"{permit}: another hash"
            assert len(str(audit.get("evidenceUrlSha256"))) == 64, f"{permit}: no evidence hash"


def texts(value: Any) -> Iterator[str]:
    """Yield every text in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in cast("Mapping[str, Any]", value).values():
            yield from texts(each)
    elif isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        for each in items:
            yield from texts(each)


class AuditsStay(Check[None]):
    """Audits never change and are never deleted."""

    name = "INV-45"
    level = 3
    sees = ("commit Registry",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Whatever there was is as it was."""
        for change in changes_of(seen.entry.data):
            same = change.before is None or change.after == change.before
            assert same, f"{change.key} was changed"


def changes_of(commit: Commit) -> Iterator[Change]:
    """Yield the changes of audits."""
    for prefix in AUDITS:
        yield from commit.of(prefix)


@attrs.define
class Handlers:
    """What each handler has read, and what it asked for."""

    views: dict[int, dict[str, Any]] = attrs.field(factory=dict[int, dict[str, Any]])
    sent: list[tuple[Any, ...]] = attrs.field(factory=list[tuple[Any, ...]])


class RecoveryIsAlone(Check[Handlers]):
    """Recovery commits only with its own fence standing, after all members read idle in owners,
    lifecycle and processes.
    """

    name = "INV-46"
    level = 3
    sees = (
        "answer Resident.deploy_info", "answer Resident.recovery_probe",
        "call Registry.recover_quoted", "commit Registry",
    )  # fmt: skip

    def begin(self) -> Handlers:
        """Nothing was read."""
        return Handlers()

    def see(self, seen: Seen[Handlers]) -> None:
        """Whoever deletes has read everybody; what is deleted has its own fence."""
        own, data = seen.own, seen.entry.data
        if isinstance(data, Answer):
            if data.is_granted:
                views = own.views.setdefault(data.call.stack, {})
                views.setdefault(data.call.address.name, {}).update(table(data.value))
        elif isinstance(data, Call):
            own.sent.append(data.arguments)
            if data.caller.startswith(STRANGER):
                return
            views = own.views.get(data.stack, {})
            for resource in seen.log.rows("resident:"):
                assert is_idle(views.get(resource, {})), f"{resource} was not read idle"
        else:
            for permit, _, _ in new_audits(data):
                fence = living_fence(seen.log, seen.log.drain)
                named = [each[4] for each in own.sent if each[0] == permit]
                own_id = (
                    fence["fenceId"] if fence and fence["owner"]["kind"] == "recovery" else None
                )
                assert own_id in named, f"{permit} was recovered, and its own fence does not stand"


def is_idle(view: Mapping[str, Any]) -> bool:
    """Whether a member said that it executes nothing, knows all, and runs no process."""
    counts = [view.get(key) for key in ("executingRuns", "unknownRuns", "activeProcesses")]
    return counts == [0, 0, 0] and view.get("state") in IDLE


class OneDeletion(Check[dict[tuple[str, int], int]]):
    """At most one deletion RPC per recovery handler, and one read after it."""

    name = "INV-47"
    level = 3
    sees = ("call Registry.recover_quoted", "call Registry.read_recovery")

    def begin(self) -> dict[tuple[str, int], int]:
        """Nothing was sent."""
        return {}

    def see(self, seen: Seen[dict[tuple[str, int], int]]) -> None:
        """Count by handler and method."""
        call: Call = seen.entry.data
        key = (call.method, call.stack)
        seen.own[key] = seen.own.get(key, 0) + 1
        assert seen.own[key] == 1, f"a handler has sent {call.method} twice"


class OnlyThePermit(Check[set[int]]):
    """Recovery of one id changes no other permit, registration, native row, window or hold."""

    name = "INV-49"
    level = 3
    sees = (
        "commit Registry", "call Registry.recover_quoted", "call Resident.detach",
        "call Resident.native_outcome", "call Resident.watchdog", "call Resident.set_deadline",
    )  # fmt: skip

    def begin(self) -> set[int]:
        """Handlers that have recovered."""
        return set()

    def see(self, seen: Seen[set[int]]) -> None:
        """The transaction has two keys, and its handler asks members for nothing."""
        data = seen.entry.data
        if isinstance(data, Call):
            if data.method == "recover_quoted":
                seen.own.add(data.stack)
            else:
                assert data.stack not in seen.own, (
                    f"a recovery has called {data.method} of a member"
                )
            return
        for permit, _, _ in new_audits(data):
            touched = {change.key for change in data.changes}
            touched -= {ADMISSION + permit, RECOVERED + permit}
            assert not touched, f"the recovery of {permit} has changed {sorted(touched)}"


class NoLegacyRecovery(Check[None]):
    """Upgraded code never deletes through the legacy recovery route or method; no client falls back
    to it.
    """

    name = "INV-50"
    level = 3
    sees = (*FETCH, "answer Registry.recover_admission")

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """The old route answers no, and nobody but an old tool asks it."""
        data = seen.entry.data
        call: Call = data.call if isinstance(data, Answer) else data
        request = asked(call)
        if request is None or request.path != "/recover-admission":
            return
        assert "old" in request.who, f"{request.who} falls back to a recovery without a quote"
        is_new = seen.log.level_of("FleetRouter") >= self.level
        if isinstance(data, Answer) and is_new:
            status, _ = answered(data)
            assert status != 200, "a recovery without a quote was granted by upgraded code"


class EndsAreAttested(Check[dict[str, set[str]]]):
    """Every recovery audit followed a request with disposition request-ended and a well-formed URL.

    No upload, version change, process count or flag stands for it.
    """

    name = "INV-51"
    level = 3
    sees = ("call FleetRouter.fetch", "commit Registry")

    def begin(self) -> dict[str, set[str]]:
        """Hashes of the evidence that was sent, by permit."""
        return {}

    def see(self, seen: Seen[dict[str, set[str]]]) -> None:
        """An audit has the hash of evidence that was sent for it."""
        data = seen.entry.data
        if isinstance(data, Call):
            request = asked(data)
            if request is not None and request.path == ROUTE:
                link, body = request.body.get("evidence"), request.body
                is_whole = body.get("disposition") == "request-ended" and set(body) <= BODY
                if is_whole and isinstance(link, str) and is_link(link):
                    seen.own.setdefault(str(body.get("id")), set()).add(content_hash(link))
            return
        for permit, audit, _ in new_audits(data):
            is_attested = audit.get("evidenceUrlSha256") in seen.own.get(permit, ())
            assert is_attested, f"{permit} was recovered, and nobody attested its end"


def is_link(text: str) -> bool:
    """Whether *text* is an https link of the right length without user information."""
    return 16 <= len(text) <= 1000 and text.startswith("https://") and "@" not in text


RECOVERY: Final = (
    QuoteHolds(), AuditKeepsAll(), AuditsStay(), RecoveryIsAlone(), OneDeletion(), OnlyThePermit(),
    NoLegacyRecovery(), EndsAreAttested(),
)  # fmt: skip
"""INV-43 to INV-47, INV-49 to INV-51."""
