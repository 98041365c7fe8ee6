"""Runs for real: the same router, objects and process in an embedded host on files."""

import json
from pathlib import Path
from typing import Any

import pytest

from durasim.actors import WebRequest
from durasim.actors.runs import (
    OPERATIONS,
    Operations,
    RunRouter,
    RunsDeployment,
    Secrets,
)
from durasim.hosts import EmbeddedHost

from .stage import ADMIN, CALLERS, IDENTITY, WAYS, WORKFLOWS, Topology, told


class Outside:
    """Effects that are kept in a list."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, object]] = []

    def note(self, kind: str, value: object = None) -> None:
        """Keep one effect."""
        self.notes.append((kind, value))


def deployment(topology: Topology, design: Any) -> RunsDeployment:
    """Return a deployment without a world."""
    return RunsDeployment(
        workflows=WORKFLOWS,
        secrets=Secrets(identity=IDENTITY, maintenance_admin=ADMIN),
        fence="database",
        reservations="database",
        authenticate=CALLERS.get,
        design=design,
        topology=topology,
    )


@pytest.mark.parametrize(("topology", "design"), WAYS)
async def test_a_drain_and_a_reopening_in_a_host_on_files(
    tmp_path: Path, topology: Topology, design: str
) -> None:
    """A key that was refused runs once after the reopening, also by a host that came later."""
    outside = Outside()
    env = {"runs": deployment(topology, design), "ledger": outside}

    def opened() -> EmbeddedHost:
        return EmbeddedHost(tmp_path / "objects.db", env=env, database=tmp_path / "shared.db")

    async def send(host: EmbeddedHost, path: str, body: dict[str, Any], who: str = "ann") -> Any:
        request = WebRequest(
            "POST", path, json.dumps(body).encode(), {"authorization": f"Bearer {who}"}
        )
        return told(await host.worker(RunRouter).fetch(request))

    start = {"workflowId": "order", "idempotencyKey": "k1"}
    async with opened() as host:
        await host.get(Operations, OPERATIONS).provision("open")
        fence = {"expected": "open", "next": "draining"}
        assert (await send(host, "/admin/execution-fence", fence, ADMIN))[0] == 200
        status, refused = await send(host, "/runs", start)
        assert (status, refused["reason"]["code"]) == (503, "EXECUTION_FENCED")
        assert outside.notes == []
    async with opened() as host:
        fence = {"expected": "draining", "next": "open"}
        assert (await send(host, "/admin/execution-fence", fence, ADMIN))[0] == 200
        status, summary = await send(host, "/runs", start)
        assert (status, summary["status"]) == (200, "success")
        assert await send(host, "/runs", start) == (200, summary)
    assert outside.notes == [("charged", summary["runId"])]
