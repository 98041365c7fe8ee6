"""The fleet for real: Registry, members, ledger and router in an embedded host on a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from durasim.actors import WebRequest
from durasim.actors.fleet import (
    Activity,
    Bearers,
    BuildStamp,
    FleetDeployment,
    FleetRouter,
    Granted,
    Outcome,
    Producer,
    Refused,
    RunLedger,
    Scope,
    StateWorker,
    WorkerVersion,
    answered,
)
from durasim.hosts import EmbeddedHost

BEARERS = Bearers(admin="a" * 32, drain="d" * 32, read="r" * 32, operator="o" * 32)
A = "repo:o/a"
MINUTE_MS = 60_000
IMAGE = {"application": "app", "version": 2, "image": "image:2"}


@attrs.define
class LocalContainer:
    """`Containers` of one member in this process: what it was told to do, it has done."""

    boots: int = 0
    running: bool = False
    works: list[tuple[str, str]] = attrs.field(factory=list[tuple[str, str]])
    workspaces: set[str] = attrs.field(factory=set[str])

    async def activity(self) -> Activity:
        """As the port."""
        boot = f"boot-{self.boots}" if self.running else None
        return Activity(self.running, boot, 1 if self.running else None)

    async def stop(self, boot_id: str) -> None:
        """As the port."""
        self.running = self.running and boot_id != f"boot-{self.boots}"

    async def start(self) -> Activity:
        """As the port."""
        self.boots += not self.running
        self.running = True
        return await self.activity()

    async def hydrate(self) -> None:
        """As the port."""

    async def provision(self, workspace: str) -> None:
        """As the port."""
        self.workspaces.add(workspace)

    async def submit(self, operation: str, permit: str, workspace: str, work: str) -> Any:
        """As the port."""
        del operation, permit
        self.works.append((workspace, work))
        return f"did {work}"

    async def is_preserved(self, workspace: str) -> bool:
        """As the port."""
        del workspace
        return True

    async def remove(self, workspace: str) -> None:
        """As the port."""
        self.workspaces.discard(workspace)


class Site:
    """One directory with a fleet in it, whose Worker can be replaced by a newer one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.container = LocalContainer()
        self.uploads = 0

    def opened(self, *, uploaded_at: int) -> EmbeddedHost:
        """Open the host, with the Worker that was uploaded then."""
        self.uploads += 1
        number = self.uploads
        producer = Producer(
            WorkerVersion(f"00000000-0000-4000-8000-{number:012x}", uploaded_at),
            BuildStamp(f"{number:040x}", uploaded_at, f"build-{number}"),
        )
        deployment = FleetDeployment(
            producer=producer,
            bearers=BEARERS,
            containers=lambda objects, member: self.container,  # noqa: ARG005
        )
        classes = (StateWorker, RunLedger)
        return EmbeddedHost(self.folder / "objects.db", classes=classes, env={"fleet": deployment})


async def ask(
    host: EmbeddedHost, method: str, path: str, scope: Scope, body: Any = None
) -> Outcome[Mapping[str, Any]]:
    """Send a request with the credential of *scope*."""
    headers = {"authorization": f"Bearer {getattr(BEARERS, scope)}"}
    request = WebRequest(method, path, body, headers)
    return await answered(host.worker(FleetRouter).fetch(request))


def request_of(number: int, **rest: Any) -> dict[str, Any]:
    """Return the body of a bot's request."""
    return {
        "resource": A, "thread": "t1", "runId": "r1", "ownerGen": 1, "ownerFence": 1,
        "origin": {"actor": "bot", "request": str(number)}, **rest,
    }  # fmt: skip


async def test_a_fleet_is_closed_replaced_and_reconciled_on_a_file(tmp_path: Path) -> None:
    """A run works and ends; the fence refuses the next; a newer Worker reconciles and lifts it."""
    site = Site(tmp_path)
    async with site.opened(uploaded_at=1) as host:
        onboard = {"resource": A, "physicalMember": "member-1", "origin": {"request": "0"}}
        assert isinstance(await ask(host, "POST", "/onboard", "admin", onboard), Granted)
        ledger = host.get(RunLedger, "runs")
        await ledger.put_live("r1", "t1", 1, 1)
        attach = await ask(host, "POST", "/attach", "operator", request_of(1, user="ann"))
        assert isinstance(attach, Granted)
        worked = await ask(host, "POST", "/exec", "operator", request_of(2, work="build"))
        assert isinstance(worked, Granted)
        assert site.container.works == [("t1", "build")]
        await ledger.put_terminal("r1", "t1", 1, "completed", 1)
        assert isinstance(await ask(host, "POST", "/detach", "operator", request_of(3)), Granted)
        assert isinstance(await ask(host, "POST", "/drain", "drain", {"minutes": 90}), Granted)
        fence = await ask(host, "POST", "/deploy-fence", "drain")
        assert isinstance(fence, Granted)
        assert fence.value["fenceReady"] is True
        refused = await ask(host, "POST", "/attach", "operator", request_of(4, user="ann"))
        assert isinstance(refused, Refused)
        assert refused.code == "FENCED"
        early = await ask(host, "POST", "/undrain", "drain", {})
        assert isinstance(early, Refused)
        assert early.code == "PRE_UPLOAD_WORKER"
        at = int(fence.value["draining"]["swapAt"]) + MINUTE_MS
    async with site.opened(uploaded_at=at) as host:
        order = {"protocol": 2, "build": "build-2", "commit": f"{2:040x}", "target": IMAGE}
        results: list[Any] = []
        for _ in range(3):
            said = await ask(host, "POST", "/reconcile", "drain", order)
            assert isinstance(said, Granted)
            (row,) = said.value["reconciled"]
            results.append((row["result"], row["verified"]))
        assert results == [("restarted", False), ("inactive", True), ("current", True)]
        assert isinstance(await ask(host, "POST", "/undrain", "drain", {}), Granted)
        again = await ask(host, "POST", "/attach", "operator", request_of(5, user="ann"))
        assert isinstance(again, Granted)
        assert site.container.boots == 2
