"""Operations on data, control flow and time."""

import math
from collections.abc import Generator
from typing import Any, Final

from ...wire import ABSENT
from .execution import Env, Op, Operations, Return, run_list, run_list_now
from .promises import Promise, Thrown
from .values import JsError, Value, make_error

__all__ = ["FLOW"]

FLOW: Final = Operations()

POLL_MS: Final = 5
"""Milliseconds between two looks of the driver's `waitTrace` (harness)."""


@FLOW.named("set")
def _set(env: Env, op: Op) -> Value:
    env.vars[op["var"]] = env.decode(op["value"])
    return env.vars[op["var"]]


@FLOW.named("memset")
def _memset(env: Env, op: Op) -> Value:
    value = env.decode(op["value"])
    env.participant.mem[op["name"]] = value
    return value


@FLOW.named("value")
@FLOW.named("log")
def _value(env: Env, op: Op) -> Value:
    return env.decode(op["value"]) if "value" in op else ABSENT


@FLOW.named("return")
def _return(env: Env, op: Op) -> Return:
    return Return(env.decode(op["value"]) if "value" in op else ABSENT)


@FLOW.named("throw")
def _throw(env: Env, op: Op) -> Value:
    if "value" in op:
        raise Thrown(env.decode(op["value"]))
    raise Thrown(make_error(op.get("error", {}), env.decode))


@FLOW.named("instance")
def _instance(env: Env, _op: Op) -> int:
    return env.run.instances[env.at]


@FLOW.named("mark")
def _mark(env: Env, op: Op) -> Value:
    env.run.marks[op["name"]] = env.participant.now_ms()
    return ABSENT


@FLOW.named("elapsed")
def _elapsed(env: Env, op: Op) -> str:
    passed = env.participant.now_ms() - env.run.marks[op["from"]]
    for low, high, name in op["ranges"]:
        if low <= passed < high:
            return str(name)
    return f"outside:{passed}"


@FLOW.named("clock")
def _clock(env: Env, op: Op) -> str:
    before = env.participant.now_ms()
    math.fsum(math.sqrt(i) for i in range(min(op["spin"], 100_000)))
    return "advanced" if env.participant.now_ms() > before else "frozen"


@FLOW.named("branch")
def _branch(env: Env, op: Op) -> Value:
    place = env.run.counters.get(op["counter"], 0)
    env.run.counters[op["counter"]] = place + 1
    cases = op["cases"]
    body = cases[place] if place < len(cases) else op.get("otherwise", [])
    return run_list_now(body, env) if env.sync else run_list(body, env)


@FLOW.named("waitTrace")
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


@FLOW.named("sleep")
def _sleep(env: Env, op: Op) -> Promise:
    return env.participant.sleep(op["ms"])


@FLOW.named("tick")
def _tick(env: Env, _op: Op) -> Promise:
    return env.resolved(ABSENT)


@FLOW.named("await")
def _await(env: Env, op: Op) -> Value:
    return env.vars.get(op["var"], ABSENT)


@FLOW.named("spawn")
def _spawn(env: Env, op: Op) -> Promise:
    return run_list(op["do"], env)


@FLOW.named("seq")
def _seq(env: Env, op: Op) -> Value:
    return run_list_now(op["do"], env) if env.sync else run_list(op["do"], env)


@FLOW.named("repeat")
def _repeat(env: Env, op: Op) -> Promise:
    def steps() -> Generator[Any, Any, Any]:
        for place in range(op["n"]):
            env.vars[op.get("i", "i")] = place
            left = yield run_list(op["do"], env)
            if isinstance(left, Return):
                return left
        return ABSENT

    return env.start(steps())


@FLOW.named("try")
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


@FLOW.named("signal")
def _signal(env: Env, op: Op) -> Value:
    _gate(env, op["name"]).resolve(ABSENT)
    return ABSENT


@FLOW.named("wait")
def _wait(env: Env, op: Op) -> Promise:
    return _gate(env, op["name"])


@FLOW.named("spin")
def _spin(_env: Env, _op: Op) -> Value:
    return ABSENT
