"""What a deploy is to do, and what it says at its end.

A report claims what was read, at the instant it was read, and no more (INV-104). Source:
spec/deploy-fence.md C.6, A.7.
"""

from typing import Any, Final, Literal

import attrs

from .codes import CODES
from .identities import BuildStamp, ImageTarget
from .machines import Edge, Machine
from .targets import TargetPlan

__all__ = ["RUNNER_MACHINE", "DeployFailed", "DeployPlan", "DeployReport"]

Row = Edge[None]
BEFORE_UPLOAD: Final = "PLANNED DRAINED PREPARED CHECKED FENCE_READ"
AFTER_UPLOAD: Final = (
    "UPLOADED SERVING TARGET_FROZEN SKIPPED RECONCILED READ_BACK FINAL_READ UNDRAIN_ASKED"
)

RUNNER_MACHINE: Final = Machine[None](
    "deploy runner",
    tuple(f"{BEFORE_UPLOAD} UPLOAD_SENT {AFTER_UPLOAD} READY UNVERIFIED FAILED".split()),
    (
        Row("PLANNED", "drain lives", "DRAINED"),
        Row("DRAINED", "prepared, application read", "PREPARED"),
        Row("PREPARED", "check A", "CHECKED", effect="20 min remain on the own clock"),
        Row("CHECKED", "verdict", "FENCE_READ", effect="ready, or forced"),
        Row("CHECKED", "refused attempt", "PREPARED", effect="waits for the next attempt"),
        Row("FENCE_READ", "check B, upload sent", "UPLOAD_SENT", effect="the one upload"),
        Row("UPLOAD_SENT", "uploaded", "UPLOADED"),
        Row("UPLOAD_SENT", "uncertain", "UNVERIFIED", effect="stops; reads only"),
        Row("UPLOADED", "source served", "SERVING"),
        Row("SERVING", "read accepted", "TARGET_FROZEN"),
        Row("TARGET_FROZEN", "no container changed", "SKIPPED", effect="claims no target"),
        Row("TARGET_FROZEN", "all verified", "RECONCILED"),
        Row("SKIPPED RECONCILED", "members read back", "READ_BACK"),
        Row("READ_BACK", "application as frozen", "FINAL_READ"),
        Row("FINAL_READ", "own fence stands", "UNDRAIN_ASKED", effect="asks undrain"),
        Row("UNDRAIN_ASKED", "lifted or asked", "READY"),
        Row(f"{BEFORE_UPLOAD} UPLOAD_SENT {AFTER_UPLOAD}", "failed", "FAILED"),
    ),
)
"""E.7: no row leads from UPLOAD_SENT back to where an upload is sent."""


@attrs.frozen(kw_only=True)
class DeployPlan:
    """One deploy.

    Attributes:
        target: what containers are to run.
        build: what is uploaded; its commit is the source.
        workers: names of the Workers that are uploaded, and of no other (L, operation 10).
        profile_sha256: of the deployment profile, canonically.
        config_sha256: of the application's configuration, canonically.
        force: whether a verdict that is not ready is a warning; never on normal staging.
        by: who deploys, as the drain says it.
        reason: why, as the drain says it.
    """

    target: TargetPlan
    build: BuildStamp
    workers: tuple[str, ...]
    profile_sha256: str
    config_sha256: str
    force: bool = False
    by: str = "deploy runner"
    reason: str = "deploy"


@attrs.frozen(kw_only=True)
class DeployReport:
    """How a deploy ended.

    Attributes:
        outcome: "ready"; "failed", for a reason; "unverified": the upload may have landed.
        code: why it is not ready; None if it is.
        detail: for people.
        version: Worker version that the upload answered; None if none was.
        target: that every member was read at; None if none is claimed.
        read_at: when the application was read last, milliseconds by the runner's clock.
        warnings: refusals that force went over, and a lift of which nobody can tell.
    """

    outcome: Literal["ready", "failed", "unverified"]
    code: str | None = None
    detail: str = ""
    version: str | None = None
    target: ImageTarget | None = None
    read_at: int | None = None
    warnings: tuple[str, ...] = ()

    def wire(self) -> dict[str, Any]:
        """Return it as a document."""
        return {
            "outcome": self.outcome,
            "code": self.code,
            "detail": self.detail,
            "version": self.version,
            "target": None if self.target is None else self.target.wire(),
            "readAt": self.read_at,
            "warnings": list(self.warnings),
        }


class DeployFailed(Exception):
    """A deploy is not ready. The code says what is true; no step that is behind is done again."""

    def __init__(self, code: str, detail: str = "") -> None:
        """Fail with *code*, a row of `CODES`."""
        super().__init__(f"{code}: {detail or CODES[code].truth}")
        self.code = code
        self.detail = detail or CODES[code].truth
