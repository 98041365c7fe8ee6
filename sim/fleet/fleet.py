"""A fleet in a world: members, run ledger, router, native side, and who acts on it.

The fleet's one Worker runs on machines of its own (Registry, router, members), so that any of them
can die alone; an upload changes all of them over. The run ledger with its State Worker is another
Worker, and the native side is nobody's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ...actors import Address, DurableObject, Objects, WebRequest, WebResponse, Worker
from ...actors.fleet import (
    Bearers,
    BuildStamp,
    FleetDeployment,
    Outcome,
    Producer,
    Scope,
    WorkerVersion,
    answered,
)
from ...wire import encode
from ..machine import Machine
from ..world import World
from .ground import Artifact, Container, Ground, Uploaded
from .log import Log, log_of
from .plane import APPLICATION, NativeContainer, NativePlane, SimContainers

__all__ = ["BEARERS", "CodeLevel", "Fleet", "StateCode"]

BEARERS: Final = Bearers(admin="a" * 32, drain="d" * 32, read="r" * 32, operator="o" * 32)
PATIENCE_S: Final = 900.0
"""Longer than any handler takes: whoever asks learns what it has to say."""
FIRST_IMAGE: Final = "registry.example/fleet:1"


@attrs.frozen
class CodeLevel:
    """The classes of one level of the fleet's Worker (section H).

    Attributes:
        number: 0 to 5.
        registry, resident, router: its classes, whose stored names never change.
        capabilities: what its `/healthz` claims.
    """

    number: int
    registry: type[DurableObject]
    resident: type[DurableObject]
    router: type[Worker]
    capabilities: tuple[str, ...] = ()


@attrs.frozen
class StateCode:
    """The classes of the state Worker, which no deploy of the fleet touches."""

    ledger: type[DurableObject]
    worker: type[Worker]


class OutOfOrder(Worker, name="StateWorker"):
    """The state Worker while it is out of order."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer that nothing can be answered."""
        del request
        return WebResponse(503)


