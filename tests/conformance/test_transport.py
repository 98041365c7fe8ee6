"""What every `Transport` promises."""

import pytest
import trio

from durasim.hosts import Client
from durasim.wire import Address, OutcomeUnknown, Reply, decode_envelope, encode_reply

from .arms import Arm, Line

METHODS = frozenset({"add"})


def client_of(line: Line) -> Client:
    """Somebody who calls over *line*."""
    return Client("client", line.clock, line.transport, "v1")


def test_requests_of_one_stub_arrive_whole_and_in_order(lines: Arm[Line]) -> None:
    """Numbered from 1, with the bytes that were sent."""

    async def body(line: Line) -> None:
        stub = client_of(line).calls.stub(Address("Cart", "a"), METHODS, 30.0)
        for number in range(20):
            stub.add(number, text="é\0" * number)
        arrived = [decode_envelope(data) for data, _ in await line.far.arrived(20)]
        assert [envelope.order for envelope in arrived] == list(range(1, 21))
        assert [list(envelope.args) for envelope in arrived] == [[number] for number in range(20)]
        assert [envelope.kwargs["text"] for envelope in arrived] == [
            "é\0" * number for number in range(20)
        ]
        assert {(envelope.kind, envelope.name, envelope.method) for envelope in arrived} == {
            ("Cart", "a", "add")
        }

    lines.run(body)


def test_each_answer_reaches_the_call_it_answers(lines: Arm[Line]) -> None:
    """Also when answers are given in another order."""

    async def body(line: Line) -> None:
        calls = client_of(line).calls
        stubs = [calls.stub(Address("Cart", name), METHODS, 30.0) for name in "abc"]
        sent = [stub.add() for stub in stubs]
        for data, origin in reversed(await line.far.arrived(3)):
            envelope = decode_envelope(data)
            origin.respond(encode_reply(Reply(envelope.id, 1, envelope.name, None)))
        assert [await call for call in sent] == ["a", "b", "c"]

    lines.run(body)


def test_a_broken_origin_leaves_the_outcome_unknown(lines: Arm[Line]) -> None:
    """Nobody will answer: the caller is told why, and other calls are not."""

    async def body(line: Line) -> None:
        calls = client_of(line).calls
        first = calls.stub(Address("Cart", "a"), METHODS, 30.0).add()
        second = calls.stub(Address("Cart", "b"), METHODS, 30.0).add()
        arrived = {decode_envelope(data).id: origin for data, origin in await line.far.arrived(2)}
        arrived[first.id].broken("the host is gone")
        arrived[second.id].respond(encode_reply(Reply(second.id, 1, 7, None)))
        with pytest.raises(OutcomeUnknown, match="the host is gone"):
            await first
        assert await second == 7

    lines.run(body)


def test_a_second_answer_changes_nothing(lines: Arm[Line]) -> None:
    """Answers may come twice, and after the end of a call."""

    async def body(line: Line) -> None:
        call = client_of(line).calls.stub(Address("Cart", "a"), METHODS, 30.0).add()
        ((_, origin),) = await line.far.arrived(1)
        origin.respond(encode_reply(Reply(call.id, 1, "first", None)))
        assert await call == "first"
        origin.respond(encode_reply(Reply(call.id, 1, "second", None)))
        origin.broken("too late")
        await trio.sleep(0.01)
        assert await call == "first"

    lines.run(body)
