"""A router of which single routes answer as a story says."""

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from durasim.actors import WebRequest, WebResponse
from durasim.actors.fleet import FleetRouter
from durasim.sim import World
from durasim.sim.fleet.acting import deploy
from durasim.sim.fleet.fleet import Fleet

from .whole import CODE, STATE


class Scripted(FleetRouter, name="FleetRouter"):
    """Answers single routes as a story says."""

    script: ClassVar[dict[str, Callable[[int], WebResponse | None]]] = {}
    seen: ClassVar[dict[str, int]] = {}

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer by the script, or as always."""
        path = request.path
        self.seen[path] = self.seen.get(path, 0) + 1
        answer = self.script.get(path)
        scripted = answer(self.seen[path]) if answer else None
        return scripted or await super().fetch(request)


def scripted(world: World, **script: Callable[[int], WebResponse | None]) -> Fleet:
    """Set up a fleet whose router answers `_route` by a function of how often it was asked."""
    Scripted.script = {"/" + name.replace("_", "-"): what for name, what in script.items()}
    Scripted.seen = {}
    return Fleet(world, attrs.evolve(CODE, router=Scripted), STATE)


def always(answer: WebResponse) -> Callable[[int], WebResponse | None]:
    """Answer so, always."""
    return lambda number: answer if number else None


def later(answer: WebResponse) -> Callable[[int], WebResponse | None]:
    """Answer as always the first time, and so from then on."""
    return lambda number: answer if number > 1 else None


def once(answer: WebResponse) -> Callable[[int], WebResponse | None]:
    """Answer so the first time, and as always from then on."""
    return lambda number: answer if number == 1 else None


def first_lost(answer: WebResponse) -> Callable[[int], WebResponse | None]:
    """Lose the first answer, and answer so from then on."""
    return lambda number: answer if number > 1 else WebResponse(502)


def no(code: str, status: int = 409) -> WebResponse:
    """Refuse."""
    return WebResponse(status, {"ok": False, "code": code, "detail": ""})


silent = always(WebResponse(502))
LIFTED_NOTHING = WebResponse(200, {"ok": True, "cleared": False, "held": []})
LIFT_ASKED = WebResponse(200, {"ok": True, "cleared": False, "held": ["a"]})


async def whole_deploy(fleet: Fleet, **how: Any) -> dict[str, Any]:
    """Deploy, and return the report."""
    artifact = fleet.artifact(image=how.pop("image", None))
    return await deploy(fleet, artifact, **how).report()
