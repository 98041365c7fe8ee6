"""INV-48, INV-52, INV-103 to INV-105: what is said, by audits, answers and diagnostics."""

from typing import Any, Final, cast

from ...wire import content_hash
from .checks import Check
from .inv_recovery import RECOVERED, ROUTE, new_audits
from .log import Answer, Commit, Seen
from .sights import answered, asked, living_fence, table

__all__ = ["SAYING"]

WORDS: Final = frozenset(
    {"operator-attested", "unobserved", "unverified", "unknown", "pending", "completed"}
)
"""All that may be said of the end of a request or of native work (L, INV-104)."""


class NothingIsVerified(Check[None]):
    """A recovered request says operator-attested ending and unverified native outcome; nothing says
    verified.
    """

    name = "INV-48"
    level = 3
    sees = ("commit Registry", "answer FleetRouter.fetch")

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Look at the audit, and at what the operator is told."""
        data = seen.entry.data
        said: list[Any] = []
        if isinstance(data, Answer):
            _, body = answered(data)
            said = [body] if "recovered" in body else []
        else:
            said = [audit for _, audit, _ in new_audits(data)]
        for each in said:
            words = (each.get("requestEnd"), each.get("nativeOutcome"))
            assert words == ("operator-attested", "unverified"), f"a recovery says {words}"


class CompactStays(Check[None]):
    """Compact inventory output is independent of quotes, hashes and audits."""

    name = "INV-52"
    level = 3
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A row of the list has an id, a start and a kind, and nothing else."""
        request, (status, body) = asked(seen.entry.data.call), answered(seen.entry.data)
        if request is None or request.path != "/deploy-admissions" or status != 200:
            return
        if "id" in request.request.query:
            return
        for row in body.get("admissions") or ():
            more = set(table(row)) - {"id", "startedAt", "kind"}
            assert not more, f"a row of the list has {sorted(more)}"
        more = set(body) - {"ok", "admissions"}
        assert not more, f"the list has {sorted(more)}"


class NothingIsCertified(Check[None]):
    """No hash, URL, label, count or green test is reported as certifying a fact of the world.

    What is said of ends and outcomes is one of the words for what was observed.
    """

    name = "INV-104"
    level = 3
    sees = ("commit Registry", "commit Resident", "answer FleetRouter.fetch")

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Look for the words wherever they are said."""
        data = seen.entry.data
        if isinstance(data, Answer):
            said = [answered(data)[1]]
        else:
            said = [table(change.after) for change in cast(Commit, data).changes]
        for each in said:
            for field in ("requestEnd", "nativeOutcome"):
                word = each.get(field, "unknown")
                assert word in WORDS, f"{field} is said to be {word!r}"


class DoneIsMatched(Check[None]):
    """An uncertain recovery is reported as done only after its one read matched every recorded
    field; otherwise it is reported unknown.
    """

    name = "INV-105"
    level = 3
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """What is called recovered is stored as exactly what was asked."""
        answer: Answer = seen.entry.data
        request, (status, body) = asked(answer.call), answered(answer)
        if request is None or request.path != ROUTE or status != 200 or not body.get("ok"):
            return
        want = request.body
        audit = table(seen.log.registry.get(f"{RECOVERED}{want.get('id')}"))
        stored = tuple(audit.get(k) for k in ("startedAt", "recordSha256", "evidenceUrlSha256"))
        expected = (
            want.get("expectedStartedAt"),
            want.get("expectedRecordSha256"),
            content_hash(want.get("evidence")),
        )
        assert stored == expected, f"{want.get('id')} is called recovered, and another audit stands"


class WithdrawnWasSeen(Check[None]):
    """A diagnostic says "withdrawn" only after a readback showed the fence gone, and names the
    producer that answered.
    """

    name = "INV-103"
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """A fence that is called withdrawn does not stand."""
        _, body = answered(seen.entry.data)
        said = table(body.get("deployDiagnostic"))
        named = table(said.get("fence"))
        if named.get("status") != "withdrawn":
            return
        fence = living_fence(seen.log, seen.log.drain)
        stands = fence is not None and fence["fenceId"] == named.get("fenceId")
        assert not stands, "a fence is called withdrawn, and stands"
        assert said.get("readback") == "matched", "a fence is called withdrawn, and was not read"
        producer: Any = table(said.get("producer")).get("workerVersion")
        assert producer is not None, "a diagnostic does not say who answered"


SAYING: Final = (
    NothingIsVerified(), CompactStays(), WithdrawnWasSeen(), NothingIsCertified(), DoneIsMatched(),
)  # fmt: skip
"""INV-48, INV-52, INV-103, INV-104, INV-105."""
