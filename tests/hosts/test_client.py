"""The participant that stands for a program."""

from durasim.actors import Calls
from durasim.hosts import Client, RealClock
from durasim.wire import Envelope


class Nowhere:
    """A transport that carries nothing."""

    def request(self, envelope: Envelope, data: bytes, calls: Calls) -> None:
        """Drop it."""


def test_a_client_waits_for_no_gate() -> None:
    """What it emits leaves at once, what comes in is let in at once."""
    client = Client("client", RealClock(), Nowhere(), "v1")
    seen: list[str] = []

    client.emit(seen.append, "out")

    def entering() -> bool:
        seen.append("in")
        return True

    client.enter(None, entering)

    assert seen == ["out", "in"]
    assert client.alive
    assert client.calls.name == "client"
