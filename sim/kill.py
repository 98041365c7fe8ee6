"""A kill: the first run in which a mutant breaks a property that it expects to.

Where a fault keeps a run away from the harm that the mutant is about, another property may be all
that breaks. Such a run is no kill, and does not end the search for one.
"""

from typing import Final

import attrs

from .explore import explore
from .mutants import Mutant
from .scenario import Scenario

__all__ = ["PASSED_OVER", "Kill", "first_kill"]

PASSED_OVER: Final = 9
"""Runs that may break other properties alone before nothing more is expected of a mutant."""


@attrs.frozen
class Kill:
    """What an exploration of a mutant came to.

    Attributes:
        property: the expected one that broke first; else what broke in its place in the last run
            that failed; None if none did.
        is_expected: whether it is one that the mutant names.
        runs: how many were finished, that one included.
    """

    property: str | None
    is_expected: bool
    runs: int


def first_kill(mutant: Mutant, scenario: Scenario, *, runs: int, seed: int, jobs: int = 1) -> Kill:
    """Explore *scenario* with *mutant* until an expected property breaks, *runs* at most."""
    done, seen = 0, None
    for _ in range(PASSED_OVER + 1):
        exploration = explore(
            scenario, runs=runs - done, seed=seed + done, jobs=jobs, mutant=mutant,
            parameters=mutant.parameters, shrink=False,
        )  # fmt: skip
        done += exploration.runs
        # One run may break several properties: one of them must be expected.
        broken = [each.property for found in exploration.found for each in found.failures]
        for name in broken:
            if name in mutant.expected:
                return Kill(name, True, done)
        if not broken:
            break
        seen = broken[0]
        if done == runs:
            break
    return Kill(seen, False, done)
