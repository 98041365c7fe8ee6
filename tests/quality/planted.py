"""The planted bugs: within how many runs each is found, and how few facts tell it."""

import attrs

from durasim.sim import Scenario

from . import faults, orders

__all__ = ["BUGS", "SEEDS", "Bug"]

SEEDS = range(5)
"""Base seeds from each of which every bug is found."""


@attrs.frozen
class Bug:
    """One planted bug.

    Attributes:
        broken: the scenario that has it.
        repaired: the same without it.
        runs: within which `rotation` finds it from each base seed.
        facts: deviations that are left after shrinking.
        option: of each of them.
    """

    broken: Scenario
    repaired: Scenario
    runs: int
    facts: int
    option: str


BUGS = (
    Bug(orders.lost_update, orders.lost_update_repaired, 6, 1, "behind"),
    Bug(orders.write_skew, orders.write_skew_repaired, 6, 1, "behind"),
    Bug(orders.aba, orders.aba_repaired, 40, 1, "behind"),
    Bug(orders.starvation, orders.starvation_repaired, 80, 1, "behind"),
    Bug(orders.three_preemptions, orders.three_preemptions_repaired, 400, 3, "behind"),
    Bug(faults.lost_reply, faults.lost_reply_repaired, 12, 1, "lost"),
    Bug(faults.stale_alarm, faults.stale_alarm_repaired, 12, 1, "twice"),
    Bug(faults.crash_between_commits, faults.crash_between_commits_repaired, 12, 1, "crash after"),
    Bug(faults.double_activation, faults.double_activation_repaired, 25, 1, "replaced"),
)
