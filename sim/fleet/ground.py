"""What is really so: Worker versions, applications, containers, files. In the world's hands.

No actor of the fleet sees any of this but through the native ports, which may lag, fail and lie by
omission. Checkers compare what the fleet believes with it. Source: spec/deploy-fence.md B.2, B.5.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from ...actors.fleet import BuildStamp, ImageTarget
from ..machine import EPOCH_US
from ..world import World

__all__ = ["Announces", "Artifact", "Container", "Ground", "Uploaded", "Workspace"]

Announces = Literal["printed", "no image", "absent", "unrecognised", "foreign"]
"""What the upload tool prints about the container application."""


@attrs.frozen
class Artifact:
    """One build that can be uploaded.

    Attributes:
        stamp: what is compiled in.
        code: the level of its code, as the builder of the fleet knows it.
        image: of its container application; None leaves the application as it is.
    """

    stamp: BuildStamp
    code: Any
    image: str | None = None


@attrs.frozen
class Uploaded:
    """One Worker version, once it is active.

    Attributes:
        id: UUID of the version.
        at: milliseconds since 1970 by the platform's clock.
        artifact: what was uploaded.
    """

    id: str
    at: int
    artifact: Artifact


@attrs.define
class Workspace:
    """A working tree, as it is.

    Attributes:
        private_files: whether it holds anything that was never saved elsewhere, or was.
        saved_remotely: whether all that it holds exists elsewhere too.
        on_disk: whether the container has it now; what is saved comes back by hydration.
    """

    private_files: bool = False
    saved_remotely: bool = True
    on_disk: bool = True

    @property
    def is_only_copy(self) -> bool:
        """Whether to lose it is to lose something."""
        return self.private_files and not self.saved_remotely


@attrs.define
class Container:
    """The container of one physical member, as it is.

    Attributes:
        resource: which member's.
        running: whether there is a live one.
        boot_id: of the running kernel; None if there is none.
        image: that runs.
        started_at: milliseconds since 1970.
        hydrated: whether the boot has all that it needs.
        operations: of pool users, by id: their workspace.
        begun: ids of all operations that ever began: none begins twice.
        workspaces: by name, which is never used again.
        boots: how many there were.
        probe_fails, stop_fails: whether reading it, stopping it, fails; a story sets them.
        hydrate_s: seconds that hydration takes.
    """

    resource: str
    running: bool = False
    boot_id: str | None = None
    image: str | None = None
    started_at: int | None = None
    hydrated: bool = False
    operations: dict[str, str] = attrs.field(factory=dict[str, str])
    begun: set[str] = attrs.field(factory=set[str])
    workspaces: dict[str, Workspace] = attrs.field(factory=dict[str, Workspace])
    boots: int = 0
    probe_fails: bool = False
    stop_fails: bool = False
    hydrate_s: float = 5.0

    def document(self) -> dict[str, Any]:
        """Return what its activity probe prints."""
        return {
            "running": self.running,
            "bootId": self.boot_id,
            "startedAt": self.started_at,
            "processes": len(self.operations),
        }


class Ground:
    """The native side of one world.

    Attributes:
        applications: every state that an application had, with its time, the newest last.
        versions: every active Worker version, the newest last.
        partial: versions that a part of the machines runs, in a swap that is not through.
        artifacts: what can be uploaded, by artifact id.
        containers: by physical member.
        on_upload: makes an uploaded version run; the builder of the fleet sets it.
        announces: what the upload tool prints.
        lag_ms: how much older than the truth a read of an application may be.
        reads_fail: whether reading an application fails.
        upload_s: from the sending of an upload to its activation.
        containers_s: from the activation to the container part.
        containers_fail: whether the container part fails: the Worker is active all the same.
    """

    def __init__(self, world: World) -> None:
        """Begin with nothing."""
        self.world = world
        self.applications: dict[str, list[tuple[int, ImageTarget]]] = {}
        self.versions: list[Uploaded] = []
        self.partial: list[Uploaded] = []
        self.artifacts: dict[str, Artifact] = {}
        self.containers: dict[str, Container] = {}
        self.on_upload: Callable[[Uploaded], None] = lambda uploaded: None  # noqa: ARG005
        self.announces: Announces = "printed"
        self.lag_ms = 0
        self.reads_fail = False
        self.upload_s = 10.0
        self.containers_s = 5.0
        self.containers_fail = False

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970 by a clock that is right."""
        return (EPOCH_US + self.world.kernel.now_us) // 1_000

    def note(self, kind: str, value: Mapping[str, Any]) -> None:
        """Note what was done, for those who judge."""
        self.world.ledger.note(kind, dict(value))

    # ---- applications and versions

    def application(self, name: str) -> ImageTarget:
        """Return the application as it is."""
        return self.applications[name][-1][1]

    def listed(self, name: str) -> ImageTarget:
        """Return the application as a read sees it, which may lag."""
        at = self.now_ms - self.lag_ms
        history = self.applications[name]
        return next((target for since, target in reversed(history) if since <= at), history[0][1])

    def select(self, name: str, image: str) -> bool:
        """Make *image* that of the application; returns whether that is a change."""
        history = self.applications.setdefault(name, [])
        if history and history[-1][1].image == image:
            return False
        version = history[-1][1].version + 1 if history else 1
        target = ImageTarget(name, version, image)
        history.append((self.now_ms, target))
        self.note("application", target.wire())
        return True

    def activate(self, artifact: Artifact, version: str) -> Uploaded:
        """Let *artifact* run as *version*, at once."""
        uploaded = Uploaded(version, self.now_ms, artifact)
        self.versions.append(uploaded)
        stamp = artifact.stamp
        self.note("upload", {"version": version, "at": uploaded.at, **stamp.wire()})
        self.on_upload(uploaded)
        return uploaded

    # ---- containers

    def boot(self, member: str, boot_id: str, application: str) -> None:
        """Start the container of *member* on the image that its application selects now."""
        container = self.containers[member]
        container.running, container.boot_id = True, boot_id
        container.image = self.application(application).image
        container.started_at = self.now_ms
        container.hydrated = False
        container.boots += 1
        self.note(
            "container boot",
            {"member": member, "resource": container.resource, "bootId": boot_id,
             "image": container.image},
        )  # fmt: skip

    def hydrate(self, member: str) -> None:
        """Bring everything that is saved back onto the disk."""
        container = self.containers[member]
        container.hydrated = True
        for workspace in container.workspaces.values():
            workspace.on_disk = True
        self.note("container hydrated", {"member": member, "bootId": container.boot_id})

    def stop(self, member: str, why: str = "asked") -> None:
        """Stop the container of *member*: its disk is gone, and so is every only copy on it.

        *why* is "asked" if the fleet did it and "platform" if nobody asked for it.
        """
        container = self.containers[member]
        if not container.running:
            return
        lost = [
            name
            for name, workspace in sorted(container.workspaces.items())
            if workspace.on_disk and workspace.is_only_copy
        ]
        boot_id = container.boot_id
        container.running, container.boot_id, container.started_at = False, None, None
        container.hydrated, container.image = False, None
        container.operations.clear()
        for name in lost:
            del container.workspaces[name]
        for workspace in container.workspaces.values():
            workspace.on_disk = False
        self.note(
            "container stop",
            {"member": member, "resource": container.resource, "bootId": boot_id, "why": why,
             "lost": lost},
        )  # fmt: skip

    def provision(self, member: str, workspace: str) -> None:
        """Make *workspace*, unless it is there."""
        container = self.containers[member]
        if workspace not in container.workspaces:
            container.workspaces[workspace] = Workspace()
            self.note("workspace made", {"member": member, "workspace": workspace})

    def remove(self, member: str, workspace: str) -> None:
        """Remove *workspace* for good."""
        container = self.containers[member]
        tree = container.workspaces.pop(workspace, None)
        if tree is not None:
            self.note(
                "workspace removed",
                {"member": member, "resource": container.resource, "workspace": workspace,
                 "lost": tree.is_only_copy},
            )  # fmt: skip
