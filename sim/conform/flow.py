"""Operations on data, control flow and time."""

import math
from collections.abc import Generator
from typing import Any, Final

from .execution import Env, Op, Return, operation, run_list, run_list_now
from .promises import Promise, Thrown
from .values import ABSENT, JsError, Value, make_error

__all__: list[str] = []

POLL_MS: Final = 5
"""Milliseconds between two looks of the driver's `waitTrace` (harness)."""


@operation("set")
def _set(env: Env, op: Op) -> Value:
    env.vars[op["var"]] = env.decode(op["value"])
    return env.vars[op["var"]]


@operation("memset")
def _memset(env: Env, op: Op) -> Value:
    value = env.decode(op["value"])
    env.participant.mem[op["name"]] = value
    return value


@operation("value")
@operation("log")
def _value(env: Env, op: Op) -> Value:
    return env.decode(op["value"]) if "value" in op else ABSENT


@operation("return")
def _return(env: Env, op: Op) -> Return:
    return Return(env.decode(op["value"]) if "value" in op else ABSENT)


@operation("throw")
def _throw(env: Env, op: Op) -> Value:
    if "value" in op:
        raise Thrown(env.decode(op["value"]))
    raise Thrown(make_error(op.get("error", {}), env.decode))


@operation("instance")
def _instance(env: Env, _op: Op) -> int:
    return env.run.instances[env.at]


@operation("mark")
def _mark(env: Env, op: Op) -> Value:
    env.run.marks[op["name"]] = env.participant.now_ms()
    return ABSENT


@operation("elapsed")
def _elapsed(env: Env, op: Op) -> str:
    passed = env.participant.now_ms() - env.run.marks[op["from"]]
    for low, high, name in op["ranges"]:
        if low <= passed < high:
            return str(name)
    return f"outside:{passed}"


@operation("clock")
def _clock(env: Env, op: Op) -> str:
    before = env.participant.now_ms()
    math.fsum(math.sqrt(i) for i in range(min(op["spin"], 100_000)))
    return "advanced" if env.participant.now_ms() > before else "frozen"


@operation("branch")
def _branch(env: Env, op: Op) -> Value:
    place = env.run.counters.get(op["counter"], 0)
    env.run.counters[op["counter"]] = place + 1
    cases = op["cases"]
    body = cases[place] if place < len(cases) else op.get("otherwise", [])
    return run_list_now(body, env) if env.sync else run_list(body, env)


@operation("waitTrace")
def _wait_trace(env: Env, op: Op) -> Promise:
    participant, run = env.participant, env.run
    timeout = op.get("timeout", 5000)

    def steps() -> Generator[Any, Any, int]:
        began = participant.now_ms()
        while True:
            count = run.count(op["for"], op.get("at"))
            if count >= op.get("n", 1):
                return count
            waited = participant.now_ms() - began
            if waited > timeout:
                raise Thrown(JsError("Error", f"waitTrace timeout: {op['for']}"))
            # The harness looks every few milliseconds; between two events there is nothing to see.
            yield participant.watch(run.growth(timeout + POLL_MS - waited), lambda _error: None)
            yield participant.sleep(POLL_MS - (participant.now_ms() - began) % POLL_MS)

    return env.start(steps())


@operation("sleep")
def _sleep(env: Env, op: Op) -> Promise:
    return env.participant.sleep(op["ms"])


@operation("tick")
def _tick(env: Env, _op: Op) -> Promise:
    return env.resolved(ABSENT)


@operation("await")
def _await(env: Env, op: Op) -> Value:
    return env.vars.get(op["var"], ABSENT)


@operation("spawn")
def _spawn(env: Env, op: Op) -> Promise:
    return run_list(op["do"], env)


@operation("seq")
def _seq(env: Env, op: Op) -> Value:
    return run_list_now(op["do"], env) if env.sync else run_list(op["do"], env)


@operation("repeat")
def _repeat(env: Env, op: Op) -> Promise:
    def steps() -> Generator[Any, Any, Any]:
        for place in range(op["n"]):
            env.vars[op.get("i", "i")] = place
            left = yield run_list(op["do"], env)
            if isinstance(left, Return):
                return left
        return ABSENT

    return env.start(steps())


@operation("try")
def _try(env: Env, op: Op) -> Value:
    def failed(thrown: Thrown) -> None:
        env.run.fail(env.at, op.get("ev", "caught"), thrown.value)

    def steps() -> Generator[Any, Any, Any]:
        try:
            return (yield run_list(op["do"], env))
        except Thrown as thrown:
            failed(thrown)
        return ABSENT

    if not env.sync:
        return env.start(steps())
    try:
        return run_list_now(op["do"], env)
    except Thrown as thrown:
        failed(thrown)
    return ABSENT


def _gate(env: Env, name: str) -> Promise:
    return env.participant.gates.setdefault(name, Promise(env.participant.jobs))


@operation("signal")
def _signal(env: Env, op: Op) -> Value:
    _gate(env, op["name"]).resolve(ABSENT)
    return ABSENT


@operation("wait")
def _wait(env: Env, op: Op) -> Promise:
    return _gate(env, op["name"])


@operation("spin")
def _spin(_env: Env, _op: Op) -> Value:
    return ABSENT
