"""Who acts on a fleet in a story: runs with their owners, deploys, and the operator.

Whatever is not seen in commits and messages is noted: what a runner does, and what it reports.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs
import trio

from ...actors import ProgramRun
from ...actors.fleet import (
    DeployPlan,
    DeployRunner,
    Granted,
    OperatorRecovery,
    Outcome,
    TargetPlan,
    attempt,
)
from .fleet import BEARERS, Fleet
from .ground import Artifact
from .plane import APPLICATION, SimPlane

__all__ = ["Deploy", "Run", "begun", "deploy", "detached", "ended", "recover"]

HASH: Final = "0" * 64
WORKERS: Final = ("resident",)
TRIES_MAX: Final = 12


@attrs.frozen
class Run:
    """One agent execution and its exact owner.

    Attributes:
        run_id: of the run.
        thread: whose workspace it works in.
        resource: of the member.
        generation, fence: the rest of the owner triple.
    """

    run_id: str
    thread: str
    resource: str = "repo:o/a"
    generation: int = 1
    fence: int = 1

    @property
    def triple(self) -> tuple[str, int, int]:
        """The owner as members are told it."""
        return self.run_id, self.generation, self.fence

    def document(self) -> dict[str, Any]:
        """Return what is noted of it: who really lives is known to stories alone."""
        return {
            "runId": self.run_id,
            "ownerGen": self.generation,
            "ownerFence": self.fence,
            "thread": self.thread,
            "resource": self.resource,
        }


async def begun(fleet: Fleet, run: Run, *, who: str = "bot", work: str = "") -> Outcome[Any]:
    """Make *run* live, attach it, and let it do *work*; returns how the attach ended."""
    fleet.ground.note("run begins", run.document())
    await surely(
        lambda: fleet.ledger(who).put_live(run.run_id, run.thread, run.generation, run.fence)
    )
    origin = {"actor": who, "request": f"attach {run.run_id}"}
    member = fleet.resident(who, run.resource)
    attached: Outcome[Any] = await attempt(member.attach(run.thread, *run.triple, origin))
    if work:
        origin = {"actor": who, "request": f"work {run.run_id}"}
        await attempt(member.exec(run.thread, *run.triple, origin, work))
    return attached


async def ended(fleet: Fleet, run: Run, status: str = "completed", *, who: str = "bot") -> None:
    """Let *run* end; its registration stays."""
    fleet.ground.note("run ends", run.document())
    await surely(
        lambda: fleet.ledger(who).put_terminal(
            run.run_id, run.thread, run.generation, status, owner_fence=run.fence
        )
    )


async def detached(fleet: Fleet, run: Run, *, who: str = "bot") -> Outcome[Any]:
    """Ask that the registration of *run* be given back; returns how that ended."""
    origin = {"actor": who, "request": f"detach {run.run_id}"}
    member = fleet.resident(who, run.resource)
    return await attempt(member.detach(run.thread, *run.triple, origin))


async def surely(call: Callable[[], Awaitable[Any]]) -> None:
    """Say something to the ledger until it has heard: saying it twice changes nothing."""
    for _ in range(TRIES_MAX):
        if isinstance(await attempt(call()), Granted):
            return
        await trio.sleep(1)


@attrs.frozen
class Deploy:
    """A deploy that was started.

    Attributes:
        runner: its program, which has the report at the end.
        run: how it stands.
        steps: what it has done so far.
    """

    runner: DeployRunner
    run: ProgramRun
    steps: list[tuple[str, Mapping[str, Any]]]

    async def report(self) -> dict[str, Any]:
        """Wait for the end, and return the report; empty if the runner was killed."""
        await self.run.ended()
        return {} if self.runner.report is None else self.runner.report.wire()


def deploy(
    fleet: Fleet,
    artifact: Artifact,
    *,
    who: str = "runner",
    build_mode: bool = False,
    image: str | None = None,
    force: bool = False,
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> Deploy:
    """Start a deploy of *artifact*.

    *image* is what registry mode plans, by default the artifact's own or what is selected now.
    """
    planned = image or artifact.image or fleet.ground.application(APPLICATION).image
    target = (
        TargetPlan("build", APPLICATION)
        if build_mode
        else TargetPlan("registry", APPLICATION, planned)
    )
    plan = DeployPlan(
        target=target, build=artifact.stamp, workers=WORKERS, profile_sha256=HASH,
        config_sha256=HASH, force=force, by=who,
    )  # fmt: skip
    steps: list[tuple[str, Mapping[str, Any]]] = []

    def log(event: str, fields: Mapping[str, Any]) -> None:
        steps.append((event, fields))
        fleet.ground.note("runner", {"by": who, "event": event, **fields})

    runner = DeployRunner(
        plan, SimPlane, drain_bearer=BEARERS.drain, read_bearer=BEARERS.read, prepare=prepare,
        log=log,
    )  # fmt: skip
    fleet.ground.note(
        "deploy",
        {"by": who, "force": force, "mode": target.mode, "image": artifact.image,
         "artifact": artifact.stamp.artifact_id},
    )  # fmt: skip
    return Deploy(runner, fleet.world.start(runner, who), steps)


async def recover(fleet: Fleet, permit: str, *, who: str = "operator") -> dict[str, Any]:
    """Recover *permit* as an admin with an honest receipt; returns how it ended."""
    link = f"https://evidence.example/{permit}"
    program = OperatorRecovery(BEARERS.admin, permit, link)
    await fleet.world.start(program, who).ended()
    report = program.report
    return {} if report is None else {"outcome": report.outcome, "code": report.code}
