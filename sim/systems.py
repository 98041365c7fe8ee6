"""Systems and scenarios by name: what the command line and replay files call them.

A system registers through the entry-point group `durasim.systems`. A scenario is found by its name
in a registered system, as `package.module:attr`, or as `path.py:attr`.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from .comparison import Comparison
from .errors import describe
from .mutants import Mutant
from .properties import Property
from .scenario import Scenario

__all__ = [
    "System",
    "UnknownMutant",
    "UnknownScenario",
    "UnknownSystem",
    "find_mutant",
    "find_system",
    "load",
    "reference",
    "registered",
    "resolve",
]

GROUP = "durasim.systems"

FEW = 12
"""So many names are all said in one line; of more, those near to what was asked for."""


class UnknownScenario(LookupError):
    """No scenario is found by that name. Nothing ran; the text is one line."""


class UnknownMutant(LookupError):
    """No mutant has that name. Nothing ran; the text is one line."""


class UnknownSystem(LookupError):
    """No system has that name, or one cannot be loaded. Nothing ran; the text is one line."""


def _scenarios(given: Iterable[Scenario]) -> tuple[Scenario, ...]:
    return tuple(given)


def _properties(given: Iterable[Property[Any]]) -> tuple[Property[Any], ...]:
    return tuple(given)


def _mutants(given: Iterable[Mutant]) -> tuple[Mutant, ...]:
    return tuple(given)


def _comparisons(given: Iterable[Comparison]) -> tuple[Comparison, ...]:
    return tuple(given)


@attrs.frozen
class System:
    """What belongs together and is explored together.

    Attributes:
        name: how the command line knows it.
        scenarios: its stories; their names are unique.
        properties: what must hold in them.
        mutants: what they must find.
        comparisons: stories that some of its designs stand, and others do not.
    """

    name: str
    scenarios: tuple[Scenario, ...] = attrs.field(converter=_scenarios)
    properties: tuple[Property[Any], ...] = attrs.field(default=(), converter=_properties)
    mutants: tuple[Mutant, ...] = attrs.field(default=(), converter=_mutants)
    comparisons: tuple[Comparison, ...] = attrs.field(default=(), converter=_comparisons)


@cache
def registered() -> tuple[System, ...]:
    """Return every system of the entry-point group, in order of name.

    Raises:
        UnknownSystem: an entry point cannot be loaded, or is no `System`.
    """
    systems: list[System] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            system = point.load()
        except Exception as error:
            raise UnknownSystem(f"system {point.name!r} cannot be loaded: {said(error)}") from error
        if not isinstance(system, System):
            raise UnknownSystem(f"system {point.name!r} is a {type(system).__name__}, no System")
        systems.append(system)
    return tuple(systems)


def find_system(name: str) -> System:
    """Return the registered system of that name.

    Raises:
        UnknownSystem: there is none.
    """
    systems = {system.name: system for system in registered()}
    if name not in systems:
        raise UnknownSystem(f"no system is called {name!r}{known(systems)}")
    return systems[name]


def find_mutant(name: str) -> Mutant:
    """Return the mutant of that name of any registered system.

    Raises:
        UnknownMutant: there is none.
    """
    mutants = {mutant.name: mutant for system in registered() for mutant in system.mutants}
    if name not in mutants:
        raise UnknownMutant(f"no mutant is called {name!r}{known(mutants, name)}")
    return mutants[name]


def resolve(name: str, *, beside: Path | None = None) -> Scenario:
    """Return the scenario that *name* means.

    Args:
        name: of a registered scenario, `package.module:attr`, or `path.py:attr`.
        beside: a folder from which a path is tried first; then the current one.

    Raises:
        UnknownScenario: there is none, or its module cannot be loaded.
    """
    place, found, attribute = name.rpartition(":")
    if not found and name.endswith(".py"):
        there = [f"{name}:{each}" for each in scenarios_of(load(name, beside=beside))]
        raise UnknownScenario(f"{name} is a file{known(there) or ' without a scenario'}")
    if not found:
        scenarios = {each.name: each for system in registered() for each in system.scenarios}
        if name not in scenarios:
            hint = (
                known(scenarios, name)
                or "; none is registered: use path.py:attr or package.module:attr"
            )
            raise UnknownScenario(f"no scenario is called {name!r}{hint}")
        return scenarios[name]
    module = load(place, beside=beside)
    scenario = getattr(module, attribute, None)
    if not isinstance(scenario, Scenario):
        raise UnknownScenario(f"{place} has no scenario {attribute!r}{known(scenarios_of(module))}")
    return scenario


def scenarios_of(module: ModuleType) -> list[str]:
    """Return the names that *module* has for scenarios."""
    return [name for name, value in vars(module).items() if isinstance(value, Scenario)]


def known(names: Iterable[str], asked: str = "") -> str:
    """Say what there is, of many what is near to what was *asked* for; or nothing."""
    there = list(names)
    if len(there) <= FEW:
        return f"; there is {', '.join(there)}" if there else ""
    holding = [each for each in there if asked and asked in each]
    near = ", ".join((holding or get_close_matches(asked, there))[:3])
    return (
        f"; {f'near to it is {near}; ' if near else ''}`durasim list --json` has all {len(there)}"
    )


def load(place: str, *, beside: Path | None = None) -> ModuleType:
    """Return the module *place*: its dotted name, or the path of a file that ends in `.py`.

    Raises:
        UnknownScenario: it is not there, or raises when it is loaded.
    """
    if not place.endswith(".py"):
        return imported(place)
    folders = [Path.cwd()] if beside is None else [beside, Path.cwd()]
    for folder in folders:
        path = (folder / place).resolve()
        if path.is_file():
            return loaded(path, place)
    raise UnknownScenario(f"there is no file {place}")


def imported(name: str) -> ModuleType:
    """Import *name*; modules of the current folder are found, as with `python -m`."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise UnknownScenario(f"module {name!r} cannot be loaded: {said(error)}") from error


