"""When a deploy may be called ready: what the members, read back, have to say (P33.10 to P33.14).

Nothing is taken from one answer alone: what a reconcile answered is compared with the frozen
target, and then every member is read. Source: spec/deploy-fence.md C.6, steps 8 and 9.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .documents import as_list, as_mapping, as_text
from .identities import ImageTarget

__all__ = [
    "CONFLICTS",
    "CURRENT",
    "conflict_of",
    "fence_stands",
    "is_fleet_current",
    "is_lifted",
    "member_problems",
    "reconcile_problems",
]

CURRENT: Final = "current"
"""What a member that owes no image report says of it."""
CONFLICTS: Final = ("PENDING_OTHER_TARGET", "PENDING_WITHOUT_TARGET")
"""Codes of a member that no repetition helps."""


def rows_by_member(rows: object, members: Iterable[str]) -> dict[str, Mapping[str, Any]] | None:
    """Return the row of each physical member, or None unless exactly *members* are there, once."""
    found: dict[str, Mapping[str, Any]] = {}
    listed = as_list(rows)
    for each in listed:
        row = as_mapping(each) or {}
        name = as_text(row.get("physicalMember")) or as_text(row.get("resource"))
        if name is not None:
            found[name] = row
    return found if len(found) == len(listed) and set(found) == set(members) else None


def reconcile_problems(
    body: Mapping[str, Any], members: Iterable[str], build: str, target: ImageTarget
) -> list[str]:
    """Return what the answer of a reconcile lacks to say that all members run the target."""
    if body.get("build") != build or ImageTarget.parse(body.get("target")) != target:
        return ["the answer is for another build or target"]
    rows = rows_by_member(body.get("reconciled"), members)
    if rows is None:
        return ["the members are not those of the verdict"]
    return [
        f"{name}: {row.get('result')}"
        for name, row in sorted(rows.items())
        if row.get("verified") is not True
        or row.get("build") != build
        or ImageTarget.parse(row.get("target")) != target
    ]


def conflict_of(body: Mapping[str, Any]) -> str | None:
    """Return the code by which a member refuses for good, or None (P36.8)."""
    codes = [(as_mapping(row) or {}).get("code") for row in as_list(body.get("reconciled"))]
    return next((code for code in codes if code in CONFLICTS), None)


def member_problems(
    body: Mapping[str, Any],
    members: Iterable[str],
    build: str | None,
    target: ImageTarget | None,
) -> list[str]:
    """Return what a read of all residents shows against being ready.

    Without *build* and *target*, where reconciling was skipped, they are not compared: nothing is
    claimed of them (P33.14).
    """
    rows = rows_by_member(body.get("residents"), members)
    if rows is None or body.get("count") != len(rows):
        return ["the members are not those of the verdict"]
    problems: list[str] = []
    for name, row in sorted(rows.items()):
        live = as_mapping(row.get("live")) or {}
        if "error" in live or live.get("imageReport") != CURRENT:
            problems.append(f"{name}: {live.get('error') or 'owes its image report'}")
        elif target is not None and not runs(live, build, target):
            problems.append(f"{name}: reads another build or target")
    return problems


def runs(live: Mapping[str, Any], build: str | None, target: ImageTarget) -> bool:
    """Whether a member says that it has reported for exactly this build and target."""
    return live.get("imageBuild") == build and ImageTarget.parse(live.get("imageTarget")) == target


def is_fleet_current(body: Mapping[str, Any], members: Iterable[str]) -> bool:
    """Whether every member was read and owes no image report: then reconciling may be skipped."""
    return not member_problems(body, members, None, None)


def fence_stands(draining: object, fence_id: str | None, triple: tuple[int, int, str]) -> bool:
    """Whether the fence of an attempt stands in the drain that was read.

    A fence of an older producer has no name: then it is known by since, until and version.
    """
    drain = as_mapping(draining)
    if drain is None or drain.get("swapFence") is not True:
        return False
    if fence_id is not None:
        return drain.get("fenceId") == fence_id
    return (drain.get("since"), drain.get("until"), drain.get("swapVersion")) == triple


def is_lifted(reply: Mapping[str, Any]) -> bool:
    """Whether a reply of undrain says that the drain went, or goes with its last hold."""
    return reply.get("cleared") is True or bool(reply.get("held"))
