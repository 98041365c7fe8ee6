"""Scenarios as pytest tests.

A scenario at the top of a test module whose name is that of a test (`test_...`) is explored: as
many runs as `durasim_runs` says. If it fails, the failure is told in sentences, and a replay file
is written to `.durasim/`. A fault of its plan that never strikes is a warning of the report. Other
scenarios of a module are left alone: they are for `simulate`.

A replay file in `tests/replays/` is run again, as a regression: it passes if everything holds.
It is run leniently, because the code that mends a fault also changes what happens after it.
"""

import contextlib
import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
import pytest
from rich.console import Console
from rich.text import Text

from .explore import Exploration, Found, explore
from .replay import ReplayVerdict, UnreadableReplay, replay
from .report import tell, told_of, what_happened
from .run import RunResult
from .scenario import Scenario
from .strategies import DEFAULT_STRATEGY, STRATEGIES, UnknownStrategy
from .systems import UnknownScenario
from .unstruck import never_struck
from .world import Failure

__all__ = ["FaultNeverStruck", "ReplayItem", "ScenarioFailed", "ScenarioItem"]

N = TypeVar("N", bound=pytest.Item | pytest.Collector)

RUNS = 100
"""Runs of a scenario in a test, if nobody says otherwise: about a quarter of a second."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what can be set, in the configuration and for one session."""
    parser.addini("durasim_runs", "runs of each scenario", default=str(RUNS))
    parser.addini("durasim_seed", "the first seed", default="0")
    parser.addini("durasim_strategy", "where choices come from", default=DEFAULT_STRATEGY)
    parser.addini("durasim_found", "folder for replay files of failures", default=".durasim")
    parser.addini("durasim_replays", "folder of regressions", default="tests/replays")
    group = parser.getgroup("durasim", "scenarios")
    group.addoption("--durasim-runs", metavar="N", help="runs of each scenario")
    group.addoption("--durasim-seed", metavar="N", help="the first seed")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse settings that cannot be used before anything is collected."""
    Settings.of(config)


@attrs.frozen(kw_only=True)
class Settings:
    """What the configuration says."""

    runs: int
    seed: int
    strategy: str
    found: Path
    replays: Path

    @classmethod
    def of(cls, config: pytest.Config) -> "Settings":
        """Read them."""
        strategy = str(config.getini("durasim_strategy"))
        if strategy not in STRATEGIES:
            raise pytest.UsageError(f"durasim_strategy: {UnknownStrategy(strategy)}")
        return cls(
            runs=_number(config, "runs", least=1),
            seed=_number(config, "seed", least=0),
            strategy=strategy,
            found=config.rootpath / str(config.getini("durasim_found")),
            replays=config.rootpath / str(config.getini("durasim_replays")),
        )


def _number(config: pytest.Config, name: str, *, least: int) -> int:
    text = config.getoption(f"durasim_{name}")
    if text is None:
        text = str(config.getini(f"durasim_{name}"))
    if not str(text).isdecimal() or int(text) < least:
        raise pytest.UsageError(f"durasim_{name} is {text!r}, not a number from {least} on")
    return int(text)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Item | None:
    """Make a test of a scenario that is named as one."""
    is_ours = isinstance(obj, Scenario) and isinstance(collector, pytest.Module)
    if not is_ours or not collector.funcnamefilter(name):
        return None
    return made(ScenarioItem, collector, name=name, scenario=obj)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the replay files among the regressions."""
    if file_path.suffix == ".json" and file_path.parent == Settings.of(parent.config).replays:
        return made(ReplayCollector, parent, path=file_path)
    return None


class ScenarioFailed(Exception):
    """A scenario did not hold; the text tells it."""


class FaultNeverStruck(UserWarning):
    """A fault of a scenario's plan struck in no run of its test."""


