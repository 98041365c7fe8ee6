"""The verb `soak`: tells every story of systems, prints what it came to, and records it."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import attrs
from rich.text import Text

from .comparison import Comparison
from .explore import Exploration, explore
from .exploring import check_writable, counted, show_found, written
from .output import Output
from .progress import progress_bar
from .refusal import FAILED, HELD, INTERRUPTED, Refused, refusing
from .scenario import Scenario
from .soak import STRATEGY, Compared, Soak, Soaked, soak as run_soak
from .systems import registered, resolve
from .tables import table
from .wording import visible

__all__ = ["RECORDED", "soak"]

RECORDED = "<!-- recorded -->"
"""The line of a document below which a soak writes what it came to."""

STORY_COLUMNS = ("story", "runs", "distinct", "struck", "failed")
KIND_COLUMNS = ("fault", "struck")
COMPARED_COLUMNS = ("compared", "runs", "distinct", "failed", "must")
COUNTS = ("runs", "distinct", "struck", "failed")
"""Columns that stand to the right."""

Rows = list[tuple[str, ...]]


def soak(
    output: Output,
    *,
    names: Sequence[str],
    runs: int,
    compared: int | None,
    seed: int,
    strategy: str,
    jobs: int,
    record: str | None,
) -> int:
    """Tell every story of systems and scenarios many times."""
    with refusing(output):
        stories, comparisons = asked_for(names)
        if record is not None:
            check_record(Path(record))
        compared = runs if compared is None else compared
        if runs < len(stories):
            raise Refused(
                f"{counted(runs, 'run')} for {of_stories(stories)}: give at least one to each"
            )
        if 0 < compared < len(comparisons):
            raise Refused(
                f"{counted(compared, 'run')} for {counted(len(comparisons), 'comparison')}: "
                "give at least one to each, or --compared 0"
            )
        found = run_soak(
            stories,
            comparisons,
            runs=runs,
            compared=compared,
            seed=seed,
            strategy=strategy,
            jobs=jobs,
            explored=partial(watched, output),
        )
    files = [
        written(output, each.replay, each.result.scenario, None, 0) for each in found.violations
    ]
    if output.is_json:
        output.document(document_of(found))
    for violation, file in zip(found.violations, files, strict=True):
        show_found(output, violation, file)
    show(output, found)
    if record is not None and not found.interrupted:
        command = f"durasim soak {shlex.join(names)} --runs {runs} --seed {seed}"
        if compared != runs:
            command += f" --compared {compared}"
        if strategy != STRATEGY:
            command += f" --strategy {strategy}"
        keep(Path(record), command, found)
    if found.interrupted:
        return INTERRUPTED
    return HELD if found.ok else FAILED


def asked_for(
    names: Sequence[str],
) -> tuple[list[tuple[str, Scenario]], list[Comparison]]:
    """Return the stories that *names* mean, each a system or a scenario, and what is compared."""
    systems = {system.name: system for system in registered()}
    stories: list[tuple[str, Scenario]] = []
    comparisons: list[Comparison] = []
    for name in dict.fromkeys(names):
        if name in systems:
            stories += [(each.name, each) for each in systems[name].scenarios]
            comparisons += systems[name].comparisons
        else:
            stories.append((name, resolve(name)))
    return stories, comparisons


def of_stories(stories: Sequence[object]) -> str:
    """Write how many there are."""
    return "1 story" if len(stories) == 1 else f"{len(stories)} stories"


def watched(output: Output, scenario: Scenario, *, runs: int, **rest: object) -> Exploration:
    """Explore *scenario*, and show on a terminal how far it is."""
    with progress_bar(output.errors, scenario.name, runs) as progress:
        return explore(
            scenario,
            runs=runs,
            progress=progress,
            **rest,  # type: ignore[arg-type]  # those of `explore`
        )


# ---- what is printed


def story_rows(stories: Sequence[Soaked]) -> Rows:
    """Return what each story came to, and all of them."""
    rows = [
        (
            each.name,
            f"{each.exploration.runs:,}",
            f"{each.exploration.distinct:,}",
            f"{each.struck:,}",
            f"{each.failed:,}",
        )
        for each in stories
    ]
    counts = (
        sum(each.exploration.runs for each in stories),
        sum(each.exploration.distinct for each in stories),
        sum(each.struck for each in stories),
        sum(each.failed for each in stories),
    )
    return [*rows, ("all", *(f"{count:,}" for count in counts))]


def kind_rows(found: Soak) -> Rows:
    """Return how often each kind of fault struck."""
    return [(title, f"{count:,}") for title, count in found.kinds.items()]


def compared_rows(compared: Sequence[Compared]) -> Rows:
    """Return what each value that was compared came to."""
    return [
        (
            each.told,
            f"{each.exploration.runs:,}",
            f"{each.exploration.distinct:,}",
            f"{each.failed:,}",
            "fail" if each.must_fail else "hold",
        )
        for each in compared
    ]


def verdicts(found: Soak) -> list[str]:
    """Return what is said below the tables, a line each."""
    lines = [f"✗ {each}" for each in found.missed]
    reached = [each for story in found.stories for each in story.exploration.sometimes.values()]
    if found.violations:
        lines.append(f"✗ {counted(len(found.violations), 'failure')} of a kind that may not be")
    if found.ok:
        states = f"{sum(reached)} of {len(reached)} `sometimes` were reached, " if reached else ""
        share = found.distinct / found.runs
        lines.append(
            f"✓ {counted(found.runs, 'run')} of {of_stories(found.stories)} held: "
            f"{states}{share:.1%} are distinct"
        )
    return lines


def show(output: Output, found: Soak) -> None:
    """Print the tables, and what they amount to."""
    for columns, rows in tables_of(found):
        made = table(*columns, numbers=COUNTS)
        for row in rows:
            made.add_row(*(Text(visible(cell)) for cell in row))
        output.say(made, Text())
    if found.interrupted:
        output.say(Text("interrupted; this is what was found so far", style="bold yellow"))
    for line in verdicts(found):
        output.say(Text(visible(line), style="bold green" if line[0] == "✓" else "bold red"))
    output.say(f"in {found.seconds:.1f} s")


def tables_of(found: Soak) -> list[tuple[tuple[str, ...], Rows]]:
    """Return the tables of a soak: columns and rows; those without rows are left out."""
    every = [
        (STORY_COLUMNS, story_rows(found.stories)),
        (KIND_COLUMNS, kind_rows(found)),
        (COMPARED_COLUMNS, compared_rows(found.compared)),
    ]
    return [(columns, rows) for columns, rows in every if rows]


def document_of(found: Soak) -> dict[str, object]:
    """Return the document of a soak."""
    return {
        "seed": found.seed,
        "runs": found.runs,
        "distinct": found.distinct,
        "stories": [
            {
                "name": each.name,
                "runs": each.exploration.runs,
                "distinct": each.exploration.distinct,
                "faults": dict(each.exploration.faults),
                "sometimes": dict(each.exploration.sometimes),
                "failed": each.failed,
            }
            for each in found.stories
        ],
        "kinds": dict(found.kinds),
        "compared": [
            {
                "scenario": each.comparison.scenario.name,
                "parameter": each.comparison.parameter,
                "value": each.value,
                "runs": each.exploration.runs,
                "distinct": each.exploration.distinct,
                "failed": each.failed,
                "must": "fail" if each.must_fail else "hold",
            }
            for each in found.compared
        ],
        "bars": attrs.asdict(found.bars),
        "missed": list(found.missed),
        "ok": found.ok,
        "seconds": found.seconds,
    }


# ---- what is recorded


def check_record(path: Path) -> None:
    """Refuse a document that has no place for what is recorded, before anything runs."""
    if path.exists() and not path.is_file():
        # A device may be read without end.
        raise Refused(f"{path}: is no file")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: is not UTF-8 text") from error
    if RECORDED not in text.splitlines():
        raise Refused(f"{path}: there is no line {RECORDED}, below which to write")
    check_writable(path)


def keep(path: Path, command: str, found: Soak) -> None:
    """Write into the document at *path* which command was run, and what it came to."""
    above = path.read_text(encoding="utf-8").partition(RECORDED)[0]
    parts = [f"    {command}", *(markdown(*each) for each in tables_of(found))]
    parts.append("\n".join(f"- {line}" for line in verdicts(found)))
    text = f"{above}{RECORDED}\n\n" + "\n\n".join(parts) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: cannot be written: {error.strerror}") from error


def markdown(columns: Sequence[str], rows: Rows) -> str:
    """Return a table for documents; the columns of counts stand to the right."""
    marks = [
        "---:" if each in ("runs", "distinct", "struck", "failed") else "---" for each in columns
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, marks, *rows))
