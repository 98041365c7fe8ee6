"""The native control plane, as its users see it: a port. What is behind it is never ours.

Every method is a remote call that can be refused or end uncertain, as a stub's can. Source:
spec/deploy-fence.md B.5.
"""

from typing import Any, Protocol

import attrs

from .identities import ImageTarget

__all__ = ["Activity", "Announcement", "Containers", "ControlPlane", "UploadReply"]


@attrs.frozen
class Announcement:
    """The line that the upload tool printed about one container application.

    Attributes:
        application: whose; None if the line names none.
        change: True for a change, False for no change, None if nothing could be recognised.
        image: the image that it printed; None if none.
    """

    application: str | None
    change: bool | None
    image: str | None = None


@attrs.frozen
class UploadReply:
    """What an upload answered: the Worker runs; containers have not been waited for.

    Attributes:
        version: id of the new Worker version.
        announcements: of container applications, in order of print.
    """

    version: str
    announcements: tuple[Announcement, ...]


@attrs.frozen
class Activity:
    """What a member's container is doing.

    Attributes:
        running: whether there is a live container.
        boot_id: of the running kernel; None if there is none.
        started_at: milliseconds since 1970; None if there is none.
        processes: pool-user processes.
    """

    running: bool
    boot_id: str | None = None
    started_at: int | None = None
    processes: int = 0


class ControlPlane(Protocol):
    """Worker versions and container applications of one account."""

    async def read_application(self, name: str) -> ImageTarget:
        """Return the application as the plane lists it, which may lag behind (B.5)."""
        ...

    async def upload(self, workers: tuple[str, ...], build: dict[str, Any]) -> UploadReply:
        """Upload *workers* as *build*. It is not transactional: the Worker is active before the
        container part is processed, and a lost reply says nothing."""
        ...


class Containers(Protocol):
    """The container of one member, and the workspaces in it.

    A workspace has a name that is never used again once it was removed, so that a removal that
    comes late or twice strikes no other one.
    """

    async def activity(self) -> Activity:
        """Return what it is doing; starts nothing."""
        ...

    async def stop(self, boot_id: str) -> None:
        """Stop the boot of that id; its replacement starts on the selected image when it is needed.

        If another boot runs by now, or none, nothing happens: a request that comes late or twice
        strikes nobody else.
        """
        ...

    async def start(self) -> Activity:
        """Make sure that it runs, and return what it is doing."""
        ...

    async def hydrate(self) -> None:
        """Restore what a fresh boot needs; returns when it is whole."""
        ...

    async def provision(self, workspace: str) -> None:
        """Make the workspace, unless it is there."""
        ...

    async def submit(self, operation: str, permit: str, workspace: str, work: str) -> Any:
        """Run *work* in the workspace under the permit; returns what it printed.

        An operation of that id begins once, however often its request arrives: a copy that comes
        late would write behind the proof that everything is saved.
        """
        ...

    async def is_preserved(self, workspace: str) -> bool:
        """Whether everything in the workspace exists elsewhere too."""
        ...

    async def remove(self, workspace: str) -> None:
        """Remove the workspace for good."""
        ...
