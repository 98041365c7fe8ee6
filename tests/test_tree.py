"""The tree keeps its own rules, and each rule is known to be able to fail."""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath

import pytest

from . import tidy
from .tidy import LAYERS, ROOT, named

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

Rule = Callable[[PurePosixPath, ast.Module], Iterator[str]]


def complaints(paths: Iterable[Path], rule: Rule) -> list[str]:
    """Return what *rule* has to say about the files at *paths*."""
    return [line for path in paths for line in rule(named(path), ast.parse(path.read_text()))]


def test_imports_point_down() -> None:
    """An import names its own layer, or a layer below it as a whole."""
    assert complaints(tidy.shipped(), tidy.upward) == []


def test_effects_stay_in_their_layer() -> None:
    """Clocks, files, sockets, threads and entropy are reached for in hosts/ and nowhere else."""
    assert complaints(tidy.shipped(), tidy.effects) == []


def test_random_is_used_in_one_file() -> None:
    """Strategies draw; whatever else is random in a world comes from them or from entropy."""
    users = {str(named(path)) for path in tidy.shipped() if "random" in imported(path)}

    assert users <= {"sim/strategies.py"}


def test_allowances_are_used() -> None:
    """What a file of sim/ may use beyond its layer, it uses: the list stays short."""
    unused = [
        f"{name}: {module}"
        for name, modules in tidy.ALLOWED_IN_SIM.items()
        for module in modules.split()
        if module not in imported(ROOT / "sim" / name)
    ]

    assert unused == []


def imported(path: Path) -> set[str]:
    """Return the first part of every absolute name that the file imports."""
    tree = ast.parse(path.read_text())
    return {parts[0] for _, parts in tidy.imports(named(path), tree)}


def test_files_and_functions_are_short() -> None:
    """400 lines a file and 60 lines a function are enough."""
    found = [
        line for path in tidy.python_files() for line in tidy.size(named(path), path.read_text())
    ]

    assert found == []


def test_modules_have_names_that_say_something() -> None:
    """No module is named for the lack of a better place."""
    assert [line for path in tidy.shipped() for line in tidy.vague(named(path))] == []


def test_nothing_is_left_undone_and_no_machine_is_named() -> None:
    """No marker of later work, and no path that exists on one machine only."""
    found = [
        line for path in tidy.texts() for line in tidy.leftovers(named(path), path.read_text())
    ]

    assert found == []


def test_each_test_can_fail_and_is_run() -> None:
    """Every test asserts something, says what in one line, and none is left out."""
    tests = [path for path in tidy.python_files() if named(path).parts[0] == "tests"]

    assert complaints(tests, tidy.weak_tests) == []


def test_each_test_folder_is_a_package() -> None:
    """Two test files of one name cannot be taken for each other."""
    folders = {path.parent for path in tidy.python_files() if named(path).parts[0] == "tests"}
    bare = sorted(str(named(folder)) for folder in folders if not (folder / "__init__.py").exists())

    assert bare == []


