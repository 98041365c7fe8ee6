r"""Runs what a document shows, and compares.

A document is run from top to bottom in one directory and one shell, so that `cd` and variables
stay. A fenced block counts in two forms; CONTRIBUTING.md tells authors the same:

- A block whose first line is `# file: NAME` is written to NAME, without that line; a later block
  of the same name replaces it.
- A `console` block holds commands, `$ ...` with `> ...` for each further line, each followed by
  what it prints, stdout and stderr together. A status other than 0 stands as a last line: `[1]`.

In what is expected, a line `…` stands for any lines, none included, and `…` within a line for any
text. Trailing blanks do not count, nor does a blank line at the end. `CHANGING` lists what differs
from run to run and is taken out on both sides. Nothing else is forgiven.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import attrs

SECONDS_MAX = 120
"""Real time that one document may take."""

CHANGING = ((re.compile(r"\b(in|wall) \d+(?:\.\d+)? ?(?:s|ms)\b"), r"\1 TIME"),)
"""What no run repeats: real time, as pytest and our own command line write it."""

FENCE = re.compile(r"^```(\w*)\s*$")
FILE = re.compile(r"^# file: (\S+)$")
STATUS = re.compile(r"^\[(\d+)\]$")


@attrs.frozen(kw_only=True)
class Listing:
    """A file that a document shows."""

    line: int
    name: str
    text: str


@attrs.frozen(kw_only=True)
class Command:
    """A command that a document shows, and what follows it there."""

    line: int
    text: str
    expected: tuple[str, ...]
    status: int


@attrs.frozen(kw_only=True)
class Mismatch:
    """Where a document and its run part."""

    document: str
    command: Command
    status: int | None
    printed: tuple[str, ...]

    def __str__(self) -> str:
        ended = "was not reached" if self.status is None else f"ended with status {self.status}"
        return "\n".join(
            (
                f"{self.document}:{self.command.line}: $ {self.command.text}",
                f"expected, with status {self.command.status}:",
                *(f"    {line}" for line in self.command.expected),
                f"it {ended}, after:",
                *(f"    {line}" for line in self.printed),
            )
        )


def fences(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield each fenced block of *text*: the line of its first line, its language, its lines."""
    language: str | None = None
    start, block = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if match is None:
            block.append(line)
        elif language is None:
            language, start, block = match[1], number + 1, []
        else:
            yield start, language, block
            language = None


def steps(text: str) -> list[Listing | Command]:
    """Return the files and commands of a document, in order."""
    found: list[Listing | Command] = []
    for start, language, block in fences(text):
        match = FILE.match(block[0]) if block else None
        if match is not None:
            found.append(Listing(line=start, name=match[1], text="\n".join(block[1:]) + "\n"))
        elif language == "console":
            found += commands(start, block)
    return found


def commands(start: int, block: Sequence[str]) -> Iterator[Command]:
    """Yield the commands of one block.

    Raises:
        ValueError: it begins with something else than a command.
    """
    places = [place for place, line in enumerate(block) if line.startswith("$ ")]
    if places[:1] != [0]:
        raise ValueError(f"line {start}: a console block begins with a command, `$ ...`")
    for place, end in pairwise((*places, len(block))):
        words, *rest = block[place:end]
        while rest and rest[0].startswith("> "):
            words += "\n" + rest.pop(0)
        status = STATUS.match(rest[-1]) if rest else None
        yield Command(
            line=start + place,
            text=words.replace("\n> ", "\n").removeprefix("$ "),
            expected=tuple(rest if status is None else rest[:-1]),
            status=0 if status is None else int(status[1]),
        )


def plain(lines: Sequence[str]) -> list[str]:
    """Return *lines* without what does not count."""
    kept = [line.rstrip() for line in lines]
    for pattern, word in CHANGING:
        kept = [pattern.sub(word, line) for line in kept]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def agree(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether *printed* is what *expected* allows."""
    reached: set[int] = {0}
    lines = plain(printed)
    for line in plain(expected):
        if line.strip() == "…":
            reached = set(range(min(reached, default=len(lines) + 1), len(lines) + 1))
            continue
        pattern = re.compile("[^\n]*".join(re.escape(part) for part in line.split("…")))
        reached = {
            place + 1 for place in reached if place < len(lines) and pattern.fullmatch(lines[place])
        }
    return len(lines) in reached


def script(found: Sequence[Listing | Command], folder: Path, mark: str) -> str:
    """Return a shell script that does all steps, and prints *mark* and the status after each."""
    lines = ["exec 2>&1 </dev/null"]
    for place, step in enumerate(found):
        if isinstance(step, Listing):
            kept = folder.with_name(f"{folder.name}-listing-{place}")
            kept.write_text(step.text)
            target = shlex.quote(str(folder / step.name))
            lines.append(f'mkdir -p "$(dirname {target})" && cp {shlex.quote(str(kept))} {target}')
        else:
            lines.append(f"eval {shlex.quote(step.text)}; printf '\\n{mark} %s\\n' $?")
    return "\n".join(lines) + "\n"


def environment(folder: Path) -> dict[str, str]:
    """Return what the commands see: this Python's programs first, and nobody's settings."""
    kept = {key: value for key, value in os.environ.items() if key.startswith("COVERAGE_")}
    return kept | {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin")),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "TERM": "dumb",
        "NO_COLOR": "1",
        # A file that is replaced within a second would otherwise run as it was before.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def printed_by(text: str, folder: Path) -> str:
    """Run the script *text* in *folder* and return all it prints, also when it takes too long."""
    with subprocess.Popen(
        ["bash"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as shell:
        try:
            return shell.communicate(f"eval {shlex.quote(text)}", timeout=SECONDS_MAX)[0]
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            return shell.communicate()[0]


def mismatches(name: str, text: str, folder: Path) -> list[Mismatch]:
    """Run the document *text* in the directory *folder* and return where it is not true."""
    found = steps(text)
    mark = "-- status of a command:"
    pieces = printed_by(script(found, folder, mark), folder).split(f"\n{mark} ")
    wrong: list[Mismatch] = []
    said, following = pieces[0], pieces[1:]
    for step in found:
        if isinstance(step, Listing):
            continue
        printed, status = tuple(said.splitlines()), None
        if following:
            ended, _, said = following.pop(0).partition("\n")
            status = int(ended)
        if status != step.status or not agree(step.expected, printed):
            wrong.append(Mismatch(document=name, command=step, status=status, printed=printed))
        if status is None:
            break
    return wrong
