"""Who belongs to the fleet: one row a member, named by its resource.

Source: spec/deploy-fence.md A.1, B.1.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

from ..storage import Storage
from .codes import refused
from .documents import as_int, as_mapping, as_text

__all__ = ["Activation", "MemberRow", "Membership"]

Activation = Literal["active", "pending"]
RESIDENT: Final = "resident:"


@attrs.frozen
class MemberRow:
    """One member.

    Attributes:
        resource: what it serves, `repo:<owner>/<name>`.
        physical_member: identity of its object and container, whatever it is called.
        activation: "pending" until it can be used.
        onboarded_at: milliseconds by the Registry's clock.
        config: what it was set up with.
    """

    resource: str
    physical_member: str
    activation: Activation
    onboarded_at: int
    config: Mapping[str, Any] = attrs.field(factory=dict[str, Any], hash=False)

    @classmethod
    def parse(cls, raw: object) -> "MemberRow | None":
        """Return the member that *raw*, a document, says, or None if it has not the form."""
        fields = as_mapping(raw)
        if fields is None:
            return None
        resource, physical = as_text(fields.get("resource")), as_text(fields.get("physicalMember"))
        activation, onboarded = fields.get("activation"), as_int(fields.get("onboardedAt"))
        if resource is None or physical is None or onboarded is None:
            return None
        if activation != "active" and activation != "pending":
            return None
        return cls(
            resource, physical, activation, onboarded, as_mapping(fields.get("config")) or {}
        )

    def wire(self) -> dict[str, Any]:
        """Return it as it is stored and answered."""
        return {
            "resource": self.resource,
            "physicalMember": self.physical_member,
            "activation": self.activation,
            "onboardedAt": self.onboarded_at,
            "config": dict(self.config),
        }


class Membership:
    """The member rows of one Registry."""

    __slots__ = ("_storage",)

    def __init__(self, storage: Storage) -> None:
        """Keep them in *storage*."""
        self._storage = storage

    def rows(self) -> list[Any]:
        """Return the stored rows, by resource: also one that makes no sense is a member."""
        return list(self._storage.kv.list(prefix=RESIDENT).values())

    def add(self, resource: str, physical: str, config: Mapping[str, Any], now: int) -> MemberRow:
        """Write the row of a new member, which cannot be used yet.

        Raises:
            FleetRefused: BAD_REQUEST, the resource or the physical member is listed already, or has
                no name. Nothing was written.
        """
        if not (resource and physical):
            raise refused("BAD_REQUEST", "a member has a resource and a physical name")
        for row in self.rows():
            fields = as_mapping(row) or {}
            if resource == fields.get("resource") or physical == fields.get("physicalMember"):
                raise refused("BAD_REQUEST", f"{resource} or {physical} is listed already")
        member = MemberRow(resource, physical, "pending", now, config)
        self._storage.kv.put(RESIDENT + resource, member.wire())
        return member

    def activate(self, resource: str) -> MemberRow:
        """Say that *resource* can be used.

        Raises:
            FleetRefused: NOT_FOUND, there is no such member. Nothing was written.
        """
        member = attrs.evolve(self._named(resource), activation="active")
        self._storage.kv.put(RESIDENT + resource, member.wire())
        return member

    def remove(self, resource: str) -> MemberRow:
        """Delete the row of *resource*.

        Raises:
            FleetRefused: NOT_FOUND, there is no such member. Nothing was written.
        """
        member = self._named(resource)
        self._storage.kv.delete(RESIDENT + resource)
        return member

    def _named(self, resource: str) -> MemberRow:
        member = MemberRow.parse(self._storage.kv.get(RESIDENT + resource))
        if member is None:
            raise refused("NOT_FOUND", f"there is no member {resource}")
        return member
