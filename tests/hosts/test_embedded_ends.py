"""However an embedded host ends, its objects are dead before their code unwinds."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from durasim.actors import DurableObject, OutcomeUnknown
from durasim.hosts import EmbeddedHost


class Unwinding(DurableObject):
    """Writes on its way out."""

    async def work(self) -> None:
        """Begin, and never end."""
        await self.storage.put("begun", True)
        try:
            await trio.sleep_forever()
        finally:
            self.storage.kv.put("unwound", True)

    async def stubborn(self) -> None:
        """Take no cancellation for an answer while it lives."""
        while True:
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                self.storage.kv.put("unwound", True)

    async def kept(self) -> dict[str, object]:
        """Return everything stored."""
        return await self.storage.list()


def leave() -> None:
    """Leave the block of the host as it ends."""


def fail() -> None:
    """Leave it by an error."""
    raise ValueError("as asked")


@pytest.mark.parametrize("method", ["work", "stubborn"])
@pytest.mark.parametrize("end", [leave, fail, None])
async def test_what_unwinds_with_its_host_has_no_effect(
    tmp_path: Path, method: str, end: Callable[[], None] | None
) -> None:
    """The block ends, raises, or is cancelled from outside (None): nothing more is stored."""
    path = tmp_path / "objects.db"
    with trio.move_on_after(5) as scope:
        try:
            async with EmbeddedHost(path, grace_s=0.05) as host:
                await host.get(Unwinding, "a").kept()
                getattr(host.get(Unwinding, "a"), method)()
                await trio.sleep(0.1)
                if end is None:
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
                else:
                    end()
        except ValueError:
            assert end is fail

    async with EmbeddedHost(path) as host:
        assert "unwound" not in await host.get(Unwinding, "a").kept()


class Bare(BaseException):
    """No `Exception`."""


class Ending(DurableObject):
    """Ends more than itself."""

    async def end(self) -> None:
        """Let through what is no outcome of a call."""
        await self.storage.put("before", True)
        await self.storage.sync()
        raise Bare

    async def wait(self) -> None:
        """Wait for what never comes."""
        await trio.sleep_forever()

    async def kept(self) -> dict[str, object]:
        """Return everything stored."""
        return await self.storage.list()


async def test_what_is_no_exception_ends_the_host(tmp_path: Path) -> None:
    """Calls in flight are uncertain, the error comes out of the block, what was stored stays."""
    path = tmp_path / "objects.db"
    told: list[str] = []

    async def call(host: EmbeddedHost, method: str) -> None:
        with pytest.raises(OutcomeUnknown):
            await getattr(host.get(Ending, method), method)()
        told.append(method)

    async def ended() -> None:
        async with EmbeddedHost(path) as host, trio.open_nursery() as nursery:
            nursery.start_soon(call, host, "wait")
            await trio.sleep(0.05)
            nursery.start_soon(call, host, "end")

    with pytest.raises(BaseExceptionGroup) as caught:
        await ended()

    assert caught.group_contains(Bare)
    assert sorted(told) == ["end", "wait"]
    async with EmbeddedHost(path) as host:
        assert await host.get(Ending, "end").kept() == {"before": True}
