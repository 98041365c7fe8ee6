"""INV-77, INV-91, and whether it is so: what it takes for a member to be called verified."""

from typing import Final

import attrs

from .checks import Check
from .inv_images import (
    PROGRESS,
    RECONCILE,
    REPORT,
    Pair,
    change_of,
    pair_asked,
    pair_of,
    pending_of,
)
from .log import Answer, Call, Commit, Seen
from .sights import table

__all__ = ["VERIFIED"]


@attrs.define
class Debts:
    """Debts of members.

    Attributes:
        begun: resources that have begun a debt in this run.
        reported: resource to each pair for which a report was sent under its own debt.
    """

    begun: set[str] = attrs.field(factory=set[str])
    reported: dict[str, set[Pair]] = attrs.field(factory=dict[str, set[Pair]])


class VerifiedWasReported(Check[Debts]):
    """A member reads "verified" for (build, target) only if a report for exactly that pair was made
    after its progress started.
    """

    name = "INV-77"
    level = 5
    sees = (
        "commit Resident", f"call {REPORT}", f"answer {RECONCILE}", "answer Resident.deploy_info",
    )  # fmt: skip

    def begin(self) -> Debts:
        """No debt."""
        return Debts()

    def see(self, seen: Seen[Debts]) -> None:
        """Follow debts and reports; look at what is called verified or current."""
        kind, data, own = seen.entry.kind, seen.entry.data, seen.own
        if isinstance(data, Commit):
            change = change_of(data, PROGRESS)
            if change is not None and pair_of(change.before) != pair_of(change.after):
                own.begun.add(data.name)
                own.reported.setdefault(data.name, set()).discard(pair_of(change.after))
        elif isinstance(data, Call):
            resource, token = data.arguments[:2]
            marker = table(pending_of(seen.log, resource))
            if marker.get("token") == token:
                own.reported.setdefault(resource, set()).add(pair_of(marker))
        elif data.is_granted:
            said, resource = table(data.value), data.call.address.name
            if kind.endswith("deploy_info"):
                is_whole = said.get("imageReport") == "current" and "imageTarget" in said
                pair = Pair(said.get("imageBuild"), pair_of({"target": said.get("imageTarget")})[1])
            else:
                is_whole, pair = said.get("verified") is True, pair_asked(data.call)
            if is_whole and resource in own.begun:
                told = pair in own.reported[resource]
                assert told, f"{resource} calls {pair.build} verified, and has not reported it"


class LegacyVerifiesNothing(Check[None]):
    """A legacy completed progress never yields verified."""

    name = "INV-91"
    level = 5
    sees = (f"answer {RECONCILE}",)

    def begin(self) -> None:
        """Nothing: storages say all."""

    def see(self, seen: Seen[None]) -> None:
        """What is verified has a target in store."""
        answer: Answer = seen.entry.data
        if answer.is_granted and table(answer.value).get("verified") is True:
            resource = answer.call.address.name
            stored = pair_of(seen.log.resident(resource).get(PROGRESS))
            assert stored.target is not None, f"{resource} verifies a progress without a target"


class RunsItsTarget(Check[dict[str, str]]):
    """A member that is called verified runs its target, if it runs at all."""

    name = "a verified member runs its target"
    level = 5
    sees = (f"answer {RECONCILE}", "answer Resident.deploy_info")

    def begin(self) -> dict[str, str]:
        """Resource to physical member, as far as it was looked up."""
        return {}

    def see(self, seen: Seen[dict[str, str]]) -> None:
        """Look at the container, while the application still selects that target."""
        answer: Answer = seen.entry.data
        said, ground = table(answer.value), seen.log.ground
        if seen.entry.kind.endswith("deploy_info"):
            target = table(
                said.get("imageTarget") if said.get("imageReport") == "current" else None
            )
        else:
            target = table(said.get("target") if said.get("verified") is True else None)
        history = {} if ground is None else ground.applications
        name = str(target.get("application"))
        if ground is None or name not in history or history[name][-1][1].wire() != target:
            return
        resource = answer.call.address.name
        if resource not in seen.own:
            found = {each.resource: member for member, each in ground.containers.items()}
            seen.own.update(found)
        container = ground.containers[seen.own[resource]]
        runs = not container.running or container.image == target["image"]
        assert runs, f"{resource} is called current, and runs {container.image}"


VERIFIED: Final = (
    RunsItsTarget(),
    VerifiedWasReported(),
    LegacyVerifiesNothing(),
)
"""What is so goes before what was said of it."""
