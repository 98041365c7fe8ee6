"""`RunOwners`: whose each run is. One registry for a deployment, one request at a time.

A run is reserved under the token of the attempt that starts it, then settled or released by the
same token; whoever has another token changes nothing.
"""

from datetime import timedelta
from typing import Any, Final

from ..object import AlarmInfo, DurableObject
from ..storage import microseconds
from .run_errors import RunOwnerError

__all__ = ["REGISTRY", "RunOwners"]

REGISTRY: Final = "owners"
"""The name of the one registry."""

OVER: Final = "over/"
KEPT: Final = timedelta(minutes=10)


class RunOwners(DurableObject):
    """The owners of runs.

    Stored keys:
        run/NAME: `kind` and `id` of the owner, the `token` of the attempt that reserved it, and
            whether it `is_settled`.
        over/TOKEN: when an attempt was released, milliseconds since 1970. A reservation of it that
            comes late, or once more, would stay for ever: nobody would release it. Kept for ten
            minutes, far longer than any message is on its way.
    """

    delivery = "serial"

    async def reserve(self, run: str, token: str, kind: str, owner_id: str) -> None:
        """Reserve *run* for an owner; again by the same attempt is once.

        Raises:
            RunOwnerError: it is somebody else's, or of another attempt; or this attempt was
                released before. Nothing changed.
        """
        if self.storage.kv.get(OVER + token) is not None:
            raise RunOwnerError(f"the attempt to start run {run} is over")
        found: dict[str, Any] | None = self.storage.kv.get(key_of(run))
        if found is not None and found["token"] != token:
            raise RunOwnerError(f"run {run} has an owner already")
        if found is None:
            entry = {"kind": kind, "id": owner_id, "token": token, "is_settled": False}
            self.storage.kv.put(key_of(run), entry)

    async def settle(self, run: str, token: str) -> bool:
        """Keep the owner for good; returns whether this attempt had reserved it."""
        found: dict[str, Any] | None = self.storage.kv.get(key_of(run))
        if found is None or found["token"] != token:
            return False
        self.storage.kv.put(key_of(run), {**found, "is_settled": True})
        return True

    async def release(self, run: str, token: str) -> bool:
        """Forget what an attempt has reserved and nothing came of; returns whether it was there."""
        found: dict[str, Any] | None = self.storage.kv.get(key_of(run))
        is_ours = found is not None and found["token"] == token
        if is_ours and found is not None and found["is_settled"]:
            return False
        self.storage.kv.put(OVER + token, self._now_ms())
        if await self.storage.get_alarm() is None:
            self.storage.set_alarm(KEPT)
        if is_ours:
            self.storage.kv.delete(key_of(run))
        return is_ours

    def _now_ms(self) -> int:
        return microseconds(self.now()) // 1000

    async def alarm(self, info: AlarmInfo) -> None:
        """Forget the attempts that have been over for long."""
        del info
        before = self._now_ms() - KEPT // timedelta(milliseconds=1)
        over = self.storage.kv.list(prefix=OVER)
        old = [token for token, at in over.items() if at <= before]
        self.storage.kv.delete_many(old)
        if len(old) < len(over):
            self.storage.set_alarm(KEPT)

    async def owner(self, run: str) -> dict[str, str] | None:
        """Return kind and id of the owner of *run*."""
        found: dict[str, Any] | None = self.storage.kv.get(key_of(run))
        return None if found is None else {"kind": found["kind"], "id": found["id"]}


def key_of(run: str) -> str:
    """Return the key that *run* is stored under."""
    return f"run/{run}"
