"""The native control plane and the containers as services: objects on a machine of their own.

Calls to them cross the wire and can be lost, as any call can; what they do is done to the ground,
which no crash takes back. The adapters meet the ports of the fleet with their stubs.
"""

from typing import Any, cast

from ...actors import DurableObject, Objects
from ...actors.fleet import Activity, Announcement, Granted, ImageTarget, UploadReply, attempt
from .ground import Artifact, Container, Ground, Workspace

__all__ = ["APPLICATION", "PLANE", "NativeContainer", "NativePlane", "SimContainers", "SimPlane"]

APPLICATION = "fleet-containers"
"""Name of the container application of every member."""
PLANE = "account"
"""Name of the one plane."""
TELL_AFTER_S = (1, 5, 10, 30, 60)
"""Seconds before each try to tell a member of a new boot: it is told at least once, as a rule."""
PATIENCE_S = 7_200.0
"""How long a caller waits for native work, which takes what it takes."""


def ground_of(native: DurableObject) -> Ground:
    """Return what *native* acts upon."""
    return cast(Ground, native.env["ground"])


class NativePlane(DurableObject, name="NativePlane"):
    """Worker versions and container applications of one account."""

    async def read_application(self, name: str) -> dict[str, Any]:
        """Return the application as it is listed."""
        ground = ground_of(self)
        if ground.reads_fail:
            raise RuntimeError("the application cannot be read")
        return ground.listed(name).wire()

    async def upload(self, workers: list[str], build: dict[str, Any]) -> dict[str, Any]:
        """Make the build active, then process its container part: two steps, no transaction."""
        ground = ground_of(self)
        artifact = ground.artifacts[build["artifactId"]]
        await self.sleep(ground.upload_s)
        uploaded = ground.activate(artifact, str(self.uuid()))
        await self.sleep(ground.containers_s)
        if ground.containers_fail:
            raise RuntimeError("the container part failed")
        changed = artifact.image is not None and ground.select(APPLICATION, artifact.image)
        return {
            "version": uploaded.id,
            "workers": workers,
            "announcements": announced(ground, artifact, changed=changed),
        }


def announced(ground: Ground, artifact: Artifact, *, changed: bool) -> list[dict[str, Any]]:
    """Return the lines that the upload tool prints about applications."""
    image = artifact.image if changed else None
    line = {"application": APPLICATION, "change": changed, "image": image}
    if ground.announces == "no image":
        line["image"] = None
    elif ground.announces == "absent":
        return []
    elif ground.announces == "unrecognised":
        line = {"application": None, "change": None, "image": None}
    elif ground.announces == "foreign":
        line["application"] = "somebody-elses"
    return [line]


