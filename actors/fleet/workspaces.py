"""The threads of one member: bindings, registrations and accepted attaches, as they are stored.

A registration outlives its run, and only a verified release of its own owner ends it: then the
registration, the accepted attach and the last owner go in one commit, so that the thread reads as
never attached. Source: spec/deploy-fence.md B.2, L operation 8.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..storage import Storage
from .documents import as_int, as_mapping, as_text
from .owners import Owner, Registration

__all__ = ["REMOVED", "Workspaces"]

BINDING: Final = "binding:"
REGISTRATION: Final = "reg:"
ACCEPTED: Final = "regFence:"
REMOVED: Final = "#"
"""Between a thread and how many of its workspaces were removed, in the name of the next one: no
name is used again (`native.py`). No thread has it in its own name."""


class Workspaces:
    """What a member keeps of its threads. All writes of one method are one commit."""

    __slots__ = ("_kv", "_storage")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._kv = storage.kv

    def threads(self) -> list[str]:
        """Return every thread of which anything is stored, in order."""
        found = {
            key.removeprefix(prefix)
            for prefix in (BINDING, REGISTRATION, ACCEPTED)
            for key in self._kv.list(prefix=prefix)
        }
        return sorted(found)

    def registered(self) -> list[str]:
        """Return the threads that have a registration, readable or not, in order."""
        return [key.removeprefix(REGISTRATION) for key in self._kv.list(prefix=REGISTRATION)]

    def registration(self, thread: str, now: int) -> Registration:
        """Return what is registered for *thread*."""
        return Registration.parse(thread, self._kv.get(REGISTRATION + thread), now)

    def accepted(self, thread: str) -> object:
        """Return the row of the newest accepted attach of *thread*, as stored."""
        return self._kv.get(ACCEPTED + thread)

    def last_owner(self, thread: str) -> object:
        """Return whom the binding of *thread* remembers as its last owner, as stored."""
        return self._binding(thread).get("lastOwner")

    def workspace(self, thread: str) -> str:
        """Return the name of the workspace that *thread* has, or will have."""
        return as_text(self._binding(thread).get("worktree")) or thread

    def is_evicted(self, thread: str) -> bool:
        """Whether the workspace of *thread* is removed, or was never made."""
        return self._binding(thread).get("evicted") is not False

    def register(self, thread: str, owner: Owner, user: str, now: int) -> None:
        """Store that *owner* has attached to *thread*, whose workspace is there."""
        binding = {
            "thread": thread,
            "user": user,
            "worktree": self.workspace(thread),
            "lastAttachAt": now,
            "evicted": False,
            "lastOwner": owner.wire(),
            "removals": self._removals(thread),
        }
        self._kv.put_many(
            {
                BINDING + thread: binding,
                REGISTRATION + thread: {"thread": thread, "registeredAt": now, **owner.wire()},
                ACCEPTED + thread: owner.wire(),
            }
        )

    def set_deadline(self, thread: str, deadline_at: int | None) -> None:
        """Store when the run of the registration of *thread* has to have ended."""
        row = as_mapping(self._kv.get(REGISTRATION + thread)) or {}
        self._kv.put(REGISTRATION + thread, {**row, "deadlineAt": deadline_at})

    def release(self, thread: str) -> None:
        """Forget the owner of *thread*, whose release was verified; its workspace stays."""
        self._storage.transaction_sync(lambda: self._release(thread))

    def remove(self, thread: str) -> str:
        """Forget the owner of *thread* and store that its workspace is removed; returns its name.

        The next one gets another name.
        """
        return self._storage.transaction_sync(lambda: self._remove(thread))

    def _release(self, thread: str) -> None:
        binding = {k: v for k, v in self._binding(thread).items() if k != "lastOwner"}
        self._kv.delete_many((REGISTRATION + thread, ACCEPTED + thread))
        if binding:
            self._kv.put(BINDING + thread, binding)

    def _remove(self, thread: str) -> str:
        workspace, removals = self.workspace(thread), self._removals(thread) + 1
        self._release(thread)
        binding = {
            **self._binding(thread),
            "evicted": True,
            "removals": removals,
            "worktree": f"{thread}{REMOVED}{removals}",
        }
        self._kv.put(BINDING + thread, binding)
        return workspace

    def _removals(self, thread: str) -> int:
        return as_int(self._binding(thread).get("removals")) or 0

    def _binding(self, thread: str) -> Mapping[str, Any]:
        return as_mapping(self._kv.get(BINDING + thread)) or {}
