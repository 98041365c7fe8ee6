"""Mutants: right code with one function replaced, for one run.

The right code has no switches. A mutant is a patch beside the properties that must report it; a
kill table says which were found, by which property, and whether they keep still without
their fault.
"""

import importlib
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

import attrs

from .properties import Property
from .scenario import Scenario

__all__ = ["Mutant", "UnknownTarget"]


class UnknownTarget(LookupError):
    """What a mutant is to replace is not there. Nothing was replaced; the text is one line."""


def _names(expected: Iterable[str | Property[Any]]) -> tuple[str, ...]:
    return tuple(each if isinstance(each, str) else each.name for each in expected)


@attrs.frozen
class Mutant:
    """One function or method replaced by a wrong one.

    Attributes:
        name: how the kill table knows it.
        target: `package.module:function` or `package.module:Class.method`, defined there.
        replacement: the wrong code; of a static or class method, the plain function.
        scenario: which must find it: the scenario, or a name that `resolve` knows.
        expected: the properties, or their names, of which one must report it.
        parameters: of the scenario; drawn by the seed where they are not given.
        needs_fault: whether it must keep still when the fault plan is empty.
    """

    name: str
    target: str
    replacement: Callable[..., Any] = attrs.field(eq=False)
    scenario: Scenario | str
    expected: tuple[str, ...] = attrs.field(converter=_names)
    parameters: Mapping[str, Any] = attrs.field(factory=dict[str, Any], kw_only=True)
    needs_fault: bool = attrs.field(default=True, kw_only=True)

    @contextmanager
    def applied(self) -> Generator[None]:
        """Replace the target, also where it was imported by name; what was there is put back.

        Raises:
            UnknownTarget: it is not there.
        """
        owner, attribute = self._owner()
        right = cast(dict[str, Any], vars(owner))[attribute]
        wrong: Any = self.replacement
        if isinstance(right, staticmethod):
            wrong = staticmethod(wrong)
        elif isinstance(right, classmethod):
            wrong = classmethod(wrong)
        owners = [owner, *_importers(owner, attribute, right)]
        for each in owners:
            setattr(each, attribute, wrong)
        try:
            yield
        finally:
            for each in owners:
                setattr(each, attribute, right)

    def _owner(self) -> tuple[Any, str]:
        place, _, path = self.target.partition(":")
        *parents, attribute = path.split(".")
        try:
            owner: Any = importlib.import_module(place)
            for parent in parents:
                owner = getattr(owner, parent)
        except (ImportError, AttributeError, ValueError) as error:
            raise UnknownTarget(f"mutant {self.name!r} finds no {self.target}: {error}") from error
        if attribute not in getattr(owner, "__dict__", {}):
            raise UnknownTarget(f"mutant {self.name!r}: {self.target} is not defined there")
        return owner, attribute


def _importers(owner: Any, attribute: str, right: Any) -> list[ModuleType]:
    """Return the modules of the same package that imported a module's function by its name."""
    if not isinstance(owner, ModuleType):
        return []
    package = owner.__name__.partition(".")[0]
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] == package
        and module is not owner
        and vars(module).get(attribute) is right
    ]
