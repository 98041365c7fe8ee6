"""A lease with a fencing token: whether a lease is over, its holder's clock does not know.

    durasim explore examples/lease.py:naive
    durasim explore examples/lease.py:repaired

Two editors write one document, each only while it holds a lease of ten seconds. The naive document
trusts them: an editor whose clock is behind, or whose message is late, writes after the lease has
gone to the other one. The repaired document looks at the number of the lease, its *fencing token*,
and refuses whoever comes with an older one than it has seen.
"""

from datetime import datetime, timedelta

import trio

from durasim.actors import DurableObject
from durasim.sim import ClockSkew, World, always, scenario


class Lease(DurableObject):
    """Gives a lease to one editor at a time. Stores `token` and `until` of the latest."""

    async def take(self) -> tuple[int, datetime] | None:
        """Return the token of a new lease and when it ends, or None while somebody has one."""
        until: datetime | None = await self.storage.get("until")
        if until is not None and self.now() < until:
            return None
        token = await self.storage.get("token", 0) + 1
        until = self.now() + timedelta(seconds=10)
        await self.storage.put("token", token)
        await self.storage.put("until", until)
        return token, until


class Document(DurableObject):
    """A text. Stores `tokens`, those of the leases under which it was written, in order."""

    async def write(self, token: int) -> bool:
        """Write, and return True."""
        tokens: list[int] = await self.storage.get("tokens", [])
        await self.storage.put("tokens", [*tokens, token])
        return True


class FencedDocument(Document, name=Document.stored_name):
    """The same, which knows a newer lease from an older one."""

    async def write(self, token: int) -> bool:
        """Write unless a newer lease has written; return whether it did."""
        tokens: list[int] = await self.storage.get("tokens", [])
        if tokens and token < tokens[-1]:
            return False
        return await super().write(token)


class Editor(DurableObject):
    """Writes one document, and keeps nothing."""

    async def edit(self) -> None:
        """Take the lease, and write every four seconds while it lasts, four times at most."""
        document = self.objects.get(Document, "plan")
        while (lease := await self.objects.get(Lease, "plan").take()) is None:
            await self.sleep(1)
        token, until = lease
        for _ in range(4):
            if self.now() >= until or not await document.write(token):
                break
            await self.sleep(4)


@always
def no_old_lease_writes_after_a_newer_one(world: World) -> None:
    """The tokens under which the document was written never go back."""
    tokens = world.stored(Document, "plan").get("tokens", [])
    assert tokens == sorted(tokens), f"the document was written under the leases {tokens}"


async def edit_together(world: World, document: type[Document]) -> None:
    """Let an editor on each of two machines edit a document on a third."""
    world.machine("server", (Lease, document))
    world.machine("desk", (Editor,))

    async def edit(name: str) -> None:
        await world.client(name).get(Editor, name).edit()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(edit, "ann")
        nursery.start_soon(edit, "bob")


@scenario(faults=(ClockSkew(),), properties=(no_old_lease_writes_after_a_newer_one,))
async def naive(world: World) -> None:
    """Two editors, and a document that trusts them."""
    await edit_together(world, Document)


@scenario(faults=(ClockSkew(),), properties=(no_old_lease_writes_after_a_newer_one,))
async def repaired(world: World) -> None:
    """Two editors, and a document that checks their tokens."""
    await edit_together(world, FencedDocument)