def test_what_is_imported_is_declared() -> None:
    """A dependency of a dependency may go; `pytest` is there whenever its plugin is loaded."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    requirements = [*PROJECT["project"]["dependencies"], *chain(*extras)]
    declared = {re.split(r"[>=]", each)[0] for each in requirements}
    used = {name for path in tidy.shipped() for name in imported(path)}

    assert used - {"", "pytest"} - sys.stdlib_module_names == declared


def test_packages_on_disk_are_packages_in_the_wheel() -> None:
    """An unlisted package works from the checkout and is missing from the wheel."""
    on_disk = {
        "durasim." + ".".join(named(path).parent.parts)
        for path in tidy.shipped()
        if path.name == "__init__.py"
    }
    setuptools = PROJECT["tool"]["setuptools"]

    assert set(setuptools["packages"]) == on_disk
    assert setuptools["packages"] == sorted(on_disk)
    assert setuptools["package-dir"] == {
        name: name.removeprefix("durasim.").replace(".", "/") for name in sorted(on_disk)
    }


def test_modules_stand_in_packages() -> None:
    """A folder without `__init__.py` would be left out of the wheel."""
    bare = [
        str(named(path)) for path in tidy.shipped() if not (path.parent / "__init__.py").exists()
    ]

    assert bare == []


def test_data_files_are_packed() -> None:
    """Whatever lies beside the modules is named by a pattern of the package data."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    missing = [
        str(named(path))
        for layer in LAYERS
        for path in sorted((ROOT / layer).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".py"
        if not any(path.match(pattern) for pattern in patterns)
    ]

    assert missing == []


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_are_typed_and_linked(layer: str) -> None:
    """Each layer ships `py.typed`, and checkers find it under its public name."""
    link = ROOT / "typings" / "durasim" / layer

    assert (ROOT / layer / "py.typed").read_text() == ""
    assert link.is_symlink()
    assert link.readlink() == Path("..", "..", layer)
    assert sorted(path.name for path in link.parent.iterdir()) == sorted(LAYERS)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("wire/frames.py", "from ..actors import Stub"),
        ("wire/frames.py", "from .. import hosts"),
        ("actors/gate.py", "from ..wire.frames import Decoder"),
        ("actors/gate.py", "import durasim.wire"),
        ("actors/gate.py", "from wire import Envelope"),
        ("actors/gate.py", "def late():\n    from ..sim import World"),
        ("hosts/host.py", "from ..sim import World"),
        ("sim/world.py", "from tests import tidy"),
        ("sim/conform/corpus.py", "from ...wire.frames import Decoder"),
        ("actors/runs/claims.py", "from ..fleet import Resident"),
        ("actors/runs/claims.py", "from ..fleet.residents import Resident"),
        ("actors/gate.py", "from .runs import claims"),
        ("sim/fleet/scenarios.py", "from ...actors.runs import RunObject"),
        ("sim/world.py", "from ..actors.fleet import Resident"),
        ("sim/fleet/scenarios.py", "from ...actors.fleet.residents import Resident"),
    ],
)
def test_an_import_that_points_up_is_found(path: str, source: str) -> None:
    """The rule of the arrow can fail."""
    assert len(list(tidy.upward(PurePosixPath(path), ast.parse(source)))) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("actors/gate.py", "from ..wire import Envelope\nfrom .ports import Clock\nimport trio"),
        ("sim/conform/corpus.py", "from ...wire import pack\nfrom ..world import World"),
        (
            "sim/fleet/scenarios.py",
            "from ...actors.fleet import Resident\nfrom ..world import World",
        ),
        ("actors/runs/claims.py", "from ..object import DurableObject\nfrom ...wire import canon"),
    ],
)
def test_an_import_that_points_down_is_let_through(path: str, source: str) -> None:
    """The rule of the arrow does not complain about what is allowed."""
    assert list(tidy.upward(PurePosixPath(path), ast.parse(source))) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("wire/codec.py", "import trio"),
        ("wire/codec.py", "from time import monotonic"),
        ("wire/codec.py", "open('x')"),
        ("actors/gate.py", "import os.path"),
        ("actors/gate.py", "import random"),
        ("actors/gate.py", "datetime.now(UTC)"),
        ("actors/gate.py", "uuid4()"),
        ("actors/gate.py", "await trio.to_thread.run_sync(f)"),
        ("actors/gate.py", "await trio.open_file('x')"),
        ("actors/gate.py", "from trio._core import _run"),
        ("hosts/entropy.py", "from random import Random"),
        ("hosts/entropy.py", "from trio._core import _run"),
        ("sim/world.py", "import socket"),
        ("sim/world.py", "import random"),
        ("sim/world.py", "import trio._core._run"),
    ],
)
def test_an_effect_in_the_wrong_layer_is_found(path: str, source: str) -> None:
    """The rule of effects can fail."""
    assert len(list(tidy.effects(PurePosixPath(path), ast.parse(source)))) == 1


def test_a_long_file_and_a_long_function_are_found() -> None:
    """The rule of sizes can fail."""
    body = "".join(f"    x{number} = {number}\n" for number in range(tidy.FILE_LINES_MAX))
    source = f"def long():\n{body}"

    assert len(list(tidy.size(PurePosixPath("sim/world.py"), source))) == 2


@pytest.mark.parametrize("path", ["actors/utils.py", "sim/core/world.py"])
def test_a_vague_name_is_found(path: str) -> None:
    """The rule of names can fail."""
    assert len(list(tidy.vague(PurePosixPath(path)))) == 1


@pytest.mark.parametrize("line", ["# TO" + "DO later", "# FIX" + "ME", "open('/ho" + "me/me/x')"])
def test_a_leftover_is_found(line: str) -> None:
    """The rule of leftovers can fail."""
    assert len(list(tidy.leftovers(PurePosixPath("README.md"), f"fine\n{line}\n"))) == 1


@pytest.mark.parametrize(
    "source",
    [
        'def test_a():\n    """A."""\n    print(1)',
        'class TestA:\n    async def test_a(self):\n        """A."""',
        "def test_a():\n    assert True",
        '@pytest.mark.skip\ndef test_a():\n    """A."""\n    assert True',
        '@pytest.mark.xfail(strict=True)\ndef test_a():\n    """A."""\n    assert True',
        'def test_a():\n    """A."""\n    pytest.skip("no")\n    assert True',
        'pytest.importorskip("x")',
    ],
)
def test_a_test_that_cannot_fail_is_found(source: str) -> None:
    """The rule of tests can fail."""
    assert len(list(tidy.weak_tests(PurePosixPath("tests/test_a.py"), ast.parse(source)))) == 1


@pytest.mark.parametrize("statement", ["assert x", "with raises(E): f()", "check_value(x)"])
def test_each_way_to_assert_is_known(statement: str) -> None:
    """A bare assertion, an expected error and a checking helper all count."""
    source = f'def test_a():\n    """A."""\n    {statement}'

    assert list(tidy.weak_tests(PurePosixPath("tests/test_a.py"), ast.parse(source))) == []
