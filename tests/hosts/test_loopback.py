"""The transport within a process, beyond what every transport promises."""

from durasim.actors import Origin
from durasim.hosts import Client, Loopback, RealClock
from durasim.wire import Address, Reply, decode_envelope, encode_reply


class Echo:
    """A receiver that keeps every request and its origin."""

    def __init__(self) -> None:
        self.taken: list[tuple[bytes, Origin]] = []

    def receive(self, data: bytes, origin: Origin) -> None:
        """Keep it."""
        self.taken.append((data, origin))


async def test_a_request_is_there_when_the_call_returns() -> None:
    """No task is needed to deliver it; the answer is the caller's when it is given."""
    echo = Echo()
    client = Client("client", RealClock(), Loopback(echo), "")
    stub = client.calls.stub(Address("Cart", "a"), frozenset({"add"}), 30.0)

    call = stub.add(1, by=2)

    ((data, origin),) = echo.taken
    envelope = decode_envelope(data)
    assert (envelope.kind, envelope.name, envelope.method) == ("Cart", "a", "add")
    origin.respond(encode_reply(Reply(envelope.id, 1, "done", None)))
    assert await call == "done"
