"""Levels L0 to L5 of the fleet's Worker as values: any of them can be deployed, mixed, rolled back.

Each level includes the lower ones. New interfaces have new names, so that an older side answers
that there is no such thing, which is a certain no. Source: spec/deploy-fence.md H.
"""

from typing import Final

from ...actors.fleet import FleetRouter, Registry, Resident, RunLedger, StateWorker
from ..world import World
from .fleet import CodeLevel, Fleet, StateCode
from .old_registry import RegistryL0, RegistryL1, RegistryL2
from .old_resident import ResidentL0, ResidentL1, ResidentL4
from .old_router import RouterL0, RouterL1, RouterL2, RouterL3

__all__ = ["L0", "L1", "L2", "L3", "L4", "L5", "LEVELS", "STATE", "set_fleet"]

STATE: Final = StateCode(RunLedger, StateWorker)

L0: Final = CodeLevel(0, RegistryL0, ResidentL0, RouterL0)
"""No fence endpoint, no permits."""
L1: Final = CodeLevel(1, RegistryL1, ResidentL1, RouterL1, ("fence",))
"""Fence, permits by the Registry's ids, unquoted recovery."""
L2: Final = CodeLevel(2, RegistryL2, ResidentL4, RouterL2, ("fence", "keyed"))
"""Keyed permits and receipts."""
L3: Final = CodeLevel(3, Registry, ResidentL4, RouterL3, ("fence", "keyed", "quoted"))
"""Quoted recovery."""
L4: Final = CodeLevel(4, Registry, ResidentL4, RouterL3, ("fence", "keyed", "quoted"))
"""Where maintenance and risk windows stand; the rest is L3."""
L5: Final = CodeLevel(
    5, Registry, Resident, FleetRouter, ("fence", "keyed", "quoted", "target")
)  # fmt: skip
"""Artifact and target identity: the code as it is."""

LEVELS: Final = (L0, L1, L2, L3, L4, L5)


def set_fleet(
    world: World,
    *resources: str,
    level: CodeLevel = L5,
    machines: int = 2,
) -> Fleet:
    """Set up a fleet in *world* whose deployed code is *level*."""
    return Fleet(world, level, STATE, resources or ("repo:o/a", "repo:o/b"), machines=machines)
