"""`Worker`: stateless code in front of objects, with one table of routes.

Each request gets a worker of its own, which lives as long as the request and keeps nothing. The
table is data, so that an HTTP host can serve it as it is.
"""

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import attrs

from ..wire import (
    ABSENT,
    Address,
    Envelope,
    Reply,
    UnsendableValue,
    encode_reply,
    record_of,
    register,
)
from .actor import Actor, outlived
from .context import Context
from .ports import Origin, Ports

__all__ = ["Route", "WebRequest", "WebResponse", "Worker", "WorkerRun"]


@register
@attrs.frozen
class WebRequest:
    """What a worker is asked.

    Attributes:
        method: in capitals, such as "POST".
        path: begins with "/", without a query.
        body: any value that the wire carries; ABSENT for none.
        headers: by lower-case name.
        query: by name.
    """

    method: str
    path: str
    body: Any = ABSENT
    headers: dict[str, str] = attrs.field(factory=dict[str, str])
    query: dict[str, str] = attrs.field(factory=dict[str, str])


@register
@attrs.frozen
class WebResponse:
    """What a worker answers. An error status is an answer, no exception (RPC-16)."""

    status: int
    body: Any = ABSENT
    headers: dict[str, str] = attrs.field(factory=dict[str, str])


@attrs.frozen
class Route:
    """One row of a worker's table.

    Attributes:
        method: in capitals.
        path: with parameters in braces, such as "/runs/{run}"; each is one segment.
        handler: name of the coroutine method that takes the request and the parameters by name.
        scope: what the credential of the request has to cover; None for nothing.
    """

    method: str
    path: str
    handler: str
    scope: str | None = None

    def match(self, path: str) -> dict[str, str] | None:
        """Return the parameters of *path* if it has this form."""
        ours, theirs = self.path.split("/"), path.split("/")
        if len(ours) != len(theirs):
            return None
        found: dict[str, str] = {}
        for mine, given in zip(ours, theirs, strict=True):
            if mine.startswith("{") and mine.endswith("}") and given:
                found[mine[1:-1]] = given
            elif mine != given:
                return None
        return found


class Worker(Context):
    """Stateless code. Subclass it and give it `routes`.

    Class attributes:
        routes: tried in order; no row for the path is answered 404, none for the method 405.
    """

    stored_name: ClassVar[str] = "Worker"
    methods: ClassVar[frozenset[str]] = frozenset({"fetch"})
    routes: ClassVar[tuple[Route, ...]] = ()

    def __init_subclass__(cls, *, name: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        cls.stored_name = cls.__qualname__ if name is None else name
        for route in cls.routes:
            if not hasattr(cls, route.handler):
                raise TypeError(f"{cls.__qualname__} has no handler {route.handler!r}")

    def allows(self, scope: str, request: WebRequest) -> int | None:
        """Return None if the credential of *request* covers *scope*, else the status to answer."""
        del scope, request
        return 401

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer *request* by the table."""
        status = 404
        for route in self.routes:
            parameters = route.match(request.path)
            if parameters is None:
                continue
            if route.method != request.method:
                status = 405
                continue
            refused = None if route.scope is None else self.allows(route.scope, request)
            if refused is not None:
                return WebResponse(refused)
            handler: Callable[..., Awaitable[Any]] = getattr(self, route.handler)
            answer = await handler(request, **parameters)
            return answer if isinstance(answer, WebResponse) else WebResponse(200, answer)
        return WebResponse(status)


class WorkerRun(Actor):
    """One request of a worker: made by a host, which starts `run` as a task."""

    __slots__ = ("_envelope", "_on_end", "_origin", "_worker", "address")

    def __init__(
        self,
        cls: type[Worker],
        number: int,
        ports: Ports,
        envelope: Envelope,
        origin: Origin,
        on_end: "Callable[[WorkerRun], None]",
    ) -> None:
        self.address = Address(envelope.kind, envelope.name)
        super().__init__(cls.stored_name, number, ports)
        self._worker = cls.__new__(cls)
        self._envelope = envelope
        self._origin = origin
        self._on_end = on_end

    async def run(self) -> None:
        """Answer the request and end."""
        await self.live(self._answer)

    async def _answer(self) -> None:
        envelope = self._envelope
        self.ports.probe.event("begin", self.name, self.number, envelope.method, envelope.id)
        value, error = None, None
        try:
            self._worker._actor = self  # pyright: ignore[reportPrivateUsage]
            self._worker.__init__()  # type: ignore[misc]
            value = await self._worker.fetch(*envelope.args, **envelope.kwargs)
        except BaseException as raised:
            error = outlived(raised)
        if not self.alive:
            return
        data = self._encode(value, error)
        self.close("gone")
        self._on_end(self)
        self._origin.respond(data)

    def _encode(self, value: Any, error: Exception | None) -> bytes:
        number = self._envelope.id
        if error is None:
            try:
                return encode_reply(Reply(number, 0, value, None))
            except UnsendableValue as unsendable:
                record = record_of(unsendable)
        else:
            record = record_of(error, raised_by_handler=True)
        return encode_reply(Reply(number, 0, None, record))

    def crash(self, reason: str) -> None:
        """End without a word: the caller cannot know what ran."""
        if self.alive:
            self.close("crash")
            self._on_end(self)
            self._origin.broken(reason)
