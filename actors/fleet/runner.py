"""`DeployRunner`: one ordinary deploy, from its drain to its report (OP-38).

It keeps its plan in memory and can die at any line: what it leaves behind ends with the drain. It
uploads at most once, deletes nothing, and settles nobody's permit. Source: spec/deploy-fence.md
C.6, E.7.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ..objects import Objects
from ..program import Program
from ..worker import WebRequest
from .bounds import (
    ATTEMPT_PAUSE_MS,
    CYCLE_BOUND_MS,
    DRAIN_MINUTES_MAX,
    QUIET_WAIT_MS,
    RESERVE_MS,
    milliseconds,
)
from .documents import as_int, as_mapping, as_text
from .identities import ImageTarget
from .native import Announcement, ControlPlane, UploadReply
from .outcomes import Granted, Outcome, Refused, answered, attempt
from .plans import RUNNER_MACHINE, DeployFailed, DeployPlan, DeployReport
from .preflight import NotReady, Verdict, preflight
from .readiness import (
    conflict_of,
    fence_stands,
    is_fleet_current,
    is_lifted,
    member_problems,
    reconcile_problems,
)
from .router import FleetRouter
from .targets import acceptance, accepts, is_skippable, own_announcement

__all__ = ["DeployRunner"]

READ_PAUSE_MS: Final = 10_000
"""Between two reads after the upload: often enough for a list that lags by seconds."""
ROUTE_CALL_S: Final = 120.0
"""Seconds to wait for a route: longer than what stands behind it waits for its own calls."""

FINAL: Final = frozenset(
    "RECONCILE_CALLER_INCOMPATIBLE BUILD_MISMATCH SOURCE_MISMATCH UNAUTHORIZED NOT_FOUND".split()
)
"""Refusals of a reconcile that no repetition helps."""

Document = Mapping[str, Any]


class DeployRunner(Program):
    """Drain, wait for quiet, upload once, prove the target, lift.

    Attributes:
        state: of `RUNNER_MACHINE`.
        report: how it ended; None until then, and for ever if it was killed.
    """

    def __init__(
        self,
        plan: DeployPlan,
        plane: Callable[[Objects], ControlPlane],
        *,
        drain_bearer: str,
        read_bearer: str,
        prepare: Callable[[], Awaitable[None]] | None = None,
        log: Callable[[str, Document], None] | None = None,
    ) -> None:
        """Deploy *plan*.

        Args:
            plan: what to do.
            plane: from the stubs of a program to the control plane.
            drain_bearer: credential of drains.
            read_bearer: credential of reads.
            prepare: builds or copies images, inside of the wait for quiet.
            log: is told each step, for whoever watches.
        """
        self.state = "PLANNED"
        self.report: DeployReport | None = None
        self._plan = plan
        self._make_plane = plane
        self._bearers = {"drain": drain_bearer, "read": read_bearer}
        self._prepare = prepare
        self._tell = log
        self._drain_asked = False
        self._drain_at = 0
        self._until = 0
        self._drain_id: str | None = None
        self._version: str | None = None
        self._read_at: int | None = None
        self._warnings: list[str] = []

    # ---- the whole

    async def run(self) -> None:
        """Deploy, and leave the report."""
        try:
            target = await self._deploy()
        except DeployFailed as error:
            self.report = await self._failed(error)
        else:
            self.report = DeployReport(
                outcome="ready",
                version=self._version,
                target=target,
                read_at=self._read_at,
                warnings=tuple(self._warnings),
            )
        self._log("report", **self.report.wire())

    async def _deploy(self) -> ImageTarget | None:
        await self._drain()
        pre = await self._prepared()
        verdict = await self._quiet()
        reply = await self._upload(verdict)
        deadline = self._clock() + CYCLE_BOUND_MS
        await self._serving(verdict, deadline)
        own = own_announcement(reply.announcements, self._plan.target.application)
        frozen = await self._frozen(pre, own, deadline)
        target = await self._reconciled(verdict, pre, own, frozen, deadline)
        await self._read_back(verdict, target, deadline)
        await self._final_read(frozen, deadline)
        await self._lift(verdict, deadline)
        return target

    async def _failed(self, error: DeployFailed) -> DeployReport:
        is_open = self.state == "UNVERIFIED"
        if not is_open:
            self._go("failed")
            if self._drain_asked:
                await self._undrain()
        return DeployReport(
            outcome="unverified" if is_open else "failed",
            code=error.code,
            detail=error.detail,
            version=self._version,
            warnings=tuple(self._warnings),
        )

    # ---- before the upload

    async def _drain(self) -> None:
        self._drain_asked = True
        self._drain_at = self._clock()
        plan = self._plan
        body = {"minutes": DRAIN_MINUTES_MAX, "by": plan.by, "reason": plan.reason}
        outcome = await self._post("/drain", body)
        if isinstance(outcome, Refused):
            self._drain_asked = False
            raise DeployFailed(outcome.code, outcome.detail)
        said = outcome.value if isinstance(outcome, Granted) else await self._residents()
        seen = as_mapping((said or {}).get("draining")) or {}
        until = as_int(seen.get("until"))
        if until is None:
            raise DeployFailed("FENCE_UNAVAILABLE", "no live drain was seen")
        self._until, self._drain_id = until, as_text(seen.get("drainId"))
        self._go("drain lives", until=until)

    async def _prepared(self) -> ImageTarget:
        if self._prepare is not None:
            await self._prepare()
        outcome = await self._read_application()
        if not isinstance(outcome, Granted):
            raise DeployFailed("NATIVE_READ_UNAVAILABLE")
        self._go("prepared, application read", target=outcome.value.wire())
        return outcome.value

    async def _quiet(self) -> Verdict:
        """One attempt after the other, until one may upload or the wait is over."""
        while True:
            began = self._clock()
            self._check_reserve(self._until)
            self._go("check A")
            found = await preflight(self, self._bearers["drain"])
            verdict = self._accepted(found)
            if verdict is not None:
                self._drain_id = verdict.drain_id
                self._go("verdict", fenceId=verdict.fence_id, ready=verdict.is_ready)
                return verdict
            why = found.code if isinstance(found, NotReady) else found.problem
            self._go("refused attempt", why=why)
            if began >= self._drain_at + QUIET_WAIT_MS:
                raise DeployFailed("PREFLIGHT_GAVE_UP", why)
            await self.sleep(max(0, began + ATTEMPT_PAUSE_MS - self._clock()) / 1000)

    def _accepted(self, found: Verdict | NotReady) -> Verdict | None:
        """Return the verdict to upload on; force goes over one that is not ready, and no other."""
        if isinstance(found, NotReady):
            if found.is_final:
                raise DeployFailed(found.code, found.detail)
            return None
        if found.is_ready:
            return found
        if not self._plan.force:
            return None
        self._warnings.append(found.problem)
        return found

    def _check_reserve(self, until: int) -> None:
        """Refuse unless the reserve is left on the own clock, force or not (P48)."""
        at = self._clock()
        is_enough = until - at >= RESERVE_MS
        self._log("reserve", until=until, at=at, enough=is_enough)
        if not is_enough:
            raise DeployFailed("RESERVE_TOO_SMALL")

    async def _upload(self, verdict: Verdict) -> UploadReply:
        """Send the one upload: nothing lies between check B and the send."""
        plan = self._plan
        self._check_reserve(verdict.until)
        self._go("check B, upload sent")
        outcome = await attempt(self._plane.upload(plan.workers, plan.build.wire()))
        if isinstance(outcome, Refused):
            raise DeployFailed(outcome.code, "the upload was refused")
        if not isinstance(outcome, Granted):
            self._go("uncertain", why=outcome.why)
            raise DeployFailed("UPLOAD_UNVERIFIED", await self._what_serves())
        self._version = outcome.value.version
        self._go("uploaded", version=self._version)
        return outcome.value

    async def _what_serves(self) -> str:
        outcome = await self._get("/healthz")
        served = outcome.value.get("build") if isinstance(outcome, Granted) else "unreadable"
        return f"what answers now: {served}"

    # ---- after the upload

    async def _serving(self, verdict: Verdict, deadline: int) -> None:
        source = (self._plan.build.commit, self._plan.build.artifact_id)
        while True:
            outcome = await self._get("/healthz")
            if isinstance(outcome, Granted):
                said = as_mapping(outcome.value.get("build")) or {}
                version = outcome.value.get("workerVersion")
                is_source = (said.get("commit"), said.get("artifactId")) == source
                if is_source and version == self._version != verdict.worker_version:
                    return self._go("source served")
            await self._pause(deadline, "READBACK_MISMATCH", "the new source is not served")

    async def _frozen(
        self, pre: ImageTarget, own: Announcement | None, deadline: int
    ) -> ImageTarget:
        plan = self._plan.target
        while True:
            outcome = await self._read_application()
            if isinstance(outcome, Granted):
                if accepts(plan, own, pre, outcome.value):
                    self._go("read accepted", target=outcome.value.wire())
                    return outcome.value
                code = acceptance(plan.mode, own).otherwise
            else:
                code = "NATIVE_READ_UNAVAILABLE"
            await self._pause(deadline, code)

    async def _reconciled(
        self,
        verdict: Verdict,
        pre: ImageTarget,
        own: Announcement | None,
        frozen: ImageTarget,
        deadline: int,
    ) -> ImageTarget | None:
        """Return the target that may be claimed: None where no container has changed."""
        if is_skippable(self._plan.target, own, pre, frozen):
            body = await self._residents()
            if body is not None and is_fleet_current(body, verdict.members):
                self._go("no container changed")
                return None
        build = self._plan.build
        order = {
            "protocol": 2,
            "build": build.artifact_id,
            "commit": build.commit,
            "target": frozen.wire(),
        }
        while True:
            outcome = await self._post("/reconcile", order)
            problems = ["no answer"]
            if isinstance(outcome, Granted):
                code = conflict_of(outcome.value)
                if code is not None:
                    raise DeployFailed(code)
                problems = reconcile_problems(
                    outcome.value, verdict.members, build.artifact_id, frozen
                )
                if not problems:
                    self._go("all verified")
                    return frozen
            elif isinstance(outcome, Refused):
                if outcome.code in FINAL:
                    raise DeployFailed(outcome.code, outcome.detail)
                problems = [outcome.code]
            await self._pause(deadline, "READBACK_MISMATCH", "; ".join(problems))

    async def _read_back(self, verdict: Verdict, target: ImageTarget | None, deadline: int) -> None:
        build = self._plan.build.artifact_id
        while True:
            body = await self._residents()
            problems = ["unreadable"]
            if body is not None:
                problems = member_problems(body, verdict.members, build, target)
                if not problems:
                    return self._go("members read back")
            await self._pause(deadline, "READBACK_MISMATCH", "; ".join(problems))

    async def _final_read(self, frozen: ImageTarget, deadline: int) -> None:
        while True:
            outcome = await self._read_application()
            if isinstance(outcome, Granted):
                if outcome.value != frozen:
                    raise DeployFailed("TARGET_CHANGED")
                self._read_at = self._clock()
                return self._go("application as frozen")
            await self._pause(deadline, "NATIVE_READ_UNAVAILABLE")

    async def _lift(self, verdict: Verdict, deadline: int) -> None:
        """Ask undrain while this attempt's fence stands; without it nobody may say ready."""
        while verdict.is_ready:
            body = await self._residents()
            if body is not None:
                triple = (verdict.since, verdict.until, verdict.worker_version)
                if not fence_stands(body.get("draining"), verdict.fence_id, triple):
                    raise DeployFailed("FENCE_EXPIRED")
                break
            await self._pause(deadline, "FENCE_EXPIRED", "the drain cannot be read")
        self._go("own fence stands")
        was_sent = False
        while True:
            outcome = await self._undrain()
            if isinstance(outcome, Granted):
                if is_lifted(outcome.value) or was_sent:
                    return self._go("lifted or asked", reply=dict(outcome.value))
                raise DeployFailed("FENCE_EXPIRED", "there was no drain to lift")
            was_sent = was_sent or not isinstance(outcome, Refused)
            code = outcome.code if isinstance(outcome, Refused) else "UNDELIVERED"
            is_unknown = was_sent and code == "UNDELIVERED"
            if is_unknown and self._clock() + READ_PAUSE_MS > deadline:
                self._warnings.append("nobody can say whether the drain was lifted")
                return self._go("lifted or asked", reply="unknown")
            await self._pause(deadline, code)

    # ---- each call

    async def _undrain(self) -> Outcome[Document]:
        """Ask for the lift of the fence's drain, or else the own one; older drains have no name."""
        body = {} if self._drain_id is None else {"drainId": self._drain_id}
        return await self._post("/undrain", body)

    async def _residents(self) -> Document | None:
        outcome = await self._get("/residents")
        return outcome.value if isinstance(outcome, Granted) else None

    async def _get(self, path: str) -> Outcome[Document]:
        return await self._send("GET", path, {}, "read")

    async def _post(self, path: str, body: Document) -> Outcome[Document]:
        return await self._send("POST", path, body, "drain")

    async def _send(self, method: str, path: str, body: Document, scope: str) -> Outcome[Document]:
        router = self.objects.worker(FleetRouter, deadline_s=ROUTE_CALL_S)
        headers = {"authorization": f"Bearer {self._bearers[scope]}"}
        return await answered(router.fetch(WebRequest(method, path, dict(body), headers)))

    async def _read_application(self) -> Outcome[ImageTarget]:
        return await attempt(self._plane.read_application(self._plan.target.application))

    @property
    def _plane(self) -> ControlPlane:
        return self._make_plane(self.objects)

    async def _pause(self, deadline: int, code: str, detail: str = "") -> None:
        """Wait for the next read, unless the deadline that all of them share comes before it.

        Raises:
            DeployFailed: by *code*.
        """
        if self._clock() + READ_PAUSE_MS > deadline:
            raise DeployFailed(code, detail)
        await self.sleep(READ_PAUSE_MS / 1000)

    def _clock(self) -> int:
        """Return the deployment's own clock, in milliseconds since 1970."""
        return milliseconds(self.now())

    def _go(self, event: str, **fields: Any) -> None:
        edge = RUNNER_MACHINE.step(self.state, event, None)
        assert edge.next is not None
        self.state = edge.next
        self._log(event, **fields)

    def _log(self, event: str, **fields: Any) -> None:
        if self._tell is not None:
            self._tell(event, fields)
