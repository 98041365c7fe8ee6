"""Operations on stubs, calls, identity, and the object's own state."""

import json
from collections.abc import Callable, Generator
from typing import Any, Final

import attrs

from ...wire import ABSENT, Address
from .execution import Env, Op, Operations, Return, run_list
from .faults import at_caller
from .promises import Promise, Thrown
from .storing import code_of, returned
from .values import JsError, Value, encode, is_members

__all__ = ["CALLING", "CLASSES", "DEADLINE_S", "Handle", "body_of"]

CALLING: Final = Operations()

DEADLINE_S: Final = 1e6
"""Seconds until a call of a program is given up; JavaScript has no such deadline."""

CLASSES: Final[dict[str, dict[str, Any]]] = {}
"""Back end to class of the corpus ("normal", "other", "noalarm") to class; see `objects`."""


@attrs.frozen
class Handle:
    """A stub, as programs hold it."""

    stub: Any
    id: str
    name: str | None


def handle_of(env: Env, label: str, *, name: str | None = None) -> Handle:
    """A new stub of the object *label*; nothing is sent.

    A unique id is a name that nobody else has; an id made from text is one whose name is unknown.
    """
    run = env.run
    spec = run.object(label)
    if name is None and spec.get("id") == "unique":
        full, shown = run.uniques.setdefault(label, f"unique {label}"), None
    else:
        own = name if name is not None else env.decode(spec.get("name", label))
        full = shown = f"{run.id}/{own}"
        if spec.get("id") == "string":
            shown = None
    cls = CLASSES[run.backend][spec.get("class", "normal")]
    known = run.register(label, Address(cls.stored_name, full))
    return Handle(env.participant.objects.get(cls, full, deadline_s=DEADLINE_S), known, shown)


def resolve(env: Env, op: Op) -> Handle:
    """The stub that the operation names, or a new one."""
    if "stub" in op:
        held: Handle = env.vars[op["stub"]]
        return held
    return handle_of(env, op["to"])


def send(
    env: Env, handle: Handle, method: str, *arguments: Value, fetched: bool = False
) -> Promise:
    """Call *method* now; the promise of what comes back."""

    def translate(error: Exception) -> Value | None:
        return at_caller(error, of=handle.id, fetched=fetched)

    try:
        call = getattr(handle.stub, method)(*arguments)
    except AttributeError as error:
        # The platform asks the object; a stub of durasim knows the class.
        message = f'The RPC receiver does not implement the method "{method}".'
        raise Thrown(JsError("TypeError", message)) from error
    return env.participant.watch(call, translate)


@CALLING.named("stub")
def _stub(env: Env, op: Op) -> Value:
    env.vars[op["as"]] = handle_of(env, op["to"], name=op.get("byName"))
    return ABSENT


@CALLING.named("call")
def _call(env: Env, op: Op) -> Promise:
    handle = resolve(env, op)
    ops = op.get("do", [])
    if op.get("via") != "fetch":
        return send(env, handle, "run", ops, env.decode(op.get("args", {})))
    reply = send(env, handle, "answer", ops, env.decode(op.get("args", {})), fetched=True)
    if "abortAfter" in op:
        reply = _given_up(env, reply, op["abortAfter"])
    return env.start(_parsed(env, reply, raw=bool(op.get("raw"))))


def _parsed(env: Env, reply: Promise, *, raw: bool) -> Generator[Any, Any, Value]:
    response = yield reply
    return response if raw else env.decode(json.loads(response["body"]))


def _given_up(env: Env, reply: Promise, after_ms: float) -> Promise:
    result = Promise(env.participant.jobs)
    reply.then(result.resolve, result.reject)
    aborted = JsError("DOMException", "The operation was aborted", "AbortError")
    env.participant.sleep(after_ms).then(lambda _value: result.reject(aborted), result.reject)
    return result


@CALLING.named("invoke")
def _invoke(env: Env, op: Op) -> Promise:
    arguments = [env.decode(part) for part in op.get("args", [])]
    return send(env, resolve(env, op), op["name"], *arguments)


@CALLING.named("external")
def _external(env: Env, op: Op) -> Promise:
    stub = env.participant.objects.get(CLASSES["external"]["normal"], "external")
    return env.participant.watch(stub.answer_after(op["ms"]), lambda _error: None)


@CALLING.named("respond")
def _respond(_env: Env, op: Op) -> Return:
    return Return({"status": op["status"], "body": op["body"]})


@CALLING.named("idInfo")
def _id_info(env: Env, op: Op) -> Value:
    handle = handle_of(env, op["to"])
    lower = all(digit in "0123456789abcdef" for digit in handle.id)
    return {"length": len(handle.id), "lowerHex": lower, "name": _name(handle)}


@CALLING.named("stubInfo")
def _stub_info(env: Env, op: Op) -> Value:
    handle = resolve(env, op)
    return {"name": _name(handle), "idMatches": handle.id == env.run.ids[op["to"]]}


def _name(handle: Handle) -> Value:
    return ABSENT if handle.name is None else handle.name


# The object's own state


@CALLING.named("block")
def _block(env: Env, op: Op) -> Promise:
    code = code_of(env)

    async def work() -> Value:
        return await code.finish(lambda: returned(env, op))

    return code.watch(code.object.block_concurrency_while(work), _never)


def _never(_error: Exception) -> None:
    """A failed critical section never settles its promise: the object is reset (IG-7)."""


@CALLING.named("abort")
def _abort(env: Env, op: Op) -> Value:
    options: dict[str, Value] = env.decode(op["opts"]) if "opts" in op else {}
    code_of(env).object.abort(op.get("reason"), retry_alarm=options.get("retryAlarm", True))


@CALLING.named("waitUntil")
def _wait_until(env: Env, op: Op) -> Value:
    run_list(op["do"], env)
    return ABSENT


@CALLING.named("id")
def _id(env: Env, _op: Op) -> Value:
    name: Value = code_of(env).object.address.name
    return {"name": name, "hex": env.run.ids[env.at]}


@CALLING.named("unsafe")
def _unsafe(env: Env, op: Op) -> Promise:
    run = env.run
    act: Callable[[], bool] = run.abort_all
    if op["what"] == "evict":
        address = resolve(env, op).stub.address

        def act() -> bool:
            return run.evict(address)

    def steps() -> Generator[Any, Any, Value]:
        while not act():
            yield env.participant.sleep(1)
        return ABSENT

    return env.start(steps())


def body_of(value: Value) -> dict[str, Value]:
    """What a request that came by fetch is answered with."""
    if is_members(value) and set(value) == {"status", "body"}:
        return value
    return {"status": 200, "body": json.dumps(None if value is ABSENT else encode(value))}
