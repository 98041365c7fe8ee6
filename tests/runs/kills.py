"""The kill table of the system `runs`: the first run that finds each mutant, from each base seed.

    python -m tests.runs.kills

measures every mutant and writes the table of `docs/findings/mutants-runs.md`; after it the names of
some mutants measure those anew. It ends with 1 if one is not found, or is found where nothing is
wrong.
"""

import re
import sys
from collections.abc import Sequence
from itertools import pairwise

import attrs

from durasim.sim import Mutant, Scenario, explore
from durasim.sim.runs import SYSTEM

from ..tidy import ROOT

__all__ = ["CALM_RUNS", "DOCUMENT", "RUNS", "SEEDS", "Kill", "described", "killed", "recorded"]

DOCUMENT = ROOT / "docs/findings/mutants-runs.md"
SEEDS = (0, 1, 2, 3, 4, 10_000)
"""Base seeds: five that mostly meet the same runs, and one that meets none of theirs."""
RUNS = 500
"""Runs of each exploration at most."""
CALM_RUNS = 200
"""Runs with an empty plan in which a mutant that needs a fault is not found."""
COLUMNS = ("mutant", "story", "parameters", "reported by", *map(str, SEEDS), "without its fault")
NONE = "none"


@attrs.frozen
class Kill:
    """One row of the table, as texts.

    Attributes:
        story: with its parameters, as `described` has them.
        reported: the expected property that broke first, from the first base seed.
        runs: for each base seed the first run that failed, counted from 1.
        calm: "silent", or "-" for a mutant that needs no fault.
    """

    name: str
    story: tuple[str, str]
    reported: str
    runs: tuple[str, ...]
    calm: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The row, cell by cell."""
        return (f"`{self.name}`", *self.story, self.reported, *self.runs, self.calm)


def described(mutant: Mutant) -> tuple[str, str]:
    """Return story and parameters of a mutant as the table shows them."""
    scenario = scenario_of(mutant)
    given = ", ".join(f"{name}={value}" for name, value in sorted(mutant.parameters.items()))
    return f"`{scenario.name}`", given


def scenario_of(mutant: Mutant) -> Scenario:
    """Return the story that is to find a mutant."""
    assert isinstance(mutant.scenario, Scenario)
    return mutant.scenario


def first_found(mutant: Mutant, seed: int) -> tuple[str, int]:
    """Return the property that an exploration from *seed* reports, and in which run; 0 for none."""
    exploration = explore(
        scenario_of(mutant), runs=RUNS, seed=seed, mutant=mutant, parameters=mutant.parameters,
        shrink=False,
    )  # fmt: skip
    for found in exploration.found:
        # One run may break several properties: one of them must be expected.
        broken = [failure.property for failure in found.failures]
        expected = [name for name in broken if name in mutant.expected]
        return (expected[0], exploration.runs) if expected else (broken[0], 0)
    return NONE, 0


def killed(mutant: Mutant) -> Kill:
    """Measure one mutant, and right code on the same runs.

    Raises:
        AssertionError: right code fails there, or the mutant fails without its fault.
    """
    scenario = scenario_of(mutant)
    found = [first_found(mutant, SEEDS[0])]
    for before, seed in pairwise(SEEDS):
        reported, run = found[-1]
        # The run that was found has a seed of its own: from a base seed before it, it is the same.
        ahead = before + run - seed
        found.append((reported, ahead) if ahead > 0 else first_found(mutant, seed))
    seeds = {
        seed + number for seed, (_, run) in zip(SEEDS, found, strict=True) for number in range(run)
    }
    for first, count in stretches(seeds):
        right = explore(
            scenario, runs=count, seed=first, parameters=mutant.parameters, shrink=False
        )
        assert not right.found, f"{mutant.name}: right code fails: {right.found[0].message}"
    if mutant.needs_fault:
        calm = attrs.evolve(scenario, faults=())
        still = explore(
            calm, runs=CALM_RUNS, mutant=mutant, parameters=mutant.parameters, shrink=False
        )
        assert not still.found, f"{mutant.name} is found without its fault"
    return Kill(
        mutant.name,
        described(mutant),
        found[0][0],
        tuple(str(run) if run else NONE for _, run in found),
        "silent" if mutant.needs_fault else "-",
    )


def stretches(seeds: set[int]) -> list[tuple[int, int]]:
    """Return *seeds* as stretches without a gap: the first of each, and how many."""
    found: list[tuple[int, int]] = []
    for seed in sorted(seeds):
        if found and sum(found[-1]) == seed:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((seed, 1))
    return found


def recorded() -> dict[str, Kill]:
    """Return the rows of the document, by name."""
    found: dict[str, Kill] = {}
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("| `"):
            name, story, given, reported, *runs, calm = map(str.strip, line.strip("|").split("|"))
            name = name.strip("`")
            found[name] = Kill(name, (story, given), reported, tuple(runs), calm)
    return found


def written(kills: Sequence[Kill]) -> str:
    """Return the table."""
    rows = [COLUMNS, tuple("-" * 3 for _ in COLUMNS), *(kill.cells for kill in kills)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def update(names: Sequence[str]) -> int:
    """Measure, and write the table; returns the exit status."""
    known = recorded()
    for mutant in SYSTEM.mutants:
        if not names or mutant.name in names:
            known[mutant.name] = kill = killed(mutant)
            sys.stdout.write("  ".join(kill.cells) + "\n")
            sys.stdout.flush()
    kills = [known[mutant.name] for mutant in SYSTEM.mutants if mutant.name in known]
    text = re.sub(r"^\|(?s:.*)\Z", "", DOCUMENT.read_text(), flags=re.MULTILINE)
    DOCUMENT.write_text(text + written(kills))
    return int(any(NONE in kill.runs for kill in kills) or len(kills) < len(SYSTEM.mutants))


if __name__ == "__main__":
    sys.exit(update(sys.argv[1:]))
