"""Operations on storage, alarms included, over `DurableObject.storage`."""

import math
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

from ...actors import Ready, instant, microseconds
from ...wire import ABSENT
from .bypass import CacheStorage, refuse_synchronous, storage_of
from .execution import Env, Op, Operations, Return, run_list, run_list_now, unwrap
from .faults import as_raised, of_storage
from .participants import ObjectCode
from .promises import Promise, Thrown
from .values import Date, JsError, JsMap, Value

__all__ = ["STORING"]

STORING: Final = Operations()

NOT_A_DATE: Final = (
    "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'."
)


def code_of(env: Env) -> ObjectCode:
    """The code of the object that runs this."""
    assert isinstance(env.participant, ObjectCode)
    return env.participant


def target(env: Env, op: Op) -> Any:
    """The storage, or the transaction that the operation names."""
    return env.vars[op["on"]] if "on" in op else storage_of(code_of(env))


def attempt(action: Callable[[], Any], value: Value = None) -> Value:
    """Do *action*, which takes effect at once; its error is thrown as JavaScript's.

    Raises:
        Thrown: durasim refused.
    """
    try:
        return ready(action())
    except Exception as error:
        if isinstance(error, Thrown):
            raise
        raise Thrown(of_storage(error, value)) from error


def ready(outcome: Any) -> Value:
    """The value of an awaitable that is already there, or of what is none."""
    if not isinstance(outcome, Awaitable):
        return outcome
    try:
        outcome.__await__().__next__()
    except StopIteration as stop:
        return stop.value
    raise AssertionError("awaiting own storage suspended")


def _options(env: Env, op: Op) -> dict[str, Value]:
    options = env.decode(op["opts"]) if "opts" in op else None
    return {} if options is None or options is ABSENT else options


def _unconfirmed(env: Env, op: Op) -> dict[str, bool]:
    return {"allow_unconfirmed": bool(_options(env, op).get("allowUnconfirmed", False))}


