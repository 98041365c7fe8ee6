"""One program in a world of its own."""

from typing import Any

from durasim.sim.conform.stage import observe


def run(*main: dict[str, Any], backend: str = "sqlite", **objects: Any) -> Any:
    """What is observed of a program with this driver and these objects."""
    program = {"id": "test", "objects": objects or {"a": {}}, "main": list(main)}
    observed, fault = observe(program, backend)
    return observed, fault


def call(*ops: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A call of the object a."""
    return {"op": "call", "to": "a", "do": list(ops), **more}


def test_a_program_gives_its_trace_and_result() -> None:
    """Events in order, and what the driver's list returned."""
    observed, fault = run(
        call({"op": "return", "value": 1}, let="x"),
        {"op": "note", "ev": "called"},
        {"op": "return", "value": {"$": "add", "a": {"$": "var", "v": "x"}, "b": 1}},
    )

    assert fault is None
    assert observed == {"trace": [{"at": "main", "ev": "called"}], "result": {"ok": 2}}


def test_what_the_driver_throws_is_its_result() -> None:
    """An error that nobody caught ends the driver."""
    observed, fault = run({"op": "throw", "value": "no"}, {"op": "note", "ev": "never"})

    assert fault is None
    assert observed == {"trace": [], "result": {"err": {"nonError": "no"}}}


def test_an_operation_that_is_not_interpreted_ends_the_run() -> None:
    """In the driver or in an object: it is said, and nothing hangs."""
    _, in_driver = run({"op": "fly"})
    _, in_object = run(call({"op": "swim"}), {"op": "sleep", "ms": 1})

    assert in_driver == "the operation 'fly' is not interpreted"
    assert in_object == "the operation 'swim' is not interpreted"


def test_a_driver_that_waits_for_nothing_is_a_failure() -> None:
    """A program that cannot go on fails; it does not hang."""
    _, fault = run({"op": "wait", "name": "never"})

    assert fault is not None
    assert "deadlock" in fault


def test_waiting_for_an_event_has_an_end() -> None:
    """`waitTrace` gives up after its timeout, in virtual time."""
    observed, fault = run({"op": "waitTrace", "for": "x", "timeout": 60_000})

    assert fault is None
    assert observed["result"]["err"]["message"] == "waitTrace timeout: x"


def test_the_key_value_back_end_keeps_nothing_beyond_an_instance() -> None:
    """After a reset its storage is empty; that of the SQLite back end is not."""
    put = call({"op": "put", "key": "k", "value": 1})
    abort = call({"op": "sleep", "ms": 1}, {"op": "abort"}, catch=True)
    get = call({"op": "get", "key": "k", "ev": "k"})

    def stored(backend: str) -> Any:
        observed, _ = run(put, abort, get, backend=backend)
        return observed["trace"][-1]["ok"]

    assert stored("sqlite") == 1
    assert stored("cache") == {"$": "undefined"}


def test_runs_are_the_same_every_time() -> None:
    """A program in virtual time leaves nothing to chance."""
    program = (call({"op": "setAlarm", "in": 10}), {"op": "waitTrace", "for": "fired"})
    alarm: dict[str, Any] = {"alarm": [{"op": "note", "ev": "fired"}, {"op": "throw", "error": {}}]}

    assert run(*program, a=alarm) == run(*program, a=alarm)
