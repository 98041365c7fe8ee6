"""How long a big fleet takes, on one core, with all checks on.

    python -m tests.fleet.speed

prints seconds of this process for 50 members (200 registrations, 2,000 calls of attach, exec and
detach, 90 virtual minutes, an ordinary deploy) and for 500, with everything scaled alike.
"""

import sys
from time import process_time

from durasim.sim import simulate
from durasim.sim.fleet.crowd import crowd

MEMBERS = (50, 500)


def seconds(members: int) -> float:
    """Return how long one run of so many members takes; everything has to hold."""
    began = process_time()
    report = simulate(crowd, parameters={"members": members})
    assert report.ok, report.failures
    return process_time() - began


def main() -> None:
    """Measure and print."""
    seconds(1)
    few, many = (seconds(members) for members in MEMBERS)
    sys.stdout.write(
        f"50 members {few:.1f} s (5 s), 500 members {many:.1f} s, {many / few:.1f}x (12x)\n"
    )


if __name__ == "__main__":
    main()