class ScenarioItem(pytest.Item):
    """One scenario, explored."""

    def __init__(self, *, scenario: Scenario, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.scenario = scenario
        self.obj = scenario
        """What pytest-trio looks at: it is no coroutine function."""

    def runtest(self) -> None:
        """Explore it.

        Raises:
            ScenarioFailed: something did not hold.
        """
        settings = Settings.of(self.config)
        exploration = explore(
            self.scenario, runs=settings.runs, seed=settings.seed, strategy=settings.strategy
        )
        if not exploration.ok:
            raise ScenarioFailed(text_of(self._told(exploration, settings)))
        if exploration.interrupted:
            raise KeyboardInterrupt
        still = never_struck(exploration)
        if still is not None:
            self._remark(FaultNeverStruck(still))

    def _remark(self, warning: FaultNeverStruck) -> None:
        """Have *warning* in the report; where warnings are errors, it is one all the same."""
        path, line, _ = self.reportinfo()
        try:
            warnings.warn_explicit(warning, None, str(path), line + 1)
        except FaultNeverStruck:
            message = warnings.WarningMessage(warning, FaultNeverStruck, str(path), line + 1)
            self.config.hook.pytest_warning_recorded.call_historic(
                kwargs={
                    "warning_message": message,
                    "nodeid": self.nodeid,
                    "when": "runtest",
                    "location": None,
                }
            )

    def _told(self, exploration: Exploration, settings: Settings) -> Iterable[Text]:
        for failure in exploration.unreached:
            yield Text(f"✗ {self.scenario.name}: {failure.property}: {failure.message}")
            yield Text("  A `sometimes` that is never true shows that nothing was tried.")
        for found in exploration.found:
            file = self._written(found, settings)
            told = told_of(
                found.result,
                Failure(found.property, found.message),
                shrunk_from=found.shrunk_from,
                command=command(file, self.config),
            )
            yield from (*tell(told), Text(), *drawn(found.result))

    def _written(self, found: Found, settings: Settings) -> Path:
        name = re.sub(r"[^\w.-]+", "-", f"{self.path.stem}-{self.name}-{found.seed}")
        settings.found.mkdir(parents=True, exist_ok=True)
        ignore = settings.found / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        file = settings.found / f"{name}.json"
        # From the root of the tests, so that the file may be moved to the regressions as it is.
        place = Path(os.path.relpath(self.path, self.config.rootpath)).as_posix()
        replay = attrs.evolve(found.replay, scenario=f"{place}:{self.name}")
        file.write_text(replay.text(), encoding="utf-8")
        return file

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Return the sentences; anything else as pytest shows it."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands."""
        line = self.scenario.story.__code__.co_firstlineno - 1
        return self.path, line, self.name


class ReplayCollector(pytest.File):
    """A replay file."""

    def collect(self) -> Iterable[pytest.Item]:
        """One test."""
        yield made(ReplayItem, self, name="replay")


class ReplayItem(pytest.Item):
    """What a replay file recorded, run again."""

    obj = None
    """What pytest-trio looks at: it is no coroutine function."""

    def runtest(self) -> None:
        """Run it leniently.

        Raises:
            ScenarioFailed: something does not hold, or the file cannot be used.
        """
        try:
            # Paths in the file are from the root of the tests, or from its own folder.
            with contextlib.chdir(self.config.rootpath):
                verdict = replay(self.path, lenient=True)
        except (UnreadableReplay, UnknownScenario) as error:
            raise ScenarioFailed(str(error)) from error
        if verdict.diverged_at is not None:
            self.add_report_section("call", "durasim", f"not as recorded: {verdict.diverged_at}")
        if not verdict.result.ok:
            raise ScenarioFailed(text_of(self._told(verdict)))

    def _told(self, verdict: ReplayVerdict) -> Iterable[Text]:
        again = command(self.path, self.config, "--lenient")
        for failure in verdict.result.failures:
            yield from (*tell(told_of(verdict.result, failure, command=again)), Text())
        yield from drawn(verdict.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Return the sentences; anything else as pytest shows it."""
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands."""
        return self.path, 0, f"replay of {self.path.name}"


def made(cls: type[N], parent: pytest.Collector, **given: object) -> N:
    """Make a node; pytest does not type what it takes."""
    from_parent = cast("Callable[..., N]", getattr(cls, "from_parent"))  # noqa: B009
    return from_parent(parent, **given)


def drawn(result: RunResult) -> list[Text]:
    """Draw the chart of a run as wide as the terminal is."""
    return what_happened(result, width=Console(stderr=True).width)


def text_of(lines: Iterable[Text]) -> str:
    """Return the lines as one text."""
    return "\n".join(line.plain for line in lines)


def command(path: Path, config: pytest.Config, *options: str) -> str:
    """Return the command that runs a replay file again, from where pytest was started."""
    root = config.rootpath
    place = path.relative_to(root) if path.is_relative_to(root) else path
    words = shlex.join(("durasim", "replay", *options, str(place)))
    return (
        words if config.invocation_params.dir == root else f"cd {shlex.quote(str(root))} && {words}"
    )
