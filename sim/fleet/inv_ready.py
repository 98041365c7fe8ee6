"""INV-85 to INV-90: which target is frozen, and what has to be read before a deploy is ready."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from .checks import Check
from .log import Answer, Call, Seen
from .plane import APPLICATION
from .sights import answered, asked, table

__all__ = ["READY"]

Target = Mapping[str, Any]


@attrs.define
class Proof:
    """What one runner has read.

    Attributes:
        registry_mode: whether its image is planned.
        image: that is planned; None if the artifact brings none.
        build: artifact id.
        pre: target read before the upload; None before.
        change: what the upload printed of the own application; None for nothing usable.
        printed: the image that it printed.
        is_uploaded: whether the upload was answered.
        reads: targets read after it, the last one last; None for a read that failed.
        frozen: what was accepted.
        posted: targets of the reconciles that were sent.
        reconciled: the last answer of one.
        residents: the last answer of a read of the residents.
        read_back: the one by which the members were called read back.
        skipped: whether no container has changed, as it says.
        answered: its calls that were answered.
    """

    registry_mode: bool = True
    image: str | None = None
    build: str = ""
    pre: Target | None = None
    change: bool | None = None
    printed: str | None = None
    is_uploaded: bool = False
    reads: list[Target | None] = attrs.field(factory=list["Target | None"])
    frozen: Target | None = None
    posted: list[Any] = attrs.field(factory=list[Any])
    reconciled: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    residents: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    read_back: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    skipped: bool = False
    answered: set[int] = attrs.field(factory=set[int])


Proofs = dict[str, Proof]


class OfProofs(Check[Proofs]):
    """Follows what runners read."""

    level = 5
    sees = (
        "note deploy", "note runner", "answer NativePlane.upload",
        "answer NativePlane.read_application", "call FleetRouter.fetch",
        "answer FleetRouter.fetch", "uncertain FleetRouter.fetch",
    )  # fmt: skip

    def begin(self) -> Proofs:
        """No runner."""
        return {}

    def see(self, seen: Seen[Proofs]) -> None:
        """Follow; what a check looks at, its own method is told."""
        kind, data, own = seen.entry.kind, seen.entry.data, seen.own
        if kind == "note deploy":
            mode, image = data["mode"] == "registry", data["image"]
            own[data["by"]] = Proof(mode, image, data["artifact"])
        elif kind == "note runner":
            if data["by"] in own:
                self._told(seen, own[data["by"]], data)
        elif isinstance(data, Call):
            request = asked(data)
            if data.caller in own and request is not None and request.path == "/reconcile":
                own[data.caller].posted.append(request.body.get("target"))
                self.posted(seen, own[data.caller])
        elif isinstance(data, Answer) and data.call.caller in own:
            proof = own[data.call.caller]
            # What arrives twice is answered twice; its caller has taken the first one.
            if data.call.number not in proof.answered:
                proof.answered.add(data.call.number)
                take_in(proof, data)

    def _told(self, seen: Seen[Proofs], proof: Proof, data: Mapping[str, Any]) -> None:
        event = data["event"]
        if event == "prepared, application read":
            proof.pre = data["target"]
        elif event == "uploaded":
            proof.is_uploaded = True
            proof.reads.clear()
        elif event == "read accepted":
            self.accepted(seen, proof, data["target"])
            proof.frozen = data["target"]
        elif event == "members read back":
            proof.read_back = proof.residents
            proof.reads.clear()
        elif event == "no container changed":
            proof.skipped = True
            self.skipped(seen, proof)
        elif event == "report" and data["outcome"] == "ready":
            self.ready(seen, proof, data["target"])

    def accepted(self, seen: Seen[Proofs], proof: Proof, target: Target) -> None:
        """A read is frozen as the target."""

    def posted(self, seen: Seen[Proofs], proof: Proof) -> None:
        """A reconcile is sent."""

    def skipped(self, seen: Seen[Proofs], proof: Proof) -> None:
        """Reconciling is skipped."""

    def ready(self, seen: Seen[Proofs], proof: Proof, target: Target | None) -> None:
        """The deploy is called ready, with a claimed target or without."""


def take_in(proof: Proof, answer: Answer) -> None:
    """Take in what a runner was answered."""
    method = answer.call.method
    if method == "upload" and answer.is_granted:
        lines = [
            line
            for line in answer.value["announcements"]
            if line["application"] == APPLICATION and line["change"] is not None
        ]
        if len(lines) == 1:
            proof.change, proof.printed = lines[0]["change"], lines[0]["image"]
    elif method == "read_application":
        proof.reads.append(answer.value if answer.is_granted else None)
    elif method == "fetch":
        request, (status, body) = asked(answer.call), answered(answer)
        if request is not None and request.path == "/reconcile":
            proof.reconciled = body if status == 200 else {}
        elif request is not None and request.path == "/residents" and status == 200:
            proof.residents = body


class TargetIsProved(OfProofs):
    """The runner's frozen target comes from an authenticated post read that satisfies the mode's
    table, and never changes afterwards.
    """

    name = "INV-85"

    def accepted(self, seen: Seen[Proofs], proof: Proof, target: Target) -> None:
        """It was read after the upload, once, and is the planned image where one is planned."""
        del seen
        assert proof.frozen is None, "a target was frozen a second time"
        is_read = proof.is_uploaded and proof.reads[-1:] == [target]
        assert is_read, "the frozen target was not read after the upload"
        if proof.registry_mode and proof.image is not None:
            said = f"{target['image']} was frozen, and {proof.image} is planned"
            assert target["image"] == proof.image, said
        assert target["application"] == APPLICATION, "another application was frozen"

    def posted(self, seen: Seen[Proofs], proof: Proof) -> None:
        """Every reconcile is for the frozen one."""
        del seen
        assert proof.posted[-1] == proof.frozen, "a reconcile is for another target than was frozen"


class OldNeedsProof(OfProofs):
    """A build-mode target equal to the pre-upload one is accepted only with an own no-change hint
    and identical reads; a no-change hint accepts no other read.
    """

    name = "INV-86"

    def accepted(self, seen: Seen[Proofs], proof: Proof, target: Target) -> None:
        """The old target is proved by the own line and nothing else."""
        del seen
        if not proof.registry_mode and target == proof.pre:
            assert proof.change is False, "the old target was frozen, and no own line says so"
        if proof.change is False:
            assert target == proof.pre, "no change was printed, and another target was frozen"


class ChangeIsLater(OfProofs):
    """With a printed container change the accepted version is greater than the pre version."""

    name = "INV-87"

    def accepted(self, seen: Seen[Proofs], proof: Proof, target: Target) -> None:
        """And its image is what was printed, if one was."""
        del seen
        if proof.change is True:
            assert proof.pre is not None
            later = target["version"] > proof.pre["version"]
            assert later, f"a change was printed, and version {target['version']} was frozen"
            is_printed = proof.printed in (None, target["image"])
            assert is_printed, f"{proof.printed} was printed, and {target['image']} was frozen"


class ReadyIsReadBack(OfProofs):
    """Ready is reported only after response, every member readback and a final native read equal
    the frozen target (or the skip rule held and the final read is unchanged).
    """

    name = "INV-88"

    def ready(self, seen: Seen[Proofs], proof: Proof, target: Target | None) -> None:
        """The last answers of all three say so."""
        assert proof.reads[-1:] == [proof.frozen], "the final read is another target"
        rows = [table(row) for row in proof.read_back.get("residents", ())]
        assert len(rows) == len(seen.log.rows("resident:")), "not every member was read back"
        for row in rows:
            live = table(row.get("live"))
            name = row.get("resource")
            assert live.get("imageReport") == "current", f"{name} was not read back as current"
            if not proof.skipped:
                read = (live.get("imageBuild"), live.get("imageTarget"))
                assert read == (proof.build, proof.frozen), f"{name} was read back as {read}"
        if not proof.skipped:
            assert target == proof.frozen, "the claimed target is not the frozen one"
            said = [table(row) for row in proof.reconciled.get("reconciled", ())]
            verified = [row for row in said if row.get("verified") is True]
            assert len(verified) == len(rows), "not every member was verified by a reconcile"


class SkipClaimsNothing(OfProofs):
    """The skip path writes no progress and asserts no target."""

    name = "INV-89"

    def skipped(self, seen: Seen[Proofs], proof: Proof) -> None:
        """It takes identical reads, no printed change and every report current."""
        del seen
        assert proof.frozen == proof.pre, "reconciling was skipped, and the target has changed"
        assert proof.change is not True, "reconciling was skipped, and a change was printed"
        named = proof.registry_mode or proof.change is False
        assert named, "reconciling was skipped, and nothing says that nothing changed"
        for row in proof.residents.get("residents", ()):
            report = table(table(row).get("live")).get("imageReport")
            assert report == "current", f"reconciling was skipped, and a report is {report}"

    def posted(self, seen: Seen[Proofs], proof: Proof) -> None:
        """Nothing is reconciled after it."""
        del seen
        assert not proof.skipped, "a skipped reconcile was sent"

    def ready(self, seen: Seen[Proofs], proof: Proof, target: Target | None) -> None:
        """No target is claimed."""
        del seen
        assert not (proof.skipped and target is not None), "a target is claimed that was not read"


class ReconcileIsWhole(Check[None]):
    """`/reconcile` without complete target and build starts nothing."""

    name = "INV-90"
    level = 5
    sees = ("answer FleetRouter.fetch",)

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """What is granted was asked in full."""
        request, (status, _) = asked(seen.entry.data.call), answered(seen.entry.data)
        if request is None or request.path != "/reconcile" or status != 200:
            return
        if seen.log.level_of("FleetRouter") < self.level:
            return
        target = table(request.body.get("target"))
        parts = (request.body.get("build"), request.body.get("commit"), *target.values())
        whole = set(target) == {"application", "version", "image"} and None not in parts
        assert whole, "a reconcile without a whole build and target was granted"


READY: Final = (
    TargetIsProved(), OldNeedsProof(), ChangeIsLater(), ReadyIsReadBack(), SkipClaimsNothing(),
    ReconcileIsWhole(),
)  # fmt: skip
"""INV-85 to INV-90."""
