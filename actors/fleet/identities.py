"""Who and what: builds, Worker versions, image targets, and the forms that they must have.

Commit, artifact id, Worker version, boot id and native target are separate identities; none is ever
computed from another (INV-76). Source: spec/deploy-fence.md A.6, B.4, 0.5.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard, cast
from uuid import UUID

import attrs

__all__ = [
    "BuildStamp",
    "ImageTarget",
    "Producer",
    "WorkerVersion",
    "is_commit",
    "is_sha256",
    "is_uuid",
]

SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")
COMMIT: Final = re.compile(r"[0-9a-f]{40}\Z")


def is_uuid(value: object) -> TypeGuard[str]:
    """Whether *value* is a UUID as lower-case text."""
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False


def is_sha256(value: object) -> TypeGuard[str]:
    """Whether *value* is 64 lower-case hex characters."""
    return isinstance(value, str) and SHA256.match(value) is not None


def is_commit(value: object) -> TypeGuard[str]:
    """Whether *value* is a full commit id: 40 lower-case hex characters."""
    return isinstance(value, str) and COMMIT.match(value) is not None


@attrs.frozen
class BuildStamp:
    """What is compiled into a Worker.

    Attributes:
        commit: full commit id.
        built_at: milliseconds since 1970.
        artifact_id: names this one build; never parsed (P32.2).
        dirty: whether the tree had changes that no commit has.
    """

    commit: str
    built_at: int
    artifact_id: str
    dirty: bool = False

    def wire(self) -> dict[str, Any]:
        """Return it as it is answered."""
        return {"commit": self.commit, "builtAt": self.built_at, "artifactId": self.artifact_id}


@attrs.frozen
class WorkerVersion:
    """What the platform says of an uploaded Worker.

    Attributes:
        id: UUID.
        uploaded_at: milliseconds since 1970 by the platform's clock; None if it does not say.
    """

    id: str
    uploaded_at: int | None


@attrs.frozen
class Producer:
    """The deployed Worker that answers: its read-only bindings (B.4).

    Attributes:
        version: of the Worker; None if the platform does not tell.
        build: what was compiled in.
        capabilities: what it can do, as `/healthz` says it.
    """

    version: WorkerVersion | None
    build: BuildStamp
    capabilities: tuple[str, ...] = ("fence", "keyed", "quoted", "target")

    def wire(self) -> dict[str, Any]:
        """Return it as the Registry is told who asks."""
        found = {"artifactId": self.build.artifact_id, "commit": self.build.commit}
        if self.version is None:
            return found
        return {**found, "workerVersion": self.version.id, "uploadedAt": self.version.uploaded_at}


@attrs.frozen
class ImageTarget:
    """What a member's container is to run: equal only if all three are (P36.1).

    Attributes:
        application: name of the container application.
        version: its version, at least 0.
        image: full reference of the image.
    """

    application: str
    version: int
    image: str

    @classmethod
    def parse(cls, raw: object) -> "ImageTarget | None":
        """Return the target that *raw*, a document, says, or None if it has not the form."""
        if not isinstance(raw, Mapping):
            return None
        fields = cast("Mapping[str, Any]", raw)
        name, version, image = (fields.get(k) for k in ("application", "version", "image"))
        if not (isinstance(name, str) and name and isinstance(image, str) and image):
            return None
        if type(version) is not int or version < 0:
            return None
        return cls(name, version, image)

    def wire(self) -> dict[str, Any]:
        """Return it as a document."""
        return {"application": self.application, "version": self.version, "image": self.image}
