"""Small objects whose behaviour shows one rule each."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import trio

from durasim.actors import (
    AlarmInfo,
    Deadlock,
    DurableObject,
    Route,
    WebRequest,
    Worker,
)


class Diary(DurableObject):
    """Notes what happens, in memory and in storage."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def note(self, text: str) -> list[str]:
        """Note *text*; returns all notes of this incarnation."""
        self.log.append(text)
        return self.log

    async def work(self, text: str, seconds: float = 0.02) -> None:
        """Note the begin and the end of a while."""
        self.log.append(f"{text} begins")
        await self.sleep(seconds)
        self.log.append(f"{text} ends")

    async def section(self, text: str) -> None:
        """The same as a critical section."""
        await self.block_concurrency_while(lambda: self.work(text))

    async def keep(self, key: str) -> None:
        """Store a key."""
        await self.storage.put(key, 1)

    async def abort_after(self, key: str) -> None:
        """Store a key and reset before the turn is over."""
        await self.storage.put(key, 1)
        self.abort("on purpose")

    async def two_turns(self) -> None:
        """Store in one turn, yield to trio, store again and reset."""
        await self.storage.put("first", 1)
        await self.storage.put("second", 2)
        await trio.lowlevel.checkpoint()
        await self.storage.put("third", 3)
        self.abort("on purpose")

    async def children(self) -> None:
        """Tasks of a nursery: each step of each is a turn."""

        async def child(name: str, *, last: bool) -> None:
            await self.storage.put(f"{name} one", 1)
            await self.storage.put(f"{name} two", 2)
            await trio.lowlevel.checkpoint()
            if last:
                await trio.lowlevel.checkpoint()
                await self.storage.put(f"{name} three", 3)
                self.abort("on purpose")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: child("a", last=False))
            nursery.start_soon(lambda: child("b", last=True))

    async def leave(self) -> None:
        """Leave work over that stores and then fails."""

        async def work() -> None:
            await self.sleep(0.3)
            await self.storage.put("left", 1)
            await self.storage.sync()
            raise ValueError("nobody hears this")

        self.wait_until(work)

    async def write_and_tell(self, other: str) -> bool:
        """Store, then ask another object whether that is durable."""
        await self.storage.put("k", 1)
        return await self.objects.get(Diary, other).sees(self.address.name)

    async def sees(self, other: str) -> bool:
        """Whether the key of the object *other* is durable."""
        stored = cast(Callable[..., dict[str, Any]], self.env["stored"])
        return stored(Diary, other) == {"k": 1}

    async def call_self(self) -> list[str]:
        """A gated object may call itself."""
        return await self.objects.get(type(self), self.address.name).note("from myself")


class Serial(Diary):
    """The same, one request after the other."""

    delivery = "serial"

    async def call_self_unawaited(self) -> None:
        """Nobody waits for that call: it runs afterwards."""
        _ = self.objects.get(Serial, self.address.name).note("later")

    async def await_self_later(self) -> str:
        """Await a call of its own after a while."""
        call = self.objects.get(Serial, self.address.name).note("never")
        await self.sleep(0.01)
        return await cycle_of(call)

    async def self_cycle(self) -> str:
        """Await a call of its own; the cycle that this would close."""
        return await cycle_of(self.objects.get(Serial, self.address.name).note("never"))

    async def ask(self, *others: str) -> str:
        """Ask the first of *others* to ask the rest; the cycle that somebody closes."""
        first, *rest = others
        stub = self.objects.get(Serial, first)
        return await cycle_of(stub.ask(*rest) if rest else stub.note("never"))

    async def ask_front(self, front: str) -> str:
        """Ask a gated object to ask back."""
        return await cycle_of(self.objects.get(Front, front).ask_back(self.address.name))

    async def ask_slowly(self, front: str) -> list[str]:
        """Ask a gated object for what takes it a while."""
        await self.objects.get(Front, front).work("asked", 0.05)
        return self.log

    async def ask_in_child(self) -> str:
        """A child of the handler awaits a call to the object itself."""
        said: list[str] = []

        async def child() -> None:
            said.append(await self.self_cycle())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
        return said[0]

    async def ask_in_section(self) -> str:
        """So does a critical section of its own."""
        return await self.block_concurrency_while(self.self_cycle)

    async def leave_call(self) -> None:
        """Left-over work awaits a call to the object itself, which is no deadlock."""

        async def work() -> None:
            await self.objects.get(Serial, self.address.name).keep("left")

        self.wait_until(work)
        await self.sleep(0.2)


class Front(Diary):
    """A gated object in front of a serial one."""

    async def ask_back(self, serial: str) -> str:
        """Ask the serial object, and say what cycle that would close."""
        return await cycle_of(self.objects.get(Serial, serial).note("never"))

    async def ask_beside(self, serial: str) -> list[str]:
        """Ask the serial object, on nobody's behalf."""
        return await self.objects.get(Serial, serial).note("beside")


async def cycle_of(call: Any) -> str:
    """Return the cycle that *call* would close, or what it gave."""
    try:
        return str(await call)
    except Deadlock as deadlock:
        return " -> ".join(deadlock.cycle)


class Bell(DurableObject):
    """Notes each try of its alarm; fails the first *failures* of them."""

    async def set(self, seconds: float, failures: int = 0) -> None:
        """Ring after *seconds*."""
        await self.storage.put("failures", failures)
        await self.storage.set_alarm(timedelta(seconds=seconds))

    async def tries(self) -> list[int]:
        """Return the retry count of each try."""
        tries: list[int] = await self.storage.get("tries", [])
        return tries

    async def alarm_time(self) -> bool:
        """Whether an alarm is set."""
        return await self.storage.get_alarm() is not None

    async def alarm(self, info: AlarmInfo) -> None:
        """Note it."""
        tries = [*await self.tries(), info.retry_count]
        await self.storage.put("tries", tries)
        if len(tries) <= await self.storage.get("failures"):
            raise ValueError("on purpose")


class Door(Worker):
    """Notes in a diary what it is asked."""

    routes = (Route("POST", "/{diary}/{text}", "note"),)

    async def note(self, request: WebRequest, diary: str, text: str) -> list[str]:
        """Note it."""
        del request
        return await self.objects.get(Diary, diary).note(text)
