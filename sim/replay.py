"""Replay files: a failure as JSON that a person can read, and the exact run again.

A file holds the deviations by name. A replay follows them and says where the code no longer does:
a choice that never came up, an option that is not there any more, or another digest at the end.
"""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import attrs

from .choices import Deviation, Recorded, split_name
from .run import Job, RunResult, run_once
from .scenario import Scenario
from .systems import UnknownMutant, find_mutant, resolve

__all__ = [
    "FORMAT",
    "ReplayFile",
    "ReplayVerdict",
    "UnreadableReplay",
    "UnwritableReplay",
    "read_replay",
    "replay",
    "write_replay",
]

FORMAT = 1

DIGITS = 12
"""Digits of a digest in a sentence: enough to tell two apart."""


class UnreadableReplay(ValueError):
    """A replay file is damaged, of another format, or of nothing that is here. Nothing ran.

    The text is one line and names the file.
    """


class UnwritableReplay(ValueError):
    """A failure cannot be written as a replay file. Nothing was written; the text is one line."""


def durasim_version() -> str:
    """Return the version of this package, "unknown" if it is not installed."""
    try:
        return version("durasim")
    except PackageNotFoundError:
        return "unknown"


@attrs.frozen(kw_only=True)
class ReplayFile:
    """Everything that makes a run, and what it showed.

    Attributes:
        scenario: a name that `resolve` finds; a path is relative to the file, or to the current
            folder.
        parameters: of the scenario, as JSON.
        mutant: its name, None for the right code.
        seed: of the entropy.
        strategy: what found it; says nothing to a replay, and may be missing.
        deviations: every choice that was not ordinary, in order.
        property: which did not hold; None if everything held.
        digest: of the trace, 64 hex digits.
        durasim, python: the versions that wrote it.
    """

    scenario: str
    parameters: Mapping[str, Any]
    mutant: str | None
    seed: int
    strategy: str | None
    deviations: tuple[Deviation, ...]
    property: str | None
    digest: str
    durasim: str = attrs.field(factory=durasim_version)
    python: str = attrs.field(factory=platform.python_version)

    def text(self) -> str:
        """Return the content of the file.

        Raises:
            UnwritableReplay: a parameter does not survive JSON.
        """
        for name, value in self.parameters.items():
            if not survives_json(value):
                raise UnwritableReplay(
                    f"parameter {name!r} is {value!r}: JSON does not hold it, so no replay file can"
                )
        document: dict[str, Any] = {
            "format": FORMAT,
            "durasim": self.durasim,
            "python": self.python,
            "scenario": self.scenario,
            "parameters": dict(self.parameters),
            "mutant": self.mutant,
            "seed": self.seed,
            "strategy": self.strategy,
            "deviations": [attrs.asdict(each) for each in self.deviations],
            "property": self.property,
            "digest": self.digest,
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def survives_json(value: Any) -> bool:
    """Whether *value* comes back as it is."""
    try:
        back: Any = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        return False
    return repr(back) == repr(value)


# ---- files


def write_replay(file: ReplayFile, path: str | os.PathLike[str]) -> None:
    """Write *file* to *path*; the path of a scenario becomes relative to its folder.

    Raises:
        UnwritableReplay: a parameter does not survive JSON.
        OSError: the file cannot be written.
    """
    path = Path(path)
    place, found, attribute = file.scenario.rpartition(":")
    if found and place.endswith(".py"):
        place = Path(os.path.relpath(place, path.parent)).as_posix()
        file = attrs.evolve(file, scenario=f"{place}:{attribute}")
    path.write_text(file.text(), encoding="utf-8")


def read_replay(path: str | os.PathLike[str]) -> ReplayFile:
    """Read the file at *path*.

    Raises:
        UnreadableReplay: it is not there, damaged, or of another format.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UnreadableReplay(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnreadableReplay(f"{path}: is not UTF-8 text") from error
    try:
        return parsed(json.loads(text))
    except json.JSONDecodeError as error:
        raise UnreadableReplay(
            f"{path}: is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableReplay(f"{path}: {error}") from error


FIELDS: dict[str, tuple[type, ...]] = {
    "durasim": (str,),
    "python": (str,),
    "scenario": (str,),
    "parameters": (dict,),
    "mutant": (str, type(None)),
    "seed": (int,),
    "deviations": (list,),
    "property": (str, type(None)),
    "digest": (str,),
}
"""What a file must hold, and as what; `strategy` may be missing."""


def parsed(found: Any) -> ReplayFile:
    """Return what the document *found* says, or raise a ValueError that says what is wrong."""
    if not isinstance(found, dict):
        raise ValueError("is no replay file: the top is not an object")
    document = cast(dict[str, Any], found)
    if document.get("format") != FORMAT or document["format"] is True:
        raise ValueError(
            f"is of format {document.get('format')!r}, and this durasim reads {FORMAT}"
        )
    for name, types in FIELDS.items():
        if name not in document:
            raise ValueError(f"has no {name!r}")
        if not isinstance(document[name], types) or isinstance(document[name], bool):
            raise ValueError(f"{name!r} is {document[name]!r}, not {types[0].__name__}")
    strategy = document.get("strategy")
    if not isinstance(strategy, str | None):
        raise ValueError(f"'strategy' is {strategy!r}, not str")
    deviations = tuple(map(deviation, document["deviations"]))
    # Raises for a name that stands twice.
    Recorded((each.choice, each.option) for each in deviations)
    fields: dict[str, Any] = {name: document[name] for name in FIELDS}
    fields |= {"strategy": strategy, "deviations": deviations}
    return ReplayFile(**fields)


def deviation(found: Any) -> Deviation:
    """Return one deviation of a document."""
    names = ("choice", "option", "sentence")
    record = cast(dict[str, Any], found) if isinstance(found, dict) else {}
    if not all(isinstance(record.get(name), str) for name in names):
        raise ValueError(f"a deviation is {found!r}, without the texts {', '.join(names)}")
    split_name(record["choice"])
    return Deviation(record["choice"], record["option"], record["sentence"])


# ---- running


@attrs.frozen
class ReplayVerdict:
    """What a replay showed.

    Attributes:
        result: of the run.
        diverged_at: where the run left the file, None if it did not. One line.
        lenient: whether leaving it is allowed: then the properties alone judge.
    """

    result: RunResult
    diverged_at: str | None
    lenient: bool = False

    @property
    def status(self) -> int:
        """The exit status: 3 if it diverged and may not, 1 if a property failed, else 0."""
        if self.diverged_at is not None and not self.lenient:
            return 3
        return 0 if self.result.ok else 1


def replay(file: str | os.PathLike[str], lenient: bool = False) -> ReplayVerdict:
    """Run what *file* holds again.

    Args:
        file: path of a replay file.
        lenient: apply what still exists, and judge by the properties.

    Raises:
        UnreadableReplay: it cannot be read, or there is no such scenario or mutant.
        UnknownScenario: its scenario is not there, or cannot be loaded.
        RuntimeError: called inside a running trio. Nothing ran.
    """
    path = Path(file)
    read = read_replay(path)
    scenario = resolve(read.scenario, beside=path.parent)
    job = Job(
        scenario=scenario,
        seed=read.seed,
        source=Recorded((each.choice, each.option) for each in read.deviations),
        parameters=read.parameters,
    )
    if read.mutant is None:
        result = run_once(job)
    else:
        try:
            mutant = find_mutant(read.mutant)
        except UnknownMutant as error:
            raise UnreadableReplay(f"{path}: {error}") from error
        with mutant.applied():
            result = run_once(job)
    return ReplayVerdict(result, divergence(read, result), lenient)


def divergence(file: ReplayFile, result: RunResult) -> str | None:
    """Say where *result* leaves *file*, None if it follows it to the end."""
    missing = left_out(file.deviations, result)
    if missing is not None:
        there = any(name == missing.choice for name in result.unknown)
        what = f"has no option {missing.option!r}" if there else "never came up"
        return f"{missing.choice}: the choice {what} ({missing.sentence})"
    if result.digest != file.digest:
        written = f"durasim {file.durasim} on Python {file.python}"
        return (
            f"after every deviation was met, the trace has digest {result.digest[:DIGITS]}…, "
            f"not {file.digest[:DIGITS]}… as with {written}"
        )
    return None


def left_out(deviations: Iterable[Deviation], result: RunResult) -> Deviation | None:
    """Return the first of *deviations* that *result* did not take."""
    taken = {each.choice for each in result.deviations}
    return next((each for each in deviations if each.choice not in taken), None)


def replay_file(
    scenario: Scenario,
    result: RunResult,
    *,
    name: str | None,
    strategy: str | None,
    mutant: str | None,
    found: str | None,
) -> ReplayFile:
    """Return the file of *result*, whose failing property is *found*."""
    return ReplayFile(
        scenario=name or scenario.name,
        parameters=dict(result.parameters),
        mutant=mutant,
        seed=result.seed,
        strategy=strategy,
        deviations=result.deviations,
        property=found,
        digest=result.digest,
    )