class NativeContainer(DurableObject, name="NativeContainer"):
    """The container of one physical member, by that member's name."""

    def _container(self) -> Container:
        return ground_of(self).containers[self.address.name]

    async def activity(self) -> dict[str, Any]:
        """Return what it is doing; starts nothing."""
        container = self._container()
        if container.probe_fails:
            raise RuntimeError("the probe printed rubbish")
        return container.document()

    async def stop(self, boot_id: str) -> None:
        """Stop the boot of that id; any other one stays."""
        if self._container().stop_fails:
            raise RuntimeError("the container did not stop")
        if self._container().boot_id == boot_id:
            ground_of(self).stop(self.address.name)

    async def start(self) -> dict[str, Any]:
        """Make sure that it runs; the member is told of a new boot."""
        container = self._container()
        if not container.running:
            ground_of(self).boot(self.address.name, f"boot-{self.uuid()}", APPLICATION)
            self.wait_until(self._tell_ready)
        return container.document()

    async def _tell_ready(self) -> None:
        container = self._container()
        boot_id = container.boot_id
        for pause_s in TELL_AFTER_S:
            await self.sleep(pause_s)
            if boot_id is None or boot_id != container.boot_id:
                return
            if isinstance(await attempt(self._member().container_ready(boot_id)), Granted):
                return

    def _member(self) -> Any:
        resident = ground_of(self).versions[-1].artifact.code.resident
        return self.objects.get(resident, self._container().resource, deadline_s=PATIENCE_S)

    async def hydrate(self) -> None:
        """Restore what a fresh boot needs. A stop meanwhile breaks it off."""
        container = self._container()
        boot_id = container.boot_id
        if not container.hydrated:
            await self.sleep(container.hydrate_s)
            self._require_boot(boot_id)
            ground_of(self).hydrate(self.address.name)

    async def provision(self, workspace: str) -> None:
        """Make the workspace; the container starts if it does not run."""
        await self.start()
        await self.hydrate()
        ground_of(self).provision(self.address.name, workspace)

    async def submit(
        self, operation: str, permit: str, workspace: str, work: str
    ) -> dict[str, Any]:
        """Do *work*: words `write`, `save`, `run:<seconds>` in their order.

        The member is told of the outcome by its own callback, whether or not anybody waits.
        """
        container, ground = self._container(), ground_of(self)
        if operation in container.begun:
            await self._ended(operation)
            raise RuntimeError(f"{operation} was submitted before")
        container.begun.add(operation)
        boot_id = container.boot_id
        doc = {"member": self.address.name, "operation": operation, "permitId": permit}
        ground.note(
            "native submit", {**doc, "workspace": workspace, "bootId": boot_id, "work": work}
        )
        if not container.running or workspace not in container.workspaces:
            ground.note("native outcome", {**doc, "outcome": "unknown"})
            raise RuntimeError(f"there is no workspace {workspace}")
        container.operations[operation] = workspace
        for word in work.split():
            await self._do(word, container.workspaces[workspace])
            if container.boot_id != boot_id or workspace not in container.workspaces:
                ground.note("native outcome", {**doc, "outcome": "unknown"})
                raise RuntimeError("the container was stopped")
        del container.operations[operation]
        ground.note("native outcome", {**doc, "outcome": "completed"})
        self.wait_until(lambda: self._member().native_outcome(operation, "completed"))
        return {"operation": operation, "printed": f"did {work}"}

    async def _ended(self, operation: str) -> None:
        """Wait for the end of *operation*, so that a copy of its request answers nothing first."""
        while operation in self._container().operations and self._container().running:
            await self.sleep(1)

    async def _do(self, word: str, tree: Workspace) -> None:
        if word.startswith("run:"):
            await self.sleep(float(word.removeprefix("run:")))
        elif word == "write":
            tree.private_files, tree.saved_remotely = True, False
        elif word == "save":
            tree.saved_remotely = True

    async def is_preserved(self, workspace: str) -> bool:
        """Whether everything in the workspace exists elsewhere too."""
        tree = self._container().workspaces.get(workspace)
        return tree is None or not tree.is_only_copy

    async def remove(self, workspace: str) -> None:
        """Remove the workspace for good."""
        ground_of(self).remove(self.address.name, workspace)

    def _require_boot(self, boot_id: str | None) -> None:
        if boot_id is None or self._container().boot_id != boot_id:
            raise RuntimeError("the container was stopped")


class SimPlane:
    """`ControlPlane` by stubs."""

    def __init__(self, objects: Objects) -> None:
        """Reach the plane by *objects*, those of whoever uses it."""
        self._plane = objects.get(NativePlane, PLANE)
        self._patient = objects.get(NativePlane, PLANE, deadline_s=PATIENCE_S)

    async def read_application(self, name: str) -> ImageTarget:
        """As `ControlPlane.read_application`.

        Raises:
            ValueError: what was read has not the form of an application. Nothing changed.
        """
        target = ImageTarget.parse(await self._plane.read_application(name))
        if target is None:
            raise ValueError(f"the application {name} cannot be understood")
        return target

    async def upload(self, workers: tuple[str, ...], build: dict[str, Any]) -> UploadReply:
        """As `ControlPlane.upload`."""
        raw = await self._patient.upload(list(workers), build)
        lines = tuple(
            Announcement(line["application"], line["change"], line["image"])
            for line in raw["announcements"]
        )
        return UploadReply(raw["version"], lines)


class SimContainers:
    """`Containers` by stubs."""

    def __init__(self, objects: Objects, member: str) -> None:
        """Reach the container of the physical *member* by *objects*."""
        self._container = objects.get(NativeContainer, member)
        self._patient = objects.get(NativeContainer, member, deadline_s=PATIENCE_S)

    async def activity(self) -> Activity:
        """As `Containers.activity`."""
        return activity_of(await self._container.activity())

    async def stop(self, boot_id: str) -> None:
        """As `Containers.stop`."""
        await self._container.stop(boot_id)

    async def start(self) -> Activity:
        """As `Containers.start`."""
        return activity_of(await self._container.start())

    async def hydrate(self) -> None:
        """As `Containers.hydrate`."""
        await self._patient.hydrate()

    async def provision(self, workspace: str) -> None:
        """As `Containers.provision`."""
        await self._patient.provision(workspace)

    async def submit(self, operation: str, permit: str, workspace: str, work: str) -> Any:
        """As `Containers.submit`."""
        return await self._patient.submit(operation, permit, workspace, work)

    async def is_preserved(self, workspace: str) -> bool:
        """As `Containers.is_preserved`."""
        return await self._container.is_preserved(workspace)

    async def remove(self, workspace: str) -> None:
        """As `Containers.remove`."""
        await self._container.remove(workspace)


def activity_of(raw: dict[str, Any]) -> Activity:
    """Return what a probe printed."""
    return Activity(raw["running"], raw["bootId"], raw["startedAt"], raw["processes"])
