"""The Registry of older levels: what it did not have yet, and how it wrote its rows.

Old code is not right: what it may do that the newer code may not is what the version skew is about
(spec/deploy-fence.md H).
"""

from collections.abc import Mapping
from typing import Any, Final

from ...actors.fleet import DrainRecord, Registry
from ...wire import content_hash

__all__ = ["RegistryL0", "RegistryL1", "RegistryL2", "old_drain"]

QUOTED: Final = frozenset({"quote_admission", "recover_quoted", "read_recovery"})
KEYED: Final = frozenset({"begin_keyed", "read_admission", "end_keyed", "read_receipt"})
FENCED: Final = frozenset(
    {"set_fence", "verify_fence", "withdraw_fence", "begin_deploy_admission",
     "end_deploy_admission", "list_admissions", "recover_admission"}
)  # fmt: skip
NAMED: Final = frozenset({"undrain_exactly"})
OLD_FIELDS: Final = (
    "since until by reason holdsUntil liftAsked swapFence swapVersion swapBuild swapAt".split()
)


def old_drain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a drain row as older levels wrote it: nothing in it has a name of its own."""
    old = {key: row[key] for key in OLD_FIELDS if key in row}
    if "holds" in row:
        old["holds"] = [{"resource": hold["resource"]} for hold in row["holds"]]
    return old


class RegistryL2(Registry, name="Registry"):
    """Keyed permits and receipts, and a recovery that asks for nothing but an id."""

    async def recover_admission(self, permit_id: str) -> dict[str, Any]:
        """Delete the permit of that id, whatever it is."""
        return {"recovered": self.storage.kv.delete(f"deploy:admission:{permit_id}")}


class RegistryL1(RegistryL2, name="Registry"):
    """Permits under ids made here, which end by their id; a fence that has no name."""

    def _keep(self, record: DrainRecord | None) -> None:
        super()._keep(record)
        if record is not None:
            self.storage.kv.put("drain", old_drain(record.wire()))

    async def set_fence(
        self, owner: Mapping[str, Any], producer: Mapping[str, Any], ends: list[int]
    ) -> dict[str, Any]:
        """Set a fence, which is named by its drain and its Worker as it is read."""
        fence = await super().set_fence(owner, producer, ends)
        named = content_hash([fence["since"], fence["until"], fence["swapVersion"]])
        return {**fence, "fenceId": named}

    async def draining(self) -> dict[str, Any] | None:
        """Return the drain as it is stored."""
        row = await super().draining()
        return None if row is None else old_drain(row)

    async def end_deploy_admission(self, permit_id: str) -> dict[str, Any]:
        """Delete the row of that id, of whatever kind: no hash is asked for."""
        return {"ended": self.storage.kv.delete(f"deploy:admission:{permit_id}")}


class RegistryL0(RegistryL1, name="Registry"):
    """A drain, and no fence and no permits."""


RegistryL2.methods -= QUOTED
RegistryL1.methods -= QUOTED | KEYED | NAMED
RegistryL0.methods -= QUOTED | KEYED | NAMED | FENCED