class Fleet:
    """One fleet that has been set up.

    Attributes:
        world: where it stands.
        ground: the native truth.
        log: the event log.
        members: physical member by resource, in order.
        machines: those of the fleet's Worker: "registry", "router", "members-1", ….
        native: where the native side answers; its truth is the ground's.
        state_machine: where the run ledger and the state Worker run.
    """

    def __init__(
        self,
        world: World,
        code: CodeLevel,
        state: StateCode,
        resources: Sequence[str] = ("repo:o/a", "repo:o/b"),
        *,
        machines: int = 2,
    ) -> None:
        """Set it up: *code* runs as the first version, every member is active and warm."""
        self.world = world
        self.ground = Ground(world)
        self.log: Log = log_of(world)
        self.log.ground = self.ground
        self.log.level_of = self._level_of
        self.state = state
        self.members = {resource: f"member-{n}" for n, resource in enumerate(resources, 1)}
        self._levels: dict[str, int] = {}
        self._builds = 0
        self.ground.on_upload = self._on_upload
        self.ground.select(APPLICATION, FIRST_IMAGE)
        first = self.artifact(code, image=None)
        uploaded = Uploaded(uuid_of(1), self.ground.now_ms, first)
        self.ground.versions.append(uploaded)
        self.native = world.machine(
            "native", (NativePlane, NativeContainer), env={"ground": self.ground}
        )
        self.machines = self._turn_on(uploaded, machines)
        self.state_machine = world.machine("state", (state.ledger, state.worker))
        for resource, member in self.members.items():
            self._settle(resource, member)

    # ---- deployed code

    @property
    def code(self) -> CodeLevel:
        """The level of the newest active version."""
        code: CodeLevel = self.ground.versions[-1].artifact.code
        return code

    def artifact(
        self,
        code: CodeLevel | None = None,
        *,
        image: str | None = None,
        commit: str | None = None,
        named: str | None = None,
    ) -> Artifact:
        """Build *code*, the deployed one by default: an artifact that the plane can upload.

        *named* is its artifact id, which may be any text and says nothing.
        """
        self._builds += 1
        number = self._builds
        stamp = BuildStamp(
            commit=commit or f"{number:040x}",
            built_at=self.ground.now_ms,
            artifact_id=named or f"build-{number}",
        )
        made = Artifact(stamp, code or self.code, image)
        self.ground.artifacts[stamp.artifact_id] = made
        return made

    def deployment(self, uploaded: Uploaded) -> FleetDeployment:
        """Return the bindings of *uploaded*."""
        artifact = uploaded.artifact
        code: CodeLevel = artifact.code
        version = WorkerVersion(uploaded.id, uploaded.at)
        return FleetDeployment(
            producer=Producer(version, artifact.stamp, code.capabilities),
            bearers=BEARERS,
            containers=self._containers,
            report=self._report,
        )

    def _report(self, code: str, fields: Mapping[str, Any]) -> None:
        self.ground.note("report", {"code": code, **fields})

    def upload(self, artifact: Artifact, *, machines: Sequence[str] | None = None) -> Uploaded:
        """Let *artifact* run at once, as an upload by somebody else does, or a rollback.

        *machines* are those that change over; all by default, and the others stay old.
        """
        version = uuid_of(len(self.ground.versions) + len(self.ground.partial) + 1)
        if machines is None:
            return self.ground.activate(artifact, version)
        uploaded = Uploaded(version, self.ground.now_ms, artifact)
        self.ground.partial.append(uploaded)
        for name in machines:
            self._swap(name, uploaded)
        return uploaded

    def _on_upload(self, uploaded: Uploaded) -> None:
        for name in self.machines:
            self._swap(name, uploaded)

    def _swap(self, name: str, uploaded: Uploaded) -> None:
        env = {"fleet": self.deployment(uploaded)}
        self._levels[name] = uploaded.artifact.code.number
        self.machines[name].deploy(classes_of(name, uploaded.artifact.code), env)

    def _turn_on(self, uploaded: Uploaded, members: int) -> dict[str, Machine]:
        env = {"fleet": self.deployment(uploaded)}
        code: CodeLevel = uploaded.artifact.code
        names = ("registry", "router", *(f"members-{n}" for n in range(1, members + 1)))
        self._levels = dict.fromkeys(names, code.number)
        return {name: self.world.machine(name, classes_of(name, code), env=env) for name in names}

    def _level_of(self, actor: str) -> int:
        kind, _, name = actor.partition("/")
        address = Address(kind, name)
        return self._levels.get(self.world.place(address).name, 5)

    def _containers(self, objects: Objects, member: str) -> SimContainers:
        return SimContainers(objects, self.members.get(member, member))

    def machine_of(self, resource: str) -> Machine:
        """Return the machine on which the member of *resource* runs."""
        return self.world.place(Address("Resident", resource))

    def break_state_worker(self) -> None:
        """Let the state Worker answer nothing but 503 from here on, as an outage does."""
        self.ground.note("state worker", {"answers": False})
        self.state_machine.deploy((self.state.ledger, OutOfOrder))

    def mend_state_worker(self) -> None:
        """End the outage."""
        self.state_machine.deploy((self.state.ledger, self.state.worker))
        self.ground.note("state worker", {"answers": True})

    # ---- what is there before the story

    def _settle(self, resource: str, member: str) -> None:
        self.ground.containers[member] = Container(resource)
        row = {
            "resource": resource,
            "physicalMember": member,
            "activation": "active",
            "onboardedAt": self.ground.now_ms,
        }
        self.store("Registry", "registry", {f"resident:{resource}": row})
        self.store("Resident", resource, {"state": "warm", "physicalMember": member})

    def store(self, kind: str, name: str, rows: Mapping[str, Any]) -> None:
        """Put *rows* into the storage of an object, as older code may have left them there.

        What runs already may remember otherwise: for the time before the story begins.
        """
        stored = self.world.disk.stored(Address(kind, name))
        for key, row in rows.items():
            stored.keys[key] = encode(row)
        self.log.load(kind, name, {**self.log.stored.get((kind, name), {}), **rows})

    # ---- who acts

    async def ask(
        self,
        who: str,
        method: str,
        path: str,
        body: Any = None,
        *,
        scope: Scope | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Outcome[Mapping[str, Any]]:
        """Send a request to the router as *who*, with the credential of *scope*."""
        token = None if scope is None else getattr(BEARERS, scope)
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        request = WebRequest(method, path, headers=headers, query=dict(query or {}), body=body)
        router = self.world.client(who).worker(self.code.router, deadline_s=PATIENCE_S)
        return await answered(router.fetch(request))

    def registry(self, who: str) -> Any:
        """Return a stub of the Registry for *who*."""
        return self.world.client(who).get(self.code.registry, "registry", deadline_s=PATIENCE_S)

    def resident(self, who: str, resource: str) -> Any:
        """Return a stub of the member of *resource* for *who*."""
        return self.world.client(who).get(self.code.resident, resource, deadline_s=PATIENCE_S)

    def ledger(self, who: str) -> Any:
        """Return a stub of the run ledger for *who*."""
        return self.world.client(who).get(self.state.ledger, "runs", deadline_s=PATIENCE_S)


def classes_of(machine: str, code: CodeLevel) -> tuple[type[DurableObject | Worker], ...]:
    """Return the classes of *code* that a machine of that name runs."""
    if machine == "registry":
        return (code.registry,)
    return (code.router,) if machine == "router" else (code.resident,)


def uuid_of(number: int) -> str:
    """Return the UUID of the *number*-th version that nobody's entropy drew."""
    return f"00000000-0000-4000-8000-{number:012x}"
