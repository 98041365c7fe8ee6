"""Calls under way: which of several of one number a row of the trace is about."""

from durasim.sim.calls import Call, Calls
from durasim.sim.steps import Step

LEFT = Step(number=1, time_us=0, source="router", text="a call")


def sent(calls: Calls, target: str = "A/1") -> Call:
    """Begin the call number 1 of another router."""
    call = Call(target, "serve", "serve()", f"{target}.serve", sent=LEFT)
    calls.add("router", 1, call)
    return call


def arrived(calls: Calls, target: str = "A/1") -> Call:
    """Begin a call, and let it arrive."""
    call = sent(calls, target)
    assert calls.delivered("router", 1, target) is call
    call.sent = None
    return call


def replied(calls: Calls) -> None:
    """Let the reply of whichever call leave."""
    call = calls.replied("router", 1)
    assert call is not None
    call.has_replied = True
    call.replied.append(LEFT)


def test_a_probe_is_answered_while_a_start_waits() -> None:
    """Two routers have a call 1: the one that began last is answered first, then the other."""
    calls = Calls()
    start, probe = arrived(calls), arrived(calls)
    replied(calls)
    assert calls.answered("router", 1) is probe
    probe.replied.clear()
    probe.is_over = True
    replied(calls)

    assert calls.answered("router", 1) is start


def test_a_second_copy_is_of_the_call_that_still_waits() -> None:
    """It arrives when another call of that number has long been answered."""
    calls = Calls()
    start, probe = arrived(calls), arrived(calls)
    probe.is_over = True

    assert calls.delivered("router", 1, "A/1") is start
    start.is_over = True
    assert calls.delivered("router", 1, "A/1") is probe


def test_a_request_arrives_where_it_was_sent() -> None:
    """What goes to somebody else is another call."""
    calls = Calls()
    one, other = sent(calls, "A/1"), sent(calls, "B/2")

    assert calls.delivered("router", 1, "A/1") is one
    assert calls.delivered("router", 1, "B/2") is other
    assert calls.delivered("router", 1, "C/3") is None


def test_a_message_is_lost_of_a_call_that_has_one_under_way() -> None:
    """A request that has not arrived, or a reply that has left; broken is what had arrived."""
    calls = Calls()
    waiting, asked = arrived(calls), sent(calls)

    assert calls.lost("router", 1, is_request=True) is asked
    assert calls.broken("router", 1) is waiting
    waiting.has_replied = True
    assert calls.lost("router", 1, is_request=False) is waiting


def test_nobody_has_called() -> None:
    """A trace that was cut off at its beginning has answers without calls."""
    calls = Calls()
    found = [
        calls.delivered("a", 1, "A/1"), calls.replied("a", 1), calls.answered("a", 1),
        calls.broken("a", 1), calls.lost("a", 1, is_request=True),
    ]  # fmt: skip

    assert found == [None] * 5
