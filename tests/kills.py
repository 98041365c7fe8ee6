"""The kill tables: the first run that finds each mutant of a system, from each base seed.

    python -m tests.kills runs
    python -m tests.kills fleet NAME…

measures every mutant of the system, or those that are named, and writes the table of
`docs/findings/mutants-SYSTEM.md` after each. It ends with 1 if one is not found, or is found where
nothing is wrong.
"""

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

import attrs

from durasim.sim import Mutant, Scenario, explore
from durasim.sim.kill import first_kill
from durasim.sim.systems import System

from .tidy import ROOT

__all__ = [
    "CALM_RUNS",
    "NAMES",
    "NONE",
    "RUNS",
    "SEEDS",
    "Kill",
    "described",
    "document",
    "killed",
    "recorded",
    "scenario_of",
    "system_of",
]

NAMES = ("fleet", "runs")
"""The systems that have a table."""
SEEDS = (0, 1, 2, 3, 4, 10_000)
"""Base seeds: five that mostly meet the same runs, and one that meets none of theirs."""
RUNS = 500
"""Runs of each exploration at most."""
CALM_RUNS = 200
"""Runs with an empty plan in which a mutant that needs a fault is not found."""
COLUMNS = ("mutant", "story", "parameters", "reported by", *map(str, SEEDS), "without its fault")
NONE = "none"
USAGE = f"python -m tests.kills {'|'.join(NAMES)} [MUTANT]…"


@attrs.frozen
class Kill:
    """One row of a table, as texts.

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


def system_of(name: str) -> System:
    """Return the system that is called *name*."""
    return cast(System, resolve_name(f"durasim.sim.{name}:SYSTEM"))


def document(name: str) -> Path:
    """Return where the table of a system stands."""
    return ROOT / f"docs/findings/mutants-{name}.md"


def described(mutant: Mutant) -> tuple[str, str]:
    """Return story and parameters of a mutant as the table shows them."""
    given = ", ".join(f"{name}={value}" for name, value in sorted(mutant.parameters.items()))
    return f"`{scenario_of(mutant).name}`", given


def scenario_of(mutant: Mutant) -> Scenario:
    """Return the story that is to find a mutant."""
    assert isinstance(mutant.scenario, Scenario)
    return mutant.scenario


def first_found(mutant: Mutant, seed: int) -> tuple[str, int]:
    """Return the property that an exploration from *seed* reports, and in which run; 0 for none."""
    # A copy is not found by its name: what it breaks is run again here, and not in a new Python.
    kill = first_kill(attrs.evolve(mutant), scenario_of(mutant), runs=RUNS, seed=seed)
    return kill.property or NONE, kill.runs if kill.is_expected else 0


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


def recorded(name: str) -> dict[str, Kill]:
    """Return the rows of a system's document, by the mutants' names."""
    found: dict[str, Kill] = {}
    for line in document(name).read_text().splitlines():
        if line.startswith("| `"):
            mutant, story, given, reported, *runs, calm = map(str.strip, line.strip("|").split("|"))
            mutant = mutant.strip("`")
            found[mutant] = Kill(mutant, (story, given), reported, tuple(runs), calm)
    return found


def written(kills: Sequence[Kill]) -> str:
    """Return the table."""
    rows = [COLUMNS, tuple("-" * 3 for _ in COLUMNS), *(kill.cells for kill in kills)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def update(name: str, only: Sequence[str]) -> int:
    """Measure, and write the table after each mutant; returns the exit status."""
    order = [mutant.name for mutant in system_of(name).mutants]
    for mutant in system_of(name).mutants:
        if only and mutant.name not in only:
            continue
        kill = killed(mutant)
        sys.stdout.write("  ".join(kill.cells) + "\n")
        sys.stdout.flush()
        known = recorded(name) | {mutant.name: kill}
        above = re.sub(r"^\|(?s:.*)\Z", "", document(name).read_text(), flags=re.MULTILINE)
        document(name).write_text(above + written([known[each] for each in order if each in known]))
    known = recorded(name)
    return int(any(each not in known or NONE in known[each].runs for each in order))


def main(words: Sequence[str]) -> int:
    """Measure the system that the first word names; returns the exit status."""
    if not words or words[0] not in NAMES:
        sys.stderr.write(f"usage: {USAGE}\n")
        return 2
    unknown = set(words[1:]) - {mutant.name for mutant in system_of(words[0]).mutants}
    if unknown:
        sys.stderr.write(f"{words[0]} has no mutant {', '.join(sorted(unknown))}\n")
        return 2
    return update(words[0], words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
