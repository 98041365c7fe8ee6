"""The classes of a program's objects: one generic object that runs the lists it is sent."""

from typing import Any, Final

from ...actors import AlarmInfo, DurableObject
from .calling import CALLING, CLASSES, body_of
from .execution import Env, Operations, run_list, run_list_now, unwrap
from .flow import FLOW
from .participants import ObjectCode
from .record import Run
from .storing import STORING
from .values import Value

__all__ = ["OPERATIONS", "External", "classes_of"]

OPERATIONS: Final = Operations({**FLOW, **STORING, **CALLING})
"""Everything that a program can ask for."""


class Base(DurableObject):
    """What all classes of a program share."""

    def __init__(self) -> None:
        run = self.env["run"]
        assert isinstance(run, Run)
        self._run = run
        self._label = run.labels[self.address]
        self._code = ObjectCode(run, self)
        run.instances[self._label] = run.instances.get(self._label, 0) + 1
        ops = run.object(self._label).get("ctor", [])
        self._code.construct(lambda: run_list_now(ops, self._at()))

    def _at(self, **variables: Value) -> Env:
        return Env(self._run, self._label, self._code, OPERATIONS, dict(variables))

    async def run(self, ops: list[Any], variables: dict[str, Value]) -> Value:
        """Run *ops* as one request with these variables."""
        return unwrap(await self._code.finish(lambda: run_list(ops, self._at(**variables))))

    async def answer(self, ops: list[Any], variables: dict[str, Value]) -> Value:
        """Run *ops* as one request that came by fetch."""
        return body_of(await self.run(ops, variables))

    async def hit(self, label: str, value: Value) -> Value:
        """Record *value*, at once, and return it."""
        self._run.succeed(self._label, label, value)
        return value

    async def echo(self, *values: Value) -> Value:
        """Return what was sent."""
        return values[0] if len(values) == 1 else list(values)

    async def identity(self, value: Value) -> Value:
        """Record what arrived, and return it."""
        self._run.succeed(self._label, "received", value)
        return value


class Alarmed(Base):
    """An object with an alarm handler."""

    async def alarm(self, info: AlarmInfo) -> None:
        """Run the program's alarm list."""
        ops = self._run.object(self._label).get("alarm")
        if ops is not None and not self._run.done:
            await self._code.finish(lambda: run_list(ops, self._at(alarmInfo=info)))


class Normal(Alarmed, sql=True):
    """SQLite back end."""


class Other(Alarmed, sql=True):
    """SQLite back end: a second class."""


class NoAlarm(Base, sql=True):
    """SQLite back end: without an alarm handler."""


class CacheNormal(Alarmed, durable=False):
    """Key-value back end."""


class CacheOther(Alarmed, durable=False):
    """Key-value back end: a second class."""


class CacheNoAlarm(Base, durable=False):
    """Key-value back end: without an alarm handler."""


class External(DurableObject):
    """Another worker, reached by an outbound fetch."""

    async def answer_after(self, ms: float) -> str:
        """Answer after *ms* milliseconds."""
        await self.sleep(ms / 1000)
        return "external"


_BACKENDS: Final[dict[str, dict[str, type[DurableObject]]]] = {
    "sqlite": {"normal": Normal, "other": Other, "noalarm": NoAlarm},
    "cache": {"normal": CacheNormal, "other": CacheOther, "noalarm": CacheNoAlarm},
}
CLASSES.update(_BACKENDS, external={"normal": External})


def classes_of(backend: str) -> list[type[DurableObject]]:
    """All classes that a program may need on *backend*."""
    return [*_BACKENDS[backend].values(), External]
