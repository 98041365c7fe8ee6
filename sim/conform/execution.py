"""Lists of operations: one after the other, each awaited, as the harness does it (interp.js).

The generators here are async functions of JavaScript: every `yield` is an `await`. They mirror the
harness line by line, so that the same number of jobs passes between two operations.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from ...wire import ABSENT
from .participants import Participant
from .promises import Promise, Thrown, async_function
from .record import Run
from .values import Notation, Value, decode

__all__ = ["Env", "Op", "Operations", "Return", "run_list", "run_list_now", "unwrap"]

Op: TypeAlias = Mapping[str, Any]


@attrs.frozen
class Return:
    """The value with which a list was left."""

    value: Value


def unwrap(value: Value) -> Value:
    """The value itself, be it returned or not."""
    return value.value if isinstance(value, Return) else value


Operation: TypeAlias = Callable[["Env", Op], Value]


class Operations(dict[str, Operation]):
    """Name of an operation to what starts it: that gives a value or a promise, or throws."""

    def named(self, name: str) -> Callable[[Operation], Operation]:
        """Make the decorated function the operation *name*."""

        def decorate(function: Operation) -> Operation:
            self[name] = function
            return function

        return decorate


@attrs.frozen
class Env:
    """Where a list runs: for whom, with which variables, and whether it may wait."""

    run: Run
    at: str
    participant: Participant
    operations: Operations
    vars: dict[str, Value] = attrs.field(factory=dict[str, Value])
    sync: bool = False

    def decode(self, notation: Notation) -> Value:
        """The value of *notation* here."""
        scope = {"var": self.vars, "mem": self.participant.mem}
        return decode(notation, scope, self.participant.now_ms)

    def resolved(self, value: Value = None) -> Promise:
        """A promise that is fulfilled."""
        return Promise.resolved(self.participant.jobs, value)

    def start(self, steps: Generator[Any, Any, Any]) -> Promise:
        """Run *steps* as an async function."""
        return async_function(self.participant.jobs, steps)


LEAVING: Final = frozenset(("return", "respond", "branch", "seq", "repeat", "try"))
"""Operations through which a returned value leaves the list."""


def run_list(ops: Sequence[Op], env: Env) -> Promise:
    """Run *ops*; fulfilled with a `Return`, or with undefined at the end of the list."""
    return env.start(_list(ops, env))


def _list(ops: Sequence[Op], env: Env) -> Generator[Any, Any, Any]:
    for op in ops:
        left = yield env.start(_one(op, env))
        if isinstance(left, Return):
            return left
    return ABSENT


def _execute(op: Op, env: Env) -> Value:
    start = env.operations.get(op["op"])
    if start is None:
        reason = f"the operation {op['op']!r} is not interpreted"
        env.run.failed(reason)
        raise NotImplementedError(reason)
    return start(env, op)


def _one(op: Op, env: Env) -> Generator[Any, Any, Any]:
    run, at = env.run, env.at
    if op["op"] == "log":
        run.succeed(at, op["ev"], _execute(op, env))
        return None
    if op["op"] == "note":
        run.note(at, op["ev"])
        return None
    if op.get("await") is False:
        _leave_pending(op, env)
        return None
    try:
        value = yield _execute(op, env)
        if isinstance(value, Return) and op["op"] in LEAVING:
            return value
        value = unwrap(value)
        if "let" in op:
            env.vars[op["let"]] = value
        if "ev" in op and op["op"] != "try":
            run.succeed(at, op["ev"], value)
    except Thrown as thrown:
        if "ev" in op or op.get("catch"):
            run.fail(at, op.get("ev", "caught"), thrown.value)
        if not op.get("catch"):
            raise
    return None


def _leave_pending(op: Op, env: Env) -> None:
    run, at = env.run, env.at
    pending = Promise(env.participant.jobs)
    try:
        pending = env.resolved(_execute(op, env))
    except Thrown as thrown:
        pending.reject(thrown.value)
    if "ev" in op:
        pending = env.start(_recorded(pending, run, at, op["ev"]))
    if "let" in op:
        env.vars[op["let"]] = pending


def _recorded(pending: Promise, run: Run, at: str, ev: str) -> Generator[Any, Any, Any]:
    try:
        value = unwrap((yield pending))
    except Thrown as thrown:
        run.fail(at, ev, thrown.value)
        raise
    run.succeed(at, ev, value)
    return value


def run_list_now(ops: Sequence[Op], env: Env) -> Value:
    """Run *ops* where nothing can be awaited: a constructor, a synchronous transaction."""
    env = attrs.evolve(env, sync=True)
    run, at = env.run, env.at
    for op in ops:
        if op["op"] == "note":
            run.note(at, op["ev"])
            continue
        try:
            value = _execute(op, env)
            if isinstance(value, Return) and op["op"] in LEAVING:
                return value
            if "let" in op:
                env.vars[op["let"]] = value
            if "ev" in op and op["op"] != "try" and not isinstance(value, Promise):
                run.succeed(at, op["ev"], unwrap(value))
        except Thrown as thrown:
            if "ev" in op or op.get("catch"):
                run.fail(at, op.get("ev", "caught"), thrown.value)
            if not op.get("catch"):
                raise
    return ABSENT
