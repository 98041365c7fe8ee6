"""Workers: the table of routes, one life for each request."""

import contextlib
from typing import Any

import pytest

from durasim.actors import (
    DurableObject,
    OutcomeUnknown,
    RemoteError,
    Route,
    WebRequest,
    WebResponse,
    Worker,
)
from durasim.sim import Crash, World

from ..hosts.stage import Stage, settled
from .stage import tell


class Box(DurableObject):
    """Keeps one value."""

    async def set(self, value: Any) -> Any:
        """Store and return it."""
        await self.storage.put("value", value)
        return value


class Front(Worker):
    """Stands before boxes."""

    routes = (
        Route("PUT", "/boxes/{name}", "put"),
        Route("GET", "/secret", "secret", scope="admin"),
        Route("GET", "/teapot", "teapot"),
        Route("GET", "/broken", "broken"),
        Route("GET", "/unsendable", "unsendable"),
    )
    requests = 0

    def __init__(self) -> None:
        self.requests += 1

    def allows(self, scope: str, request: WebRequest) -> int | None:
        """Let the administrator in; others get 403, and 401 without any credential."""
        credential = request.headers.get("authorization")
        if credential is None:
            return super().allows(scope, request)
        return None if credential == scope else 403

    async def put(self, request: WebRequest, name: str) -> Any:
        """Store the body in a box; say how many requests this worker has seen."""
        value = await self.objects.get(Box, name).set(request.body)
        return [value, self.requests]

    async def secret(self, request: WebRequest) -> str:
        """Only for the administrator."""
        del request
        return "secret"

    async def teapot(self, request: WebRequest) -> WebResponse:
        """A status of its own."""
        del request
        return WebResponse(418, "short and stout")

    async def broken(self, request: WebRequest) -> None:
        """Raise."""
        del request
        raise KeyError("on purpose")

    async def unsendable(self, request: WebRequest) -> object:
        """Return what no wire carries."""
        del request
        return object()


@pytest.mark.parametrize(
    ("request_", "status", "body"),
    [
        (WebRequest("PUT", "/boxes/a", 5), 200, [5, 1]),
        (WebRequest("GET", "/boxes/a"), 405, None),
        (WebRequest("PUT", "/boxes/"), 404, None),
        (WebRequest("PUT", "/boxes/a/b"), 404, None),
        (WebRequest("GET", "/secret"), 401, None),
        (WebRequest("GET", "/secret", headers={"authorization": "guest"}), 403, None),
        (WebRequest("GET", "/secret", headers={"authorization": "admin"}), 200, "secret"),
        (WebRequest("GET", "/teapot"), 418, "short and stout"),
    ],
)
def test_a_request_is_answered_by_the_first_row_that_fits(
    request_: WebRequest, status: int, body: Any
) -> None:
    """Path, method, credential, handler: in this order; a status is no exception."""

    async def story(world: World) -> None:
        front = world.client("a").worker(Front)
        for _ in range(2):
            response = await front.fetch(request_)
            assert response.status == status
            assert body is None or response.body == body

    assert tell(story).ok


def test_what_a_handler_raises_comes_back() -> None:
    """A built-in error as its class; a value that cannot be sent as what it is."""

    async def story(world: World) -> None:
        front = world.client("a").worker(Front)
        with pytest.raises(KeyError):
            await front.fetch(WebRequest("GET", "/broken"))
        with pytest.raises(Exception, match="object"):
            await front.fetch(WebRequest("GET", "/unsendable"))

    assert tell(story).ok


def test_a_worker_dies_with_its_host() -> None:
    """Its caller cannot know what ran."""

    async def story(world: World) -> None:
        world.machine("m", (Front, Box))
        with pytest.raises((OutcomeUnknown, RemoteError)):
            await world.client("a").worker(Front).fetch(WebRequest("PUT", "/boxes/a", 5))
        assert world.stored(Box, "a") == {"value": 5}

    crash = ("commit 1 of Box/a in set", "crash after")
    assert tell(story, crash, faults=[Crash(Box, at_most=1, at=("after commit",))]).ok


def test_a_worker_needs_the_handlers_of_its_table() -> None:
    """A row without a handler is refused when the class is made."""
    with pytest.raises(TypeError, match="has no handler 'nowhere'"):
        type("Wrong", (Worker,), {"routes": (Route("GET", "/", "nowhere"),)})


def test_a_worker_may_have_a_stored_name_and_nobody_is_let_in_by_default() -> None:
    """The base class answers 401 for every scope."""

    class Named(Worker, name="front"):
        """Nothing of its own."""

    assert Named.stored_name == "front"
    assert Named().allows("any", WebRequest("GET", "/")) == 401


class Swallowing(Worker):
    """Goes on after its end."""

    routes = (Route("GET", "/", "wait"),)

    async def wait(self, request: WebRequest) -> str:
        """Wait in vain."""
        del request
        with contextlib.suppress(BaseException):
            await self.sleep(60)
        return "too late"


async def test_a_dead_worker_that_goes_on_answers_nobody() -> None:
    """Dying again changes nothing."""
    stage = Stage(Swallowing)
    async with stage.open():
        answer = await stage.ask("Swallowing/", "fetch", WebRequest("GET", "/"))
        (run,) = stage.host._runs.values()  # pyright: ignore[reportPrivateUsage]
        run.crash("a power cut")
        run.crash("another one")
        await settled()
        assert (answer.reply, answer.reason) == (None, "a power cut")
        assert stage.host.is_idle()


def test_an_object_may_ask_a_worker() -> None:
    """By a stub of its own, whose class its host learns of."""

    class Asking(DurableObject):
        async def ask(self) -> Any:
            """Ask for the teapot."""
            response = await self.objects.worker(Front).fetch(WebRequest("GET", "/teapot"))
            return response.status

    async def story(world: World) -> None:
        assert await world.client("a").get(Asking, "x").ask() == 418

    assert tell(story).ok
