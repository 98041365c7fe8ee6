"""Conformance: recordings of the real platform, run here and compared event by event."""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from .stage import observe
from .values import Notation, is_array, is_members

__all__ = ["Conformance", "ProgramResult", "UnreadableCorpus", "conform", "judge", "not_applicable"]

FORMAT: Final = "do-conformance/1"
BACKENDS: Final = ("sqlite", "cache")

Result = Literal["passed", "failed", "not applicable"]


class UnreadableCorpus(Exception):
    """A path holds no recordings that can be read. No program was run."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@attrs.frozen
class ProgramResult:
    """What became of one program on one back end.

    Attributes:
        difference: for "failed", the first difference; for "not applicable", rule and reason.
    """

    id: str
    backend: str
    result: Result
    difference: str | None = None


@attrs.frozen
class Conformance:
    """What became of all programs."""

    programs: tuple[ProgramResult, ...]

    def count(self, result: Result) -> int:
        """How many program and back-end pairs ended so."""
        return sum(program.result == result for program in self.programs)

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.count("failed")

    def as_json(self) -> dict[str, Any]:
        """The document of ``durasim conform --json``."""
        return {
            "passed": self.count("passed"),
            "failed": self.count("failed"),
            "not_applicable": self.count("not applicable"),
            "programs": [attrs.asdict(program) for program in self.programs],
        }

    def lines(self) -> list[str]:
        """The same for people: what failed, what does not apply, and the sums."""
        told = [
            f"{program.result}: {program.id} ({program.backend}): {program.difference}"
            for wanted in ("not applicable", "failed")
            for program in self.programs
            if program.result == wanted
        ]
        sums = (
            f"{self.count('passed')} passed, {self.count('failed')} failed, "
            f"{self.count('not applicable')} not applicable"
        )
        return [*told, sums]


def not_applicable() -> dict[tuple[str, str], str]:
    """The pairs of program and back end that mean nothing here, each with rule and reason."""
    text = files(__name__.rpartition(".")[0]).joinpath("not_applicable.json").read_text("utf-8")
    return {
        (entry["id"], backend): f"{entry['rule']}: {entry['reason']}"
        for entry in json.loads(text)
        for backend in entry["backends"]
    }


def conform(paths: Iterable[str | Path]) -> Conformance:
    """Run every program of the recordings at *paths*: files, or directories of them.

    Raises:
        UnreadableCorpus: one of them cannot be read. Nothing was run.
    """
    programs = [program for path in paths for program in read(Path(path))]
    excused = not_applicable()
    results: list[ProgramResult] = []
    for program in programs:
        for backend in program.get("backends", BACKENDS):
            reason = excused.get((program["id"], backend))
            if reason is None:
                results.append(judge(program, backend))
            else:
                results.append(ProgramResult(program["id"], backend, "not applicable", reason))
    return Conformance(tuple(results))


def read(path: Path) -> list[Mapping[str, Any]]:
    """The programs recorded at *path*, those of a directory by file name.

    Raises:
        UnreadableCorpus: there is nothing, or something else.
    """
    if path.is_dir():
        found = sorted(path.glob("*.json"))
        if not found:
            raise UnreadableCorpus(path, "a directory without recordings (*.json)")
        return [program for each in found for program in read(each)]
    try:
        document: Any = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UnreadableCorpus(path, error.strerror or type(error).__name__) from error
    except ValueError as error:
        raise UnreadableCorpus(path, f"not JSON: {error}") from error
    if not is_members(document) or document.get("format") != FORMAT:
        raise UnreadableCorpus(path, f'not a recording: its "format" is not "{FORMAT}"')
    programs = document.get("programs")
    if not is_array(programs) or not all(map(_is_program, programs)):
        raise UnreadableCorpus(path, "a recording with a program that lacks id, main or expect")
    return list[Mapping[str, Any]](programs)


def _is_program(value: Any) -> bool:
    return is_members(value) and {"id", "main", "objects", "expect"} <= value.keys()


def judge(program: Mapping[str, Any], backend: str) -> ProgramResult:
    """Run one program on one back end and compare."""
    expect = program["expect"]
    wanted = expect.get(backend) or expect["all"]
    observed, fault = observe(program, backend)
    difference = fault or compare(wanted, observed, program.get("order", "total"))
    result: Result = "passed" if difference is None else "failed"
    return ProgramResult(program["id"], backend, result, difference)


def compare(
    wanted: Mapping[str, Notation], observed: Mapping[str, Notation], order: str
) -> str | None:
    """The first difference in words, or None.

    With the order "total" the traces are compared as they are, else those of each participant.
    """
    pairs = [("", wanted["trace"], observed["trace"])]
    if order == "actor":
        who = dict.fromkeys(event["at"] for event in [*wanted["trace"], *observed["trace"]])
        pairs = [(at, _of(at, wanted["trace"]), _of(at, observed["trace"])) for at in who]
    for at, expected, seen in pairs:
        difference = _first_difference(expected, seen)
        if difference is not None:
            return f"{at + ': ' if at else ''}{difference}"
    if not same(wanted["result"], observed.get("result")):
        return f"the result is {_short(observed.get('result'))}, not {_short(wanted['result'])}"
    return None


def _of(at: str, trace: Sequence[Notation]) -> list[Notation]:
    return [event for event in trace if event["at"] == at]


def _first_difference(expected: Sequence[Notation], seen: Sequence[Notation]) -> str | None:
    for place, (wanted, got) in enumerate(zip(expected, seen, strict=False), 1):
        if not same(wanted, got):
            return f"event {place} is {_short(got)}, not {_short(wanted)}"
    if len(seen) < len(expected):
        return f"event {len(seen) + 1} is missing: {_short(expected[len(seen)])}"
    if len(seen) > len(expected):
        return f"event {len(expected) + 1} is one too many: {_short(seen[len(expected)])}"
    return None


def same(a: Notation, b: Notation) -> bool:
    """Whether two notations are the same value: true is not 1, members have no order."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if is_members(a) and is_members(b):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if is_array(a) and is_array(b):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) and isinstance(a, str) == isinstance(b, str)


def _short(notation: Notation) -> str:
    text = json.dumps(notation, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:297]}..."
