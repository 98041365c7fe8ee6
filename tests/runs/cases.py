"""What a case of the specification is here: its right outcome, what shows it, where it applies.

A case is shown by stories, which `test_cases.py` tells on each topology and each design where the
case applies, and by tests of the one part that it is about, which all of them share.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from durasim.sim import Scenario

__all__ = [
    "ALARM",
    "ASSUMED",
    "DESIGNS",
    "MESSAGE",
    "STEADFAST",
    "TENANTS",
    "TOPOLOGIES",
    "WIRED",
    "WORKFLOWS",
    "Case",
    "case",
]

TOPOLOGIES = ("process", "objects", "agents")
DESIGNS = ("router", "holder", "sealer")
WIRED = ("objects", "agents")
WORKFLOWS = ("process", "objects")
STEADFAST = ("holder", "sealer")

ALARM = "in process nobody meets deadlines"
ASSUMED = "the router assumes that it does not happen, and the comparison shows it fail"
MESSAGE = "in process there is no message between whoever claims and whoever runs"
TENANTS = "agents have no approvals and no schedules"


@attrs.frozen(kw_only=True)
class Case:
    """One case.

    Attributes:
        right: its right outcome.
        stories: that show it, each with parameters beside topology and design.
        tests: "file::test" of the part that it is about.
        topologies, designs: where it applies.
        why: it applies nowhere else.
    """

    right: str
    stories: tuple[Scenario | tuple[Scenario, Mapping[str, Any]], ...] = ()
    tests: tuple[str, ...] = ()
    topologies: tuple[str, ...] = TOPOLOGIES
    designs: tuple[str, ...] = DESIGNS
    why: str = ""

    @property
    def told(self) -> list[tuple[Scenario, Mapping[str, Any]]]:
        """Its stories, each with the parameters that make it this case."""
        return [each if isinstance(each, tuple) else (each, {}) for each in self.stories]


def case(right: str, *shown: Any, **where: Any) -> Case:
    """Make a case of what shows it: stories, stories with parameters, and names of tests."""
    tests = tuple(each for each in shown if isinstance(each, str))
    stories = tuple(each for each in shown if not isinstance(each, str))
    return Case(right=right, stories=stories, tests=tests, **where)