def loaded(path: Path, place: str) -> ModuleType:
    """Load a file; one that is loaded already is taken as it is.

    A file in a package is imported as part of it, so that its relative imports work.
    """
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and os.path.realpath(file) == str(path):
            return module
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    name = ".".join(parts)
    spec = importlib.util.spec_from_file_location(name, path)
    if name in sys.modules or spec is None or spec.loader is None:
        raise UnknownScenario(f"{place} cannot be loaded: a module {name!r} from elsewhere is")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        if len(parts) > 1:
            importlib.import_module(name.rpartition(".")[0])
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UnknownScenario(f"{place} cannot be loaded: {said(error)}") from error
    return module


def reference(scenario: Scenario) -> str | None:
    """Return a name that `resolve` finds *scenario* by here, None if there is none."""
    for system in registered():
        if any(each is scenario for each in system.scenarios):
            return scenario.name
    name = scenario.story.__module__
    module = sys.modules.get(name)
    attribute = next(
        (
            each
            for each, value in vars(module).items()
            if isinstance(value, Scenario) and value.story is scenario.story and value == scenario
        )
        if module is not None
        else iter(()),
        None,
    )
    if attribute is None:
        return None
    file = getattr(module, "__file__", None)
    if file is not None and not name.startswith("durasim."):
        path = Path(file).resolve()
        if name == "__main__" or path.is_relative_to(Path.cwd()):
            return f"{Path(os.path.relpath(path)).as_posix()}:{attribute}"
    return None if name == "__main__" else f"{name}:{attribute}"


def said(error: BaseException) -> str:
    """Return in one line what *error* says, and where in the code of whoever wrote it it rose."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        place = f"{os.path.basename(error.filename)}:{error.lineno}"
        return f"{type(error).__name__}: {error.msg} ({place})"
    return describe(error)
