"""Verbs of the command line that run scenarios: run, explore, replay."""

import inspect
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Literal, get_args, get_origin

import attrs
from rich.text import Text

from .diagram import diagram_of
from .explore import Exploration, Found, explore as run_exploration
from .mermaid import mermaid as for_documents
from .mutants import Mutant
from .output import Output
from .progress import progress_bar
from .refusal import FAILED, HELD, INTERRUPTED, Refused, refusing
from .replay import ReplayFile, UnwritableReplay, replay as run_replay, write_replay
from .report import tell, told_of, what_happened
from .run import RunResult
from .scenario import Scenario
from .simulate import simulate
from .systems import find_mutant, registered, resolve
from .tables import sometimes_table, struck_table
from .unstruck import never_struck
from .wording import listed, visible
from .world import Failure

__all__ = ["RUNS", "explore", "replay", "run"]

RUNS = 1000
"""Runs of an exploration that says neither how many nor how long."""

TOLD_COLUMNS = 80
"""Columns of what is said of a replay that diverged."""


def run(
    output: Output,
    *,
    name: str,
    seed: int,
    strategy: str,
    mutant: str | None,
    parameters: Mapping[str, object],
    trace: bool,
    mermaid: bool,
) -> int:
    """Run a scenario once."""
    with refusing(output):
        scenario = resolve(name)
        check_values(scenario, parameters)
        report = simulate(
            scenario,
            seed=seed,
            strategy=strategy,
            parameters=parameters,
            mutant=None if mutant is None else mutant_for(scenario, mutant),
        )
    result = report.result
    if output.is_json:
        output.document(run_document(result))
    show_run(output, result, again=None, trace=trace, mermaid=mermaid)
    return HELD if result.ok else FAILED


def run_document(result: RunResult) -> dict[str, object]:
    """Return the document of one run."""
    return {
        "scenario": result.scenario.name,
        "seed": result.seed,
        "ok": result.ok,
        "failures": [attrs.asdict(failure) for failure in result.failures],
        "digest": result.digest,
        "events": result.events,
        "virtual_seconds": result.virtual_seconds,
        "wall_seconds": result.wall_seconds,
    }


def show_run(
    output: Output, result: RunResult, *, again: str | None, trace: bool, mermaid: bool
) -> None:
    """Say how a run ended, and draw it if asked."""
    if mermaid:
        diagram = diagram_of(result.rows, result.deviations, result.failures)
        output.raw(for_documents(diagram, steps_max=None))
    aside = output.aside if mermaid else output
    if trace:
        aside.lines(what_happened(result, width=aside.width, steps_max=None))
        aside.say()
    for failure in result.failures:
        aside.say(*tell(told_of(result, failure, command=again)))
        aside.say()
    if result.ok:
        deviations = counted(len(result.deviations), "deviation")
        aside.say(Text(f"✓ {result.scenario.name} held, {deviations}", style="bold green"))
        for remark in result.remarks:
            aside.say(Text(visible(f"  {remark}")))
    aside.say(
        Text(
            f"  {counted(result.events, 'event')}, virtual {result.virtual_seconds:g} s, "
            f"wall {result.wall_seconds:.3f} s"
        ),
        Text(f"  digest {result.digest}"),
    )


