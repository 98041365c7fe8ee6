"""Surfaces: path, method, role, handler, in this order; every answer is kept by no cache."""

import json
from typing import Any

import pytest

from durasim.actors import Route, WebRequest, WebResponse
from durasim.actors.runs.callers import Caller
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.reservations import Owner
from durasim.actors.runs.surface import Surface

ANN = Caller(Owner("human", "ann"), frozenset({"operator"}))


class Door(Surface):
    """A surface with one of everything."""

    routes = (
        Route("GET", "/door", "show"),
        Route("POST", "/door/{name}", "knock", scope="operator"),
        Route("PUT", "/door", "lock", scope="keeper"),
        Route("GET", "/fenced", "fenced"),
        Route("GET", "/broken", "broken"),
        Route("GET", "/teapot", "teapot"),
    )

    async def show(self, request: WebRequest, caller: Caller) -> dict[str, str]:
        """Say who asks."""
        return {"method": request.method, "caller": caller.owner.id}

    async def knock(self, request: WebRequest, caller: Caller, name: str) -> dict[str, str]:
        """Say at which."""
        del request, caller
        return {"name": name}

    async def lock(self, request: WebRequest, caller: Caller) -> None:
        """Nobody comes here."""
        raise AssertionError(f"{caller} may not {request}")

    async def fenced(self, request: WebRequest, caller: Caller) -> None:
        """Refuse."""
        del request, caller
        raise ExecutionFencedError("draining", "door")

    async def broken(self, request: WebRequest, caller: Caller) -> None:
        """Fail."""
        del request, caller
        raise KeyError("door")

    async def teapot(self, request: WebRequest, caller: Caller) -> WebResponse:
        """Answer with a response of its own."""
        del request, caller
        return WebResponse(418, b'"short and stout"')


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/door", 200, {"method": "GET", "caller": "ann"}),
        ("POST", "/door/front", 200, {"name": "front"}),
        ("PUT", "/door", 403, {"error": "this takes the role keeper"}),
        ("DELETE", "/door", 405, {"error": "DELETE is not answered here"}),
        ("GET", "/teapot", 418, "short and stout"),
        ("GET", "/broken", 500, {"error": "'door'"}),
    ],
)
async def test_a_request_is_answered_by_the_first_row_that_fits(
    method: str, path: str, status: int, body: Any
) -> None:
    """An error is an answer, too."""
    answer = await Door().serve(WebRequest(method, path), ANN)

    assert answer is not None
    assert (answer.status, json.loads(answer.body)) == (status, body)
    assert answer.headers["cache-control"] == "no-store"


async def test_a_refusal_keeps_its_reason() -> None:
    """So that whoever asked can recognise it."""
    answer = await Door().serve(WebRequest("GET", "/fenced"), ANN)

    assert answer is not None
    assert json.loads(answer.body)["reason"] == {"code": "EXECUTION_FENCED", "state": "draining"}


async def test_other_paths_are_somebody_elses() -> None:
    """None, not 404."""
    assert await Door().serve(WebRequest("GET", "/window"), ANN) is None
