"""Verbs of the command line about what there is: list, mutants, conform, inspect, bench.

A verb prints through an `Output` and returns its exit status; `exploring.py` has the others.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
from rich.text import Text

from ..hosts import inspect_file
from .bench import Runs, run_bench
from .conform.corpus import conform as run_programs
from .explore import explore
from .kill import first_kill
from .mutants import Mutant
from .output import Output
from .refusal import FAILED, HELD, Refused, refusing
from .scenario import Scenario
from .systems import find_system, known, registered, resolve
from .tables import inspection, kill_table, measure_table, scenario_table
from .wording import visible
from .workloads import serial_calls

__all__ = ["bench", "conform", "inspect", "list_scenarios", "mutants"]

SILENT_RUNS = 200
"""Runs in which a mutant has to keep still without its fault."""

BENCH_S = 6.0
"""Real seconds of the runs that measure what a second job is worth."""
BENCH_RUN = {"calls": 40, "clients": 4}
"""Parameters of each of them: a world of the usual size."""


def list_scenarios(output: Output) -> int:
    """List what is registered."""
    with refusing(output):
        systems = registered()
    if output.is_json:
        output.document(
            [
                {
                    "name": scenario.name,
                    "system": system.name,
                    "title": scenario.title,
                    "faults": [str(fault) for fault in scenario.faults],
                    "parameters": {key: list(all_) for key, all_ in scenario.parameters.items()},
                    "mutants": [
                        mutant.name
                        for mutant in system.mutants
                        if name_of(mutant.scenario) == scenario.name
                    ],
                }
                for system in systems
                for scenario in system.scenarios
            ]
        )
        return HELD
    for system in systems:
        output.say(scenario_table(system.name, [(s.name, s.title) for s in system.scenarios]))
    if not systems:
        output.say(
            "no system is registered; NAME may be path.py:attribute or package.module:attribute"
        )
    return HELD


def name_of(scenario: Scenario | str) -> str:
    """Return the name of a scenario that is given itself, or by its name."""
    return scenario if isinstance(scenario, str) else scenario.name


def mutants(
    output: Output, *, system: str, names: Sequence[str], runs: int, seed: int, jobs: int
) -> int:
    """Try the mutants of a system."""
    with refusing(output):
        found = find_system(system)
        mutants_of = {mutant.name: mutant for mutant in found.mutants}
        for name in names:
            if name not in mutants_of:
                there = known(mutants_of, name)
                raise Refused(f"{system} has no mutant {name!r}{there}")
        chosen = [mutants_of[name] for name in dict.fromkeys(names)] or list(mutants_of.values())
        rows = [judged(mutant, runs=runs, seed=seed, jobs=jobs) for mutant in chosen]
    if output.is_json:
        output.document({"system": system, "mutants": rows})
    elif rows:
        output.say(kill_table(rows))
    else:
        output.say(f"{system} has no mutants")
    good = all(row["killed"] and row["silent_without_fault"] is not False for row in rows)
    return HELD if good else FAILED


def judged(mutant: Mutant, *, runs: int, seed: int, jobs: int) -> dict[str, Any]:
    """Explore one mutant, and again without faults where it needs one."""
    scenario = mutant.scenario
    if isinstance(scenario, str):
        scenario = resolve(scenario)
    kill = first_kill(mutant, scenario, runs=runs, seed=seed, jobs=jobs)
    silent: bool | None = None
    if mutant.needs_fault:
        calm = explore(
            attrs.evolve(scenario, faults=()), runs=min(runs, SILENT_RUNS), seed=seed,
            mutant=mutant, parameters=mutant.parameters, shrink=False,
        )  # fmt: skip
        silent = not calm.found
    return {
        "name": mutant.name,
        "scenario": scenario.name,
        "killed": kill.is_expected,
        "property": kill.property,
        "expected": list(mutant.expected),
        "runs": kill.runs,
        "silent_without_fault": silent,
    }


def conform(output: Output, *, paths: Sequence[str]) -> int:
    """Run conformance programs."""
    with refusing(output):
        conformance = run_programs(paths)
    if output.is_json:
        output.document(conformance.as_json())
    else:
        for line in conformance.lines():
            output.say(visible(line))
    return HELD if conformance.ok else FAILED


def inspect(output: Output, *, file: str) -> int:
    """Show what a host's file holds."""
    with refusing(output):
        found = inspect_file(file)
    if output.is_json:
        output.document(found.as_json())
    else:
        output.say(inspection(found))
    return HELD


def bench(output: Output) -> int:
    """Measure against yardsticks."""
    with refusing(output):
        measured = run_bench(timed_runs(), output.hint)
    if output.is_json:
        output.document(measured.json())
    else:
        output.say(f"Python {measured.python}, trio {measured.trio}, {measured.machine}", Text())
        output.say(measure_table(measured.json()["measures"]))
    return HELD if measured.ok else FAILED


def timed_runs() -> Runs:
    """Return what takes a number of jobs, and returns the seconds of the same runs with them.

    How many runs those are is what one job does in `BENCH_S`.
    """
    explored = partial(explore, serial_calls, strategy="uniform", parameters=BENCH_RUN)
    count = 0

    def seconds(jobs: int) -> float:
        nonlocal count
        count = count or explored(runs=None, time_s=BENCH_S).runs
        return explored(runs=count, jobs=jobs).seconds

    return seconds