def counted(count: int, what: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def check_values(scenario: Scenario, parameters: Mapping[str, object]) -> None:
    """Refuse a word where the scenario lists the words that it knows.

    A number that is not listed is a size that nobody has tried yet; a word is a mistake, unless the
    story takes it: what is drawn is what holds, and a `Literal` names what there is beside.
    """
    for key, value in parameters.items():
        drawn = list(scenario.parameters.get(key, ()))
        if drawn and all(isinstance(each, str) for each in drawn):
            known = list(dict.fromkeys([*drawn, *taken(scenario, key)]))
            if value not in known:
                raise Refused(
                    f"{key} is {value!r}; {scenario.name} knows {listed(map(repr, known))}"
                )


def taken(scenario: Scenario, parameter: str) -> tuple[object, ...]:
    """Return what the story's annotation of *parameter* names, if it is a `Literal`."""
    annotation = inspect.get_annotations(scenario.story).get(parameter)
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def mutant_for(scenario: Scenario, name: str) -> Mutant:
    """Return the mutant of that name; one of another system would change nothing in the story."""
    mutant = find_mutant(name)
    home = [each for each in registered() if any(story is scenario for story in each.scenarios)]
    if home and not any(each is mutant for system in home for each in system.mutants):
        raise Refused(
            f"mutant {name!r} is not of {home[0].name}, which {scenario.name} is a story of"
        )
    return mutant


# ---- explore


def explore(
    output: Output,
    *,
    name: str,
    runs: int | None,
    seed: int,
    mutant: str | None,
    strategy: str,
    jobs: int,
    time_s: float | None,
    out: str | None,
    keep_going: bool,
    parameters: Mapping[str, object],
) -> int:
    """Run a scenario many times."""
    if out is not None:
        check_writable(Path(out))
    runs = RUNS if runs is None and time_s is None else runs
    with refusing(output):
        scenario = resolve(name)
        check_values(scenario, parameters)
        with progress_bar(output.errors, scenario.name, runs) as progress:
            exploration = run_exploration(
                scenario,
                runs=runs,
                seed=seed,
                strategy=strategy,
                jobs=jobs,
                time_s=time_s,
                keep_going=keep_going,
                mutant=None if mutant is None else mutant_for(scenario, mutant),
                parameters=parameters,
                progress=progress,
            )
    # The name that was given leads to the scenario from here; what it is loaded as may not.
    replays = [attrs.evolve(found.replay, scenario=name) for found in exploration.found]
    files = [written(output, file, scenario, out, n) for n, file in enumerate(replays)]
    if output.is_json:
        output.document(exploration_document(exploration, files))
    show_exploration(output, exploration, files)
    still = None if strategy == "ordinary" else never_struck(exploration)
    if still is not None:
        output.complain(f"durasim: {still}")
    if exploration.interrupted:
        return INTERRUPTED
    return HELD if exploration.ok else FAILED


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before anything runs; what is in it stays."""
    was_there = path.exists()
    try:
        path.open("a").close()
        if not was_there:
            path.unlink()
    except OSError as error:
        raise Refused(f"{path}: cannot be written: {error.strerror}") from error


def written(
    output: Output, file: ReplayFile, scenario: Scenario, out: str | None, number: int
) -> str | None:
    """Write the replay file of a failure and return its path; None if that failed."""
    stem = re.sub(r"[^\w.-]+", "-", scenario.name)
    path = Path(f"{stem}-{file.seed}.json" if out is None else out)
    if out is not None and number > 0:
        path = path.with_name(f"{path.stem}-{file.seed}{path.suffix}")
    try:
        write_replay(file, path)
    except (OSError, UnwritableReplay) as error:
        why = error.strerror if isinstance(error, OSError) else error
        output.complain(f"durasim: {path}: no replay file was written: {why}")
        return None
    return str(path)


def exploration_document(
    exploration: Exploration, files: Sequence[str | None]
) -> dict[str, object]:
    """Return the document of an exploration."""
    return {
        "scenario": exploration.scenario.name,
        "runs": exploration.runs,
        "distinct": exploration.distinct,
        "failures": [
            {
                "property": found.property,
                "seed": found.seed,
                "deviations": [each.sentence for each in found.deviations],
                "replay": file,
                "shrunk_from": found.shrunk_from,
            }
            for found, file in zip(exploration.found, files, strict=True)
        ],
        "faults": dict(exploration.faults),
        "sometimes": dict(exploration.sometimes),
        "seconds": exploration.seconds,
    }


def show_found(output: Output, found: Found, file: str | None) -> None:
    """Tell one failure, and how *file* replays it."""
    told = told_of(
        found.result,
        Failure(found.property, found.message),
        shrunk_from=found.shrunk_from,
        command=None if file is None else f"durasim replay {shlex.quote(file)}",
    )
    output.say(*tell(told))
    output.say()


def show_exploration(output: Output, exploration: Exploration, files: Sequence[str | None]) -> None:
    """Tell the failures, what struck, and what was reached."""
    for number, (found, file) in enumerate(zip(exploration.found, files, strict=True)):
        show_found(output, found, file)
        if number == 0:
            output.lines(what_happened(found.result, width=output.width))
            output.say()
    for failure in exploration.unreached:
        output.say(Text(visible(f"✗ {failure.property}: {failure.message}"), style="bold red"))
    name = exploration.scenario.name
    runs = f"{counted(exploration.runs, 'run')}, {exploration.distinct:,} distinct, "
    if exploration.ok and not exploration.interrupted:
        output.say(Text(visible(f"✓ {name} held"), style="bold green"))
    if exploration.interrupted:
        output.say(Text("interrupted; this is what was found so far", style="bold yellow"))
    output.say(f"{runs}in {exploration.seconds:.1f} s")
    if exploration.faults:
        output.say(Text(), struck_table(exploration.faults))
    if exploration.sometimes:
        output.say(Text(), sometimes_table(exploration.sometimes))


# ---- replay


def replay(output: Output, *, file: str, lenient: bool, trace: bool, mermaid: bool) -> int:
    """Run exactly what a file recorded."""
    with refusing(output):
        verdict = run_replay(file, lenient)
    result, diverged = verdict.result, verdict.diverged_at
    if output.is_json:
        output.document({**run_document(result), "diverged_at": diverged})
    show_run(output, result, again=None, trace=trace, mermaid=mermaid)
    if diverged is not None:
        aside = output.aside if mermaid else output
        if lenient:
            aside.say(Text(visible(f"it ran leniently, so this may differ from {file}:")))
        else:
            line = Text(visible(f"the code no longer follows {file}:"), style="bold red")
            aside.say(line)
        for row in wrap(visible(diverged), TOLD_COLUMNS - 2, break_on_hyphens=False):
            aside.say(Text(f"  {row}"))
    return verdict.status
