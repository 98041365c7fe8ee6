"""Who asks: a principal that was authenticated, and the roles it has."""

import attrs

from .reservations import Owner

__all__ = ["Caller"]


@attrs.frozen
class Caller:
    """One authenticated principal.

    Attributes:
        owner: whose runs, schedules and keys these are.
        roles: names; what each lets do, the routes say.
    """

    owner: Owner
    roles: frozenset[str] = frozenset()

    def may_touch(self, owner: Owner) -> bool:
        """Whether what *owner* owns is open to this caller: its own, or everything to an admin."""
        return self.owner == owner or "admin" in self.roles
