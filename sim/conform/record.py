"""What one run of a program observes, and what its harness remembers beside the objects."""

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

import trio

from ...wire import Address
from .values import Notation, Value, encode, encode_error

__all__ = ["Run"]

_REFERENCE: Final = re.compile(r"internal error; reference = [0-9a-z]+")
_SIZE: Final = re.compile(r"A value of size [0-9]+")


class Run:
    """One run of one program on one back end.

    Attributes:
        trace: the events recorded so far, as notations.
        evict: lets the incarnation of an object go; returns whether it went.
        abort_all: resets every object.
        stop: ends the driver.
        fault: why the program could not be interpreted to its end; None while it could.
    """

    def __init__(self, program: Mapping[str, Any], backend: str) -> None:
        self.program = program
        self.backend = backend
        self.id = "run"
        self.trace: list[dict[str, Notation]] = []
        self.counters: dict[str, int] = {}
        self.marks: dict[str, int] = {}
        self.last_alarm: dict[str, int] = {}
        self.instances: dict[str, int] = {}
        self.labels: dict[Address, str] = {}
        self.ids: dict[str, str] = {}
        self.uniques: dict[str, str] = {}
        self.done = False
        self.fault: str | None = None
        self._grown: trio.Event | None = None
        self.evict: Callable[[Address], bool] = lambda _address: False
        self.abort_all: Callable[[], bool] = lambda: False
        self.stop: Callable[[], None] = lambda: None

    def object(self, label: str) -> Mapping[str, Any]:
        """What the program says of the object *label*."""
        found: Mapping[str, Any] = self.program["objects"].get(label, {})
        return found

    def note(self, at: str, ev: str) -> None:
        """Record that *ev* happened, without an outcome."""
        self._add({"at": at, "ev": ev})

    def succeed(self, at: str, ev: str, value: Value) -> None:
        """Record *value* as the outcome of *ev*."""
        self._add({"at": at, "ev": ev, "ok": encode(value, self.norm)})

    def fail(self, at: str, ev: str, error: Value) -> None:
        """Record a thrown value as the outcome of *ev*."""
        self._add({"at": at, "ev": ev, "err": encode_error(error, self.norm)})

    def _add(self, event: dict[str, Notation]) -> None:
        if self.done:
            return
        self.trace.append(event)
        if self._grown is not None:
            self._grown.set()
            self._grown = None

    async def growth(self, timeout_ms: float) -> None:
        """Wait until another event is recorded, *timeout_ms* at most."""
        if self._grown is None:
            self._grown = trio.Event()
        with trio.move_on_after(timeout_ms / 1000):
            await self._grown.wait()

    def count(self, ev: str, at: str | None) -> int:
        """How many events *ev* are recorded, of all participants or of one."""
        return sum(event["ev"] == ev and (at is None or event["at"] == at) for event in self.trace)

    def register(self, label: str, address: Address) -> str:
        """Remember which object *label* is; returns its id, 64 hexadecimal digits."""
        known = sha256(f"{address.kind}\0{address.name}".encode()).hexdigest()
        self.labels[address] = label
        self.ids[label] = known
        return known

    def norm(self, text: str) -> str:
        """Take out of *text* what differs from run to run."""
        text = _REFERENCE.sub("internal error; reference = *", text)
        text = _SIZE.sub("A value of size *", text)
        for label, known in self.ids.items():
            text = text.replace(known, f"<id:{label}>")
        return text.replace(f"{self.id}/", "<run>/")

    def failed(self, why: str) -> None:
        """The program cannot be interpreted: it ends here. The first reason is kept."""
        if self.fault is None:
            self.fault = why
            self.stop()
