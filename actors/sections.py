"""Critical sections of one object: how they begin, run and end (IG-6 to IG-10, TX-1)."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .actor import outlived
from .gate import InputGate, Section
from .layers import Layers
from .limits import SECTION_S_MAX
from .pending import Pending
from .request import REQUEST
from .storage import Transaction

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = ["Sections"]

TOO_LONG = (
    "A call to block_concurrency_while() in a Durable Object waited for too long. "
    "The call was canceled and the Durable Object was reset."
)


class Sections:
    """The critical sections of one incarnation."""

    __slots__ = ("_gate", "_incarnation", "_layers")

    def __init__(self, incarnation: "Incarnation", gate: InputGate, layers: Layers) -> None:
        self._incarnation = incarnation
        self._gate = gate
        self._layers = layers

    def block(self, work: Callable[[], Awaitable[Any]]) -> Pending:
        """As `DurableObject.block_concurrency_while`."""
        return self._begin(partial(self._block, work))

    def transaction(self, work: Callable[[Transaction], Awaitable[Any]]) -> Pending:
        """As `Storage.transaction`."""
        return self._begin(partial(self._transact, work))

    def _begin(self, body: Callable[[Section, Pending], Awaitable[None]]) -> Pending:
        pending = Pending(self._incarnation)
        section = Section(pending.scope)
        request = REQUEST.get()

        async def run() -> None:
            # Whatever waits for that request waits for its sections as well.
            REQUEST.set(request)
            await body(section, pending)

        def begin() -> bool:
            self._incarnation.spawn(section, run)
            return True

        self._gate.begin(section, begin)
        return pending

    async def _block(
        self, work: Callable[[], Awaitable[Any]], section: Section, pending: Pending
    ) -> None:
        incarnation = self._incarnation
        clock = incarnation.ports.clock
        late = clock.call_at(
            clock.time() + SECTION_S_MAX,
            lambda: incarnation.reset(TimeoutError(TOO_LONG)),
            f"limit of {incarnation.name}",
        )
        try:
            value = await work()
        except BaseException as error:
            incarnation.reset(outlived(error))
            return
        finally:
            late.cancel()
        self._end(section, pending, value, None)

    async def _transact(
        self, work: Callable[[Transaction], Awaitable[Any]], section: Section, pending: Pending
    ) -> None:
        layers, incarnation = self._layers, self._incarnation
        layer = layers.push()
        transaction = Transaction(incarnation.storage, layers, layer)
        value, error = None, None
        try:
            value = await work(transaction)
        except BaseException as raised:
            error = outlived(raised)
        if not incarnation.alive:
            return
        if layers.pop(layer, keep=error is None):
            incarnation.wrote(confirmed=True)
        transaction.close()
        self._end(section, pending, value, error)

    def _end(self, section: Section, pending: Pending, value: Any, error: Exception | None) -> None:
        if self._incarnation.alive:
            pending.keep(value, error)
            self._gate.end(section, pending.wake)
