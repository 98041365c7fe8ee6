"""Faults of a plan that never struck: what they stand for was not tried, and why that may be."""

from ..actors import DurableObject
from .explore import Exploration
from .fault import Fault
from .wording import listed, visible

__all__ = ["never_struck"]

SHOWN_MAX = 3
"""Faults that are named; of more, the number is told."""


def never_struck(exploration: Exploration) -> str | None:
    """Say in one line which faults of the plan struck in no run; None if each did.

    Nothing is said of a batch that was cut short, by a failure or by Ctrl-C.
    """
    if exploration.found or exploration.interrupted:
        return None
    struck = exploration.faults
    plan = exploration.scenario.faults
    still = [each for each in plan if each.at_most > 0 and not struck.get(str(each), 0)]
    if not still:
        return None
    names = [visible(f"{each}{why(each)}") for each in still[:SHOWN_MAX]]
    if len(still) > SHOWN_MAX:
        names.append(f"{len(still) - SHOWN_MAX} more")
    runs = exploration.runs
    count = "the only run" if runs == 1 else f"any of {runs:,} runs"
    return f"{exploration.scenario.name}: never struck in {count}: {listed(names)}"


def why(fault: Fault) -> str:
    """Say in brackets what is wrong with the place of *fault*, as far as the classes tell."""
    if isinstance(fault.where, type | None) or fault.kinds == ("query",):
        return ""
    name = fault.where if isinstance(fault.where, str) else fault.where.__qualname__
    classes = objects_named(name)
    owner, dot, method = name.rpartition(".")
    if classes or not dot:
        return ""
    classes = objects_named(owner)
    methods = sorted({each for cls in classes for each in cls.methods})
    if not classes or method in methods or method == "alarm":
        return ""
    return f" ({owner} has no method {method!r}; it has {listed(methods) or 'none'})"


def objects_named(name: str) -> list[type[DurableObject]]:
    """Return the classes of objects that are loaded and stored as *name*."""
    found: list[type[DurableObject]] = []
    following: list[type[DurableObject]] = [DurableObject]
    while following:
        cls = following.pop()
        following += cls.__subclasses__()
        if cls.stored_name == name:
            found.append(cls)
    return found
