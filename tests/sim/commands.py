"""A folder with scenarios, and the command line run in it, inside this process or outside."""

import itertools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from durasim.sim.cli import main

SHOP = '''\
from durasim.actors import DurableObject
from durasim.sim import LoseReply, scenario, sometimes
from durasim.wire import OutcomeUnknown


class Cart(DurableObject):
    """Counts."""

    async def add(self) -> int:
        """Add one."""
        total = await self.storage.get("total", 0) + 1
        await self.storage.put("total", total)
        return total


@sometimes
def two_are_in(world):
    """A cart with two things in it is reached."""
    return world.stored(Cart, "c").get("total", 0) >= 2


async def shop(world, count, retry):
    cart = world.client("alice").get(Cart, "c")
    for _ in range(count):
        is_sure = False
        while not is_sure:
            try:
                await cart.add()
                is_sure = True
            except OutcomeUnknown:
                is_sure = not retry
    total = world.stored(Cart, "c")["total"]
    assert total == count, f"{count} were bought, {total} are in the cart"


PARAMETERS = {"count": (1, 2), "topology": ("direct", "wire")}


@scenario(faults=(LoseReply(at_most=2),), parameters=PARAMETERS)
async def twice(world, count=1, topology="direct"):
    """Whoever tries again buys twice."""
    await shop(world, count, True)


@scenario(faults=(LoseReply(),), properties=(two_are_in,))
async def once(world, count=2):
    """Whoever does not try again does not."""
    await shop(world, count, False)


@scenario(properties=(two_are_in,))
async def alone(world):
    """Only one is ever bought."""
    await shop(world, 1, False)


@scenario()
async def noisy(world):
    """Prints."""
    print("a print of the scenario")
'''

NUMBERS = itertools.count()


@attrs.frozen
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout; fails if there is anything else."""
        return json.loads(self.out)


class Folder:
    """A folder in which commands run."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self.module = f"shop_{next(NUMBERS)}"
        """Name of the module with the scenarios: another one in each folder."""
        self._capsys = capsys
        self.write(f"{self.module}.py", SHOP)

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return path

    def name(self, attribute: str) -> str:
        """Return a scenario's name for the command line."""
        return f"{self.module}.py:{attribute}"

    def run(self, *arguments: str) -> Ran:
        """Run a command in this process."""
        self._capsys.readouterr()
        status = main(arguments)
        captured = self._capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    def refused(self, *arguments: str) -> str:
        """Run a command that must be refused, and return its one line."""
        ran = self.run(*arguments)
        assert ran.status == 2, ran
        assert ran.out == ""
        assert ran.err.endswith("\n")
        assert ran.err.count("\n") == 1
        assert ran.err.startswith("durasim")
        return ran.err.rstrip()


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Folder]:
    """A folder with the shop in it, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    path, modules = list(sys.path), set(sys.modules)
    yield Folder(tmp_path, capsys)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]


def outside(
    path: Path, *arguments: str, script: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own; *script* is a shell line that runs it."""
    python = [sys.executable, "-m", "durasim.sim.cli"]
    call = [*python, *arguments]
    if script is not None:
        call = ["bash", "-c", script.replace("durasim ", f"{shlex.join(python)} ")]
    return subprocess.run(
        call,
        cwd=path,
        env={**os.environ, "COLUMNS": "80", **environment},
        capture_output=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        timeout=60,
    )
