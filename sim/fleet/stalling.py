"""Mutants that keep a deploy, a member or an operator from going on, or mix identities up."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from typing import Any, Final

from ...actors.fleet import BuildStamp, DeployRunner, Registry, fencing, images, plans, preflight
from ..mutants import Mutant
from .deploying import debt_and_recovery, deploy_with_outage, ordinary_deploy, retained_over_image

__all__ = ["FLEET", "STALLING"]

FLEET: Final = "durasim.actors.fleet"

right_accepted = DeployRunner._accepted
right_quote = Registry.quote_admission
right_stamp = BuildStamp.wire
right_decide = images.decide


def unknown_is_final(
    self: DeployRunner, found: preflight.Verdict | preflight.NotReady
) -> preflight.Verdict | None:
    """Give up at the first reading that is not ready."""
    if isinstance(found, preflight.Verdict) and not found.is_ready:
        raise plans.DeployFailed("FENCE_NOT_READY", found.problem)
    return right_accepted(self, found)


async def audit_not_readable(self: Registry, permit_id: str) -> dict[str, Any]:
    """Show nothing of a recovery."""
    found = await right_quote(self, permit_id)
    return {**found, "evidence": {**found["evidence"], "recovered": None}}


async def refusal_keeps_fence(context: Any, fence_id: str) -> fencing.Readback:
    """Leave the fence to the end of the drain, and say that nothing is known of it."""
    del context, fence_id
    return fencing.Readback("withdraw-uncertain", "not-attempted")


def commit_from_artifact_id(self: BuildStamp) -> dict[str, Any]:
    """Take the beginning of the artifact id for the commit."""
    return {**right_stamp(self), "commit": self.artifact_id[:40]}


def other_target_waits(marker: Any, progress: Any, build: str, target: Any) -> images.ImageDecision:
    """Wait for whatever report is owed."""
    decision = right_decide(marker, progress, build, target)
    return "RETRY_CYCLE" if decision == "PENDING_OTHER_TARGET" else decision


STALLING: Final = (
    Mutant(
        "unknown_is_final", f"{FLEET}.runner:DeployRunner._accepted", unknown_is_final,
        deploy_with_outage, ("LIV-04",), needs_fault=False,
        parameters={"minutes": 9, "named": None},
    ),
    Mutant(
        "audit_not_readable", f"{FLEET}.registry:Registry.quote_admission", audit_not_readable,
        debt_and_recovery, ("LIV-11",), needs_fault=False,
    ),
    Mutant(
        "refusal_keeps_fence", f"{FLEET}.fencing:take_back", refusal_keeps_fence, ordinary_deploy,
        ("LIV-14",), needs_fault=False, parameters={"image": None, "minutes": 3, "late": False},
    ),
    Mutant(
        "commit_from_artifact_id", f"{FLEET}.identities:BuildStamp.wire", commit_from_artifact_id,
        deploy_with_outage, ("INV-76",), needs_fault=False,
        parameters={"minutes": 1, "named": "0" * 39 + "1-2026-01-01"},
    ),
    Mutant(
        "other_target_waits", f"{FLEET}.images:decide", other_target_waits, retained_over_image,
        ("INV-79", "LIV-09"), needs_fault=False,
    ),
)  # fmt: skip
"""Found by progress and by identity."""
