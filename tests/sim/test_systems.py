"""Scenarios are found by what the command line and replay files call them."""

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from durasim.sim import (
    Mutant,
    Scenario,
    System,
    UnknownMutant,
    UnknownScenario,
    UnknownSystem,
    find_mutant,
    find_system,
    registered,
    resolve,
    scenario,
    systems,
)
from durasim.sim.systems import known, reference

from .stories import retried, right

SOURCE = '''
"""A scenario of somebody's own."""
from durasim.sim import scenario
import beside_it

@scenario()
async def mine(world):
    """Mine."""

@scenario()
async def other(world):
    """Another."""
'''

MUTANT = Mutant("backwards", "tests.sim.stories:step", abs, right, ["never_negative"])
DEMO = System("demo", [right, retried], mutants=[MUTANT])


def only(*points: EntryPoint) -> Callable[..., EntryPoints]:
    """Return what stands for `entry_points`."""

    def found(*, group: str) -> EntryPoints:
        assert group == "durasim.systems"
        return EntryPoints(points)

    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Go to a folder with a scenario file; modules loaded from there are forgotten afterwards."""
    (tmp_path / "own_story.py").write_text(SOURCE)
    (tmp_path / "beside_it.py").write_text("")
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register one system."""
    point = EntryPoint("demo", "tests.sim.test_systems:DEMO", "durasim.systems")
    monkeypatch.setattr(systems, "entry_points", only(point))
    registered.cache_clear()
    yield
    registered.cache_clear()


def test_a_path_and_an_attribute_name_a_scenario(folder: Path) -> None:
    """The file is loaded once; modules beside it are found."""
    assert resolve("own_story.py:mine").name == "mine"
    assert resolve("own_story.py:mine") is resolve(f"{folder}/own_story.py:mine")


def test_a_path_is_tried_beside_the_file_that_names_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay file finds its scenario wherever it is read from."""
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")

    assert resolve("own_story.py:mine", beside=folder).name == "mine"
    with pytest.raises(UnknownScenario, match=r"^there is no file own_story\.py$"):
        resolve("own_story.py:mine")


def test_a_file_in_a_package_is_imported_as_part_of_it(folder: Path) -> None:
    """Its relative imports work."""
    package = folder / "parcel"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("VALUE = 3\n")
    (package / "story.py").write_text("from .inner import VALUE\n" + SOURCE)

    assert resolve("parcel/story.py:mine").story.__module__ == "parcel.story"


def test_a_module_and_an_attribute_name_a_scenario(folder: Path) -> None:
    """Modules of the current folder are found too."""
    assert resolve("tests.sim.stories:right") is right
    assert resolve("own_story:mine").name == "mine"
    assert str(folder) in sys.path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "no scenario is called 'nothing'; "),
        ("own_story.py:none", "own_story.py has no scenario 'none'; there is mine, other"),
        ("own_story.py:scenario", "own_story.py has no scenario 'scenario'; there is mine, other"),
        ("away.py:mine", "there is no file away.py"),
        ("not_there:mine", "module 'not_there' cannot be loaded: ModuleNotFoundError"),
        ("broken.py:mine", "broken.py cannot be loaded: SyntaxError"),
        ("raising.py:mine", "raising.py cannot be loaded: ZeroDivisionError: division by zero"),
        ("json.py:mine", "json.py cannot be loaded: a module 'json' from elsewhere is"),
        (":mine", "module '' cannot be loaded"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(folder: Path, name: str, message: str) -> None:
    """Status 2 and one line need an error of one line."""
    (folder / "broken.py").write_text("def (:\n")
    (folder / "raising.py").write_text("1 / 0\n")
    (folder / "json.py").write_text(SOURCE)

    with pytest.raises(UnknownScenario) as caught:
        resolve(name)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_scenario_has_a_name_that_finds_it(folder: Path) -> None:
    """A file below the current folder by path, everything else by module."""
    assert reference(resolve("own_story.py:other")) == "own_story.py:other"
    assert reference(right) == "tests.sim.stories:right"
    assert folder.is_dir()


def test_a_scenario_that_stands_nowhere_has_no_name() -> None:
    """One made inside of a function cannot be found again."""

    @scenario()
    async def local(world: object) -> None:
        del world

    assert reference(local) is None


@pytest.mark.usefixtures("demo")
def test_a_registered_scenario_goes_by_its_own_name() -> None:
    """Names, systems and mutants are those of the entry point."""
    assert registered() == (DEMO,)
    assert resolve("retried") is retried
    assert reference(retried) == "retried"
    assert find_system("demo") is DEMO
    assert find_mutant("backwards") is MUTANT


def test_an_empty_registry_is_said_to_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than named with nothing behind it."""
    monkeypatch.setattr(systems, "registered", tuple)
    with pytest.raises(UnknownScenario, match="called 'none'; none is registered"):
        resolve("none")


@pytest.mark.usefixtures("demo")
def test_unknown_names_are_told_with_the_known_ones() -> None:
    """The three errors name what there is."""
    with pytest.raises(UnknownScenario, match="called 'none'; there is right, retried"):
        resolve("none")
    with pytest.raises(UnknownSystem, match="called 'none'; there is demo"):
        find_system("none")
    with pytest.raises(UnknownMutant, match="called 'none'; there is backwards"):
        find_mutant("none")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("name-7", "; near to it is name-7x; `durasim list --json` has all 20"),
        ("nane-7y", "; near to it is name-7x, name-17x; `durasim list --json` has all 20"),
        ("zzz", "; `durasim list --json` has all 20"),
        ("", "; `durasim list --json` has all 20"),
    ],
)
def test_of_many_names_the_near_ones_are_told(asked: str, told: str) -> None:
    """A line of all of them is read by nobody."""
    assert known([f"name-{number}x" for number in range(20)], asked) == told


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("tests.sim.test_systems:SOURCE", "system 'demo' is a str, no System"),
        ("tests.sim.test_systems:GONE", "system 'demo' cannot be loaded: AttributeError"),
    ],
)
def test_an_entry_point_that_is_no_system_is_an_error(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    """A broken installation is told in one line."""
    point = EntryPoint("demo", value, "durasim.systems")
    monkeypatch.setattr(systems, "entry_points", only(point))
    registered.cache_clear()

    with pytest.raises(UnknownSystem, match=message):
        registered()
    registered.cache_clear()


def test_without_systems_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty registry is no error."""
    monkeypatch.setattr(systems, "entry_points", only())
    registered.cache_clear()

    assert registered() == ()
    registered.cache_clear()


def test_a_scenario_with_other_faults_is_another_scenario() -> None:
    """Its name would find the one with faults, so it has none."""
    calm = Scenario(retried.name, retried.story)

    assert reference(calm) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import attrs\n\nimport nosuch\n", "No module named 'nosuch' (broken.py:3)"),
        ("x = (\n", "SyntaxError: '(' was never closed (broken.py:1)"),
        (
            "from durasim.sim import scenario\n\n@scenario\nasync def a(world): ...\n",
            "write @scenario() with parentheses (broken.py:3)",
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_says_where(tmp_path: Path, text: str, said: str) -> None:
    """File and line of whoever wrote it, not of the machinery that loads it."""
    file = tmp_path / "broken.py"
    file.write_text(text)

    with pytest.raises(UnknownScenario, match=rf"{re.escape(said)}$"):
        resolve(f"{file}:a")
