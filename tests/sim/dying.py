"""Whoever dies, and every way it has to have an effect."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from durasim.actors import DurableObject, Program, ProgramRun
from durasim.sim import Ledger, World


class Dying:
    """Whoever runs a shape, and every way it has to have an effect.

    Attributes:
        attempts: what each try came to: "IncarnationGone", or something that it must not be.
        long_s: seconds after which what it waits for would come.
    """

    def __init__(self, actor: Any, stage: "Stage") -> None:
        self.actor = actor
        self.world = stage.world
        self.attempts = stage.attempts
        self.long_s = stage.long_s
        self.cls = stage.cls
        self.stub = actor.objects.get(self.cls, "other")
        self.used = actor.objects.get(self.cls, "other")
        self.named = self.used.ping
        self.outside = self.world.client("outside").get(self.cls, "other")
        self.outside_named = self.outside.ping

    def ports(self) -> dict[str, Callable[[], Any]]:
        """Return every way to have an effect, by name."""
        actor, world = self.actor, self.world
        ledger = actor.env["ledger"]
        assert isinstance(ledger, Ledger)
        ways: dict[str, Callable[[], Any]] = {
            "stub": lambda: actor.objects.get(self.cls, "another"),
            "name": lambda: self.stub.ping,
            "call": lambda: self.used.ping(),
            "call by name": lambda: self.named(),
            "client": lambda: world.client("new"),
            "client's stub": lambda: world.client("outside").get(self.cls, "another"),
            "client's call": lambda: self.outside.ping(),
            "client's call by name": lambda: self.outside_named(),
            "machine": lambda: world.machine("new"),
            "program": lambda: world.start(Idle(), "new"),
            "end of faults": world.end_faults,
            "ledger": lambda: ledger.note("paid", 1),
            "now": actor.now,
            "sleep": lambda: actor.sleep(7),
            "uuid": actor.uuid,
            "random": actor.random,
            "bytes": actor.token_bytes,
        }
        if isinstance(actor, DurableObject):
            ways |= ports_of_object(actor)
        return ways

    def effects(self) -> None:
        """Try everything."""
        for name, way in self.ports().items():
            try:
                way()
            except BaseException as error:
                self.attempts.append((name, type(error).__name__))
            else:
                self.attempts.append((name, "nothing"))


class Stage:
    """What a test gives to its objects by their `env`.

    Attributes:
        world: where they are.
        cls: an object that can be called: it has a method `ping`.
        shape: what they run.
        long_s: as `Dying.long_s`.
        attempts: as `Dying.attempts`.
        run: the run of the program, if it is one that dies.
    """

    def __init__(self, world: World, cls: type[Any], shape: str, long_s: float) -> None:
        self.world = world
        self.cls = cls
        self.shape = shape
        self.long_s = long_s
        self.attempts: list[tuple[str, str]] = []
        self.run: ProgramRun | None = None


def ports_of_object(actor: DurableObject) -> dict[str, Callable[[], Any]]:
    """Return what an object can do and nobody else."""
    storage = actor.storage

    async def work(*_given: Any) -> None:
        storage.kv.put("k", 1)

    return {
        "get": lambda: storage.get("k"),
        "put": lambda: storage.put("k", 1),
        "delete": lambda: storage.delete("begun"),
        "list": lambda: storage.list(),
        "kv put": lambda: storage.kv.put("k", 1),
        "delete all": storage.delete_all,
        "sync": storage.sync,
        "transaction": lambda: storage.transaction(work),
        "transaction sync": lambda: storage.transaction_sync(lambda: None),
        "get alarm": storage.get_alarm,
        "set alarm": lambda: storage.set_alarm(timedelta(seconds=1)),
        "delete alarm": storage.delete_alarm,
        "block": lambda: actor.block_concurrency_while(work),
        "wait until": lambda: actor.wait_until(work),
        "abort": actor.abort,
    }


class Idle(Program):
    """A program that never runs."""