@STORING.named("get")
def _get(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    if "keys" in op:
        found = attempt(lambda: storage.get_many(env.decode(op["keys"])))
        return env.resolved(JsMap(tuple(found.items())))
    return env.resolved(attempt(lambda: storage.get(env.decode(op["key"]), ABSENT)))


@STORING.named("put")
def _put(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    value = env.decode(op["entries"] if "entries" in op else op["value"])
    how = _unconfirmed(env, op)
    if "entries" in op:
        attempt(lambda: storage.put_many(value, **how), value)
    else:
        attempt(lambda: storage.put(env.decode(op["key"]), value, **how), value)
    return env.resolved(ABSENT)


@STORING.named("delete")
def _delete(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    how = _unconfirmed(env, op)
    if "keys" in op:
        return env.resolved(attempt(lambda: storage.delete_many(env.decode(op["keys"]), **how)))
    return env.resolved(attempt(lambda: storage.delete(env.decode(op["key"]), **how)))


@STORING.named("list")
def _list(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    found = attempt(lambda: storage.list(**list_options(_options(env, op))))
    return env.resolved(JsMap(tuple(found.items())))


def list_options(options: dict[str, Value]) -> dict[str, Value]:
    """The arguments of `list` for JavaScript's *options*: names, and numbers made of anything."""
    given = {name: value for name, value in options.items() if value is not ABSENT}
    arguments = {
        ours: given[theirs]
        for theirs, ours in (
            ("start", "start"), ("startAfter", "start_after"), ("end", "end"), ("prefix", "prefix"),
            ("reverse", "reverse"),
        )
        if theirs in given
    }  # fmt: skip
    if "limit" in given:
        limit = float(given["limit"])
        arguments["limit"] = 0 if math.isnan(limit) else int(limit)
    return arguments


@STORING.named("deleteAll")
def _delete_all(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    attempt(lambda: storage.delete_all())
    return env.resolved(ABSENT)


@STORING.named("sync")
def _sync(env: Env, op: Op) -> Promise:
    def translate(error: Exception) -> Value:
        return of_storage(error)

    waiting = target(env, op).sync()
    if isinstance(waiting, Ready):
        return env.resolved(ABSENT)
    return env.participant.watch(waiting, translate, lambda _value: ABSENT)


@STORING.named("transaction")
def _transaction(env: Env, op: Op) -> Promise:
    code, storage = code_of(env), target(env, op)

    async def work(transaction: Any) -> Value:
        env.vars[op.get("as", "txn")] = transaction
        return unwrap(await code.finish(lambda: run_list(op["do"], env)))

    if isinstance(storage, CacheStorage):
        return code.watch(storage.section(work), of_storage, storage.outcome)
    return code.watch(storage.transaction(work), of_storage)


@STORING.named("rollback")
def _rollback(env: Env, op: Op) -> Value:
    transaction = target(env, op)
    attempt(lambda: transaction.rollback())
    return ABSENT


@STORING.named("transactionSync")
def _transaction_sync(env: Env, op: Op) -> Value:
    refuse_synchronous(env.run.backend, "transactionSync")
    storage = target(env, op)

    def work() -> Value:
        try:
            return unwrap(run_list_now(op["do"], env))
        except Thrown as thrown:
            raise as_raised(thrown.value) from None

    return attempt(lambda: storage.transaction_sync(work))


# Alarms


def _ms(at: datetime) -> int:
    return microseconds(at) // 1000


def _named(env: Env, ms: int) -> str:
    if ms == env.run.last_alarm.get(env.at):
        return "last-set"
    for name, mark in env.run.marks.items():
        if mark == ms:
            return f"mark:{name}"
    return "other-time"


@STORING.named("getAlarm")
def _get_alarm(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    at = attempt(lambda: storage.get_alarm())
    return env.resolved(None if at is None else _named(env, _ms(at)))


@STORING.named("setAlarm")
def _set_alarm(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    if "in" in op:
        when = env.participant.now_ms() + op["in"]
    else:
        when = env.run.marks[op["mark"]] if "mark" in op else env.decode(op["at"])
    if isinstance(when, Date):
        when = when.ms
    if isinstance(when, float) and math.isnan(when):
        message = "The value cannot be converted because it is not a valid Date."
        raise Thrown(JsError("TypeError", message))
    if isinstance(when, (int, float)):
        env.run.last_alarm[env.at] = int(when)
        moment: Any = instant(int(when) * 1000)
    else:
        moment = when
    try:
        attempt(lambda: storage.set_alarm(moment))
    except Thrown as thrown:
        if isinstance(moment, datetime):
            raise
        raise Thrown(JsError("TypeError", NOT_A_DATE)) from thrown
    return env.resolved(ABSENT)


@STORING.named("deleteAlarm")
def _delete_alarm(env: Env, op: Op) -> Promise:
    storage = target(env, op)
    attempt(lambda: storage.delete_alarm())
    return env.resolved(ABSENT)


@STORING.named("alarmInfo")
def _alarm_info(env: Env, _op: Op) -> Value:
    info = env.vars["alarmInfo"]
    return {
        "retryCount": info.retry_count,
        "isRetry": info.is_retry,
        "scheduled": _named(env, _ms(info.scheduled_time)),
        "type": "number",
    }


# Synchronous forms


@STORING.named("kvGet")
def _kv_get(env: Env, op: Op) -> Value:
    refuse_synchronous(env.run.backend, "kv")
    storage = target(env, op)
    return attempt(lambda: storage.kv.get(env.decode(op["key"]), ABSENT))


@STORING.named("kvPut")
def _kv_put(env: Env, op: Op) -> Value:
    refuse_synchronous(env.run.backend, "kv")
    storage, value = target(env, op), env.decode(op["value"])
    attempt(lambda: storage.kv.put(env.decode(op["key"]), value), value)
    return ABSENT


@STORING.named("kvDelete")
def _kv_delete(env: Env, op: Op) -> Value:
    refuse_synchronous(env.run.backend, "kv")
    storage = target(env, op)
    return attempt(lambda: storage.kv.delete(env.decode(op["key"])))


@STORING.named("kvList")
def _kv_list(env: Env, op: Op) -> Value:
    refuse_synchronous(env.run.backend, "kv")
    storage = target(env, op)
    found = attempt(lambda: storage.kv.list(**list_options(_options(env, op))))
    return [[key, value] for key, value in found.items()]


@STORING.named("sql")
def _sql(env: Env, op: Op) -> Value:
    refuse_synchronous(env.run.backend, "sql")
    storage = target(env, op)
    bindings = [env.decode(part) for part in op.get("bind", [])]
    rows = attempt(lambda: storage.sql.exec(op["query"], *bindings))
    mode = op.get("mode", "rows")
    if mode == "exec":
        return ABSENT
    if mode == "rows":
        return rows.dicts()
    reason = f"the mode {mode!r} of sql is not interpreted"
    env.run.failed(reason)
    raise NotImplementedError(reason)


def returned(env: Env, op: Op) -> Promise:
    """Run the operation's list; fulfilled with what it returned."""
    promise = run_list(op["do"], env)
    result = Promise(env.participant.jobs)
    promise.then(
        lambda left: result.resolve(left.value if isinstance(left, Return) else ABSENT),
        result.reject,
    )
    return result
