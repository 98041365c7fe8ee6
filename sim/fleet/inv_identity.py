"""INV-76: the identities of what is deployed are separate, and none is computed from another."""

from collections.abc import Mapping
from typing import Any, Final, cast

from ...actors import WebResponse
from .checks import Check
from .log import Answer, Commit, Log, Seen

__all__ = ["IDENTITY"]


class SeparateIdentities(Check[None]):
    """Commit, artifact id, Worker version and upload time, boot id and native target are separate
    fields; none is computed from another, whatever the artifact id says.
    """

    name = "INV-76"
    level = 2
    sees = ("answer FleetRouter.fetch", "commit Registry", "commit Resident")

    def begin(self) -> None:
        """Nothing."""

    def see(self, seen: Seen[None]) -> None:
        """Whatever names a Worker or a build names one that the plane knows, as it knows it."""
        if seen.log.ground is None:
            return
        if seen.entry.kind == "commit Registry":
            self._stored(seen.log, seen.entry.data)
        elif seen.entry.kind == "commit Resident":
            for change in cast(Commit, seen.entry.data).of("image:progress"):
                if change.after is not None and "target" in change.after:
                    build = change.after["build"]
                    assert build in seen.log.ground.artifacts, f"no build is called {build!r}"
        else:
            self._answered(seen.log, seen.entry.data)

    def _stored(self, log: Log, commit: Commit) -> None:
        for change in commit.changes:
            row = change.after
            if not isinstance(row, Mapping):
                continue
            fields = cast("Mapping[str, Any]", row)
            if change.key == "drain" and "swapVersion" in fields:
                require_worker(log, fields["swapVersion"], artifactId=fields.get("swapBuild"))
            elif change.key.startswith("deploy:admission:") and "workerVersion" in fields:
                require_worker(log, fields["workerVersion"])
            elif change.key.startswith("deploy:re") and isinstance(fields.get("producer"), Mapping):
                by = fields["producer"]
                require_worker(log, by.get("workerVersion"), artifactId=by.get("artifactId"))

    def _answered(self, log: Log, answer: Answer) -> None:
        if not answer.is_granted or not isinstance(answer.value, WebResponse):
            return
        body = answer.value.body
        if not isinstance(body, Mapping):
            return
        said = cast("Mapping[str, Any]", body)
        build = said.get("build")
        if isinstance(build, Mapping):
            require_worker(log, said.get("workerVersion"), **cast("dict[str, Any]", build))
        diagnostic: Any = said.get("deployDiagnostic")
        if isinstance(diagnostic, Mapping):
            by = dict(cast("Mapping[str, Any]", diagnostic)["producer"])
            require_worker(log, by.pop("workerVersion"), **by)


def require_worker(log: Log, version: object, **said: Any) -> None:
    """Require that *version* is a Worker of the plane, and that *said* is what it knows of it."""
    if version is None:
        return
    assert log.ground is not None
    found = [each for each in log.ground.versions if each.id == version]
    found += [each for each in log.ground.partial if each.id == version]
    assert found, f"no Worker has the version {version!r}"
    stamp = found[0].artifact.stamp
    truth = {
        "commit": stamp.commit,
        "builtAt": stamp.built_at,
        "artifactId": stamp.artifact_id,
        "uploadedAt": found[0].at,
    }
    for field, value in said.items():
        is_known = value is None or field not in truth or truth[field] == value
        assert is_known, f"{field} is {truth.get(field)!r}, and {value!r} was said"


IDENTITY: Final = (SeparateIdentities(),)
"""INV-76."""
