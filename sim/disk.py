"""The `Store` of a world: every commit is a choice, and an old incarnation is refused.

The disk survives its hosts. Each opening of an object begins a new epoch; whoever holds an older
one is refused at the next access.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sortedcontainers import SortedDict

from ..actors import Address, Commit, ConstraintsViolated, StorageFailed
from ..wire import ABSENT, Absent, decode
from .choices import Site
from .faults import Subject
from .sqldata import SqlData

if TYPE_CHECKING:
    from .machine import Machine
    from .world import World

__all__ = ["Disk", "DiskObject", "DiskStore"]

SLOW_US = 1_000_000
"""Virtual microseconds that a slow commit takes."""

Done = Callable[[Exception | None], None]


class Slow:
    """A commit that the disk takes its time for; it is its own event."""

    __slots__ = ("commit", "done", "generation", "owner")

    def __init__(self, owner: "DiskObject", commit: Commit, done: Done, generation: int) -> None:
        self.owner = owner
        self.commit = commit
        self.done = done
        self.generation = generation

    def fire(self) -> None:
        """The disk has caught up."""
        self.owner.catch_up()


class Stored:
    """What is durable of one object."""

    __slots__ = ("alarm", "epoch", "image", "keys", "slow")

    def __init__(self) -> None:
        self.keys: SortedDict[str, bytes] = SortedDict()
        self.alarm: int | None = None
        self.epoch = 0
        self.image = b""
        """Its SQL data, as `SqlData` reads and gives it."""
        self.slow: deque[Slow] = deque()

    def apply(self, commit: Commit) -> tuple[tuple[str, bytes | None, bytes | None], ...]:
        """Make *commit* durable; returns (key, before, after) in the order written."""
        keys = self.keys
        if len(commit.writes) == 1 and not commit.clears and commit.alarm is ABSENT:
            ((key, after),) = commit.writes.items()
            before = keys.get(key)
            if after is None:
                keys.pop(key, None)
            else:
                keys[key] = after
            return ((key, before, after),)
        changes: list[tuple[str, bytes | None, bytes | None]] = []
        if commit.clears:
            changes += [(key, before, None) for key, before in keys.items()]
            keys.clear()
            self.alarm = None
        for key, after in commit.writes.items():
            changes.append((key, keys.get(key), after))
            if after is None:
                keys.pop(key, None)
            else:
                keys[key] = after
        if not isinstance(commit.alarm, Absent):
            self.alarm = commit.alarm
        return tuple(changes)

    def view(self, generation: int) -> "Stored":
        """Return what its machine sees in its *generation*: slow commits as if they were done."""
        if not self.slow:
            return self
        view = self.copy()
        for each in self.slow:
            if each.generation == generation:
                view.apply(each.commit)
        return view

    def copy(self) -> "Stored":
        """Return an independent copy."""
        other = Stored()
        other.keys.update(self.keys)
        other.alarm = self.alarm
        return other


class Disk:
    """Everything stored in a world."""

    __slots__ = ("objects",)

    def __init__(self) -> None:
        self.objects: dict[Address, Stored] = {}

    def stored(self, address: Address) -> Stored:
        """Return what is durable of *address*, empty if nothing is."""
        stored = self.objects.get(address)
        if stored is None:
            stored = self.objects[address] = Stored()
        return stored

    def decoded(self, address: Address) -> dict[str, Any]:
        """Return the keys and decoded values of *address*."""
        stored = self.objects.get(address)
        return {} if stored is None else {k: decode(v) for k, v in stored.keys.items()}


class DiskObject:
    """The `ObjectStore` of one incarnation."""

    __slots__ = ("_address", "_epoch", "_machine", "_name", "_sites", "_stored", "_world")

    def __init__(self, machine: "Machine", address: Address, stored: Stored) -> None:
        self._machine = machine
        self._world: World = machine.world
        self._address = address
        self._name = str(address)
        self._stored = stored
        self.catch_up()
        stored.epoch += 1
        self._epoch = stored.epoch
        self._sites: dict[object, Site] = {}

    def get(self, key: str) -> bytes | None:
        """Read one key."""
        stored = self._stored
        if self._machine.reads_fail or self._epoch != stored.epoch:
            self._before_read()
        if stored.slow:
            stored = stored.view(self._machine.generation)
        value: bytes | None = stored.keys.get(key)
        return value

    def scan(
        self, start: str | None, end: str | None, *, reverse: bool
    ) -> Iterable[tuple[str, bytes]]:
        """Read a range."""
        self._before_read()
        keys = self._stored.view(self._machine.generation).keys
        for key in list(keys.irange(start, end, (True, False), reverse=reverse)):
            yield key, keys[key]

    def alarm(self) -> int | None:
        """Read the alarm."""
        return self._stored.view(self._machine.generation).alarm

    def close(self) -> None:
        """Nothing is held open."""

    def commit(self, commit: Commit, done: Done) -> None:
        """Make durable, or whatever is chosen."""
        world = self._world
        if self._epoch != self._stored.epoch:
            done(self._replaced())
            return
        method = world.running.get(self._name, "")
        site = self._sites.get(method)
        if site is None:
            site = self._sites[method] = self._new_site(str(method))
        option = world.choices.choose(site)
        if option is None and not self._stored.slow:
            self._apply(commit)
            done(None)
        else:
            self._deviate(commit, done, option)

    def _deviate(self, commit: Commit, done: Done, option: str | None) -> None:
        world = self._world
        if option == "crash before":
            self._machine.crash("the host crashed before the commit")
        elif option == "fails":
            done(StorageFailed(self._address, "the commit failed; nothing of it is stored"))
        elif option == "1 s" or option is None:
            # Whatever is committed behind a slow commit becomes durable after it.
            self._stored.slow.append(Slow(self, commit, done, self._machine.generation))
            if option is not None:
                world.kernel.agenda.at(world.kernel.now_us + SLOW_US, self._stored.slow[-1])
        else:
            self.catch_up()
            self._apply(commit)
            if option == "crash after":
                self._machine.crash("the host crashed after the commit")
            elif option == "ambiguous":
                done(StorageFailed(self._address, "nobody can tell whether the commit is stored"))
            else:
                done(None)

    def catch_up(self) -> None:
        """Make everything durable that the slow disk still has before it."""
        slow = self._stored.slow
        while slow:
            each = slow.popleft()
            if each.generation == self._machine.generation:
                each.owner._apply(each.commit)
                each.done(None)

    def _apply(self, commit: Commit) -> None:
        changes = self._stored.apply(commit)
        alarm = commit.alarm
        self._world.trace.add(
            "commit",
            self._name,
            self._epoch,
            commit.number,
            changes,
            "same" if alarm is ABSENT else alarm,
        )

    def _before_read(self) -> None:
        if self._epoch != self._stored.epoch:
            raise self._replaced()
        if self._machine.reads_fail:
            site = self._sites.get("\0read")
            if site is None:
                subject = Subject("read", self._address.kind, self._address.name)
                site = self._sites["\0read"] = self._world.site(str(self._address), subject)
            if self._world.choices.choose(site) is not None:
                raise StorageFailed(self._address, "the read failed; nothing changed")

    def _replaced(self) -> StorageFailed:
        return StorageFailed(self._address, "a newer incarnation has it; nothing was written")

    def _new_site(self, method: str) -> Site:
        address = self._address
        subject = Subject("commit", address.kind, address.name, method)
        return self._world.site(f"{address} in {method}" if method else str(address), subject)


class SqlDiskObject(DiskObject):
    """The `SqlStore` of one incarnation of a class with ``sql=True``."""

    __slots__ = ("_images", "session")

    def __init__(self, machine: "Machine", address: Address, stored: Stored) -> None:
        super().__init__(machine, address, stored)
        self.session = SqlData(stored.image)
        self._images: dict[int, bytes] = {}

    def commit(self, commit: Commit, done: Done) -> None:
        """As `DiskObject.commit`; what violates a constraint never gets to the disk."""
        if commit.sql:
            try:
                self._images[commit.number] = self.session.commit()
            except ConstraintsViolated as error:
                done(error)
                return
        super().commit(commit, done)

    def _apply(self, commit: Commit) -> None:
        super()._apply(commit)
        if commit.sql:
            self._stored.image = self._images.pop(commit.number)

    def close(self) -> None:
        """Forget what was not committed."""
        self.session.close()


class DiskStore:
    """The `Store` of one machine, on the disk of the world."""

    __slots__ = ("_disk", "_machine")

    def __init__(self, machine: "Machine", disk: Disk) -> None:
        self._machine = machine
        self._disk = disk

    def open(self, address: Address) -> DiskObject:
        """Open an object, in a new epoch."""
        cls = self._machine.host.classes.get(address.kind)
        opened = SqlDiskObject if cls is not None and cls.uses_sql else DiskObject
        return opened(self._machine, address, self._disk.stored(address))

    def alarms(self) -> Iterable[tuple[Address, int]]:
        """Yield the stored alarms of the objects that live on this machine."""
        for address in sorted(self._disk.objects):
            alarm = self._disk.objects[address].view(self._machine.generation).alarm
            if alarm is not None and self._machine.world.place(address) is self._machine:
                yield address, alarm
