"""Mutants of attempts: what slips through a reading, a fence or a reserve that is none."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Mapping
from typing import Any, Final

from ...actors.fleet import (
    DeployRunner,
    Draining,
    Granted,
    Registry,
    Resident,
    attempt,
    drain,
    fencing,
    views,
)
from ..mutants import Mutant
from .attempting import (
    g01_retained_workspace,
    g02_retained_over_image,
    g03_reattach_after_reading,
    g04_attach_among_reads,
    g08_silent_member,
    g09_slow_reading,
    g10_late_withdrawal,
    g11_refused_attempt,
    g12_last_minute_run,
    g13_dead_runner,
    g16_clocks_apart,
    g126_lost_withdrawal,
)
from .stalling import FLEET

__all__ = ["SLIPPING"]

right_counts = views.has_none_executing
right_take_back = fencing.take_back
right_problem = drain.fence_problem
right_post = DeployRunner._post
right_live = Draining._live


def retained_as_executing(view: views.View) -> bool:
    """Take every registration for a run that executes."""
    return right_counts(view) and view["live"].get("runsInFlight") == 0


def drop_retained_from_count(self: Resident) -> int:
    """Count only what runs at the moment."""
    return len(self._in_flight.threads())


async def drain_only(context: Any) -> dict[str, Any]:
    """Read the fleet under the drain, without a fence."""
    producer = fencing.known_producer(context)
    registry = context.objects.get(Registry, "registry")
    draining = await registry.draining()
    found = await views.read_views(context, await registry.list_members())
    ready = draining is not None and all(map(views.is_quiet, found))
    return unfenced(producer, draining, found, ready=ready)


def unfenced(producer: Any, draining: Any, found: Any, *, ready: bool) -> dict[str, Any]:
    """Return a verdict that names a fence which nobody has set."""
    version = producer.version
    swap = {"swapFence": ready, "swapVersion": version.id, "swapAt": 1}
    return {
        "ok": True, "draining": {**draining, **swap} if draining else None, "fenceReady": ready,
        "activeAdmissions": 0, "residents": found,
    }  # fmt: skip


async def read_then_fence(context: Any) -> dict[str, Any]:
    """Read first, and set the fence if all is quiet."""
    producer = fencing.known_producer(context)
    registry = context.objects.get(Registry, "registry")
    found = await views.read_views(context, await registry.list_members())
    ready = all(map(views.is_quiet, found))
    if ready:
        await fencing.set_fence(context, "preflight", producer, ())
    return unfenced(producer, await registry.draining(), found, ready=ready)


def skip_failed_members(reading: fencing.Reading) -> bool:
    """Judge only those members that answered."""
    answered = [view for view in reading.views if "error" not in view["live"]]
    return reading.is_verified and all(map(views.is_quiet, answered))


def no_final_verify(record: Any, now: int, *rest: Any) -> str | None:
    """Believe that what was enough is enough."""
    return right_problem(record, now if record is None else record.since, *rest)


def fence_by_drain_triple(fence: Any, fence_id: str | None) -> bool:
    """Take back whatever fence stands in the same drain."""
    del fence_id
    return fence is not None and fence.owner.kind == "preflight"


async def refusal_lifts_drain(context: Any, fence_id: str) -> fencing.Readback:
    """Lift the drain as well."""
    back = await right_take_back(context, fence_id)
    registry = context.objects.get(Registry, "registry")
    await registry.undrain(fencing.known_producer(context).wire())
    return back


async def short_drain(self: DeployRunner, path: str, body: Mapping[str, Any]) -> Any:
    """Ask for 65 minutes around a wait of 60."""
    asked = {**body, "minutes": 65} if path == "/drain" else body
    return await right_post(self, path, asked)


def fence_as_flag(self: Draining, now: int) -> Any:
    """Keep the fence beside the drain, without an end."""
    record = right_live(self, now)
    if record is not None:
        flag = record.wire() if record.fence is not None else None
        if flag is not None:
            self.storage.kv.put("fence", {**flag, "until": 2**50})
        else:
            self.storage.kv.delete("fence")
        return record
    return drain.DrainRecord.parse(self.storage.kv.get("fence"))


def compare_mixed_clocks(record: Any, now: int, *ends: Any) -> int:
    """Leave it to the runner how much is left."""
    del record, now, ends
    return 2**40


async def withdrawn_without_readback(context: Any, fence_id: str) -> fencing.Readback:
    """Say that it is gone once that was asked."""
    registry = context.objects.get(Registry, "registry")
    await attempt(registry.withdraw_fence(fence_id))
    outcome = await attempt(registry.draining())
    found = outcome.value if isinstance(outcome, Granted) else None
    return fencing.Readback("withdrawn", "matched", found)


SLIPPING: Final = (
    Mutant(
        "retained_as_executing", f"{FLEET}.views:has_none_executing", retained_as_executing,
        g01_retained_workspace, ("LIV-02",), needs_fault=False,
    ),
    Mutant(
        "drop_retained_from_count", f"{FLEET}.resident:Resident._runs_in_flight",
        drop_retained_from_count, g02_retained_over_image, ("INV-02", "INV-03", "INV-05"),
        needs_fault=False,
    ),
    Mutant(
        "drain_only", f"{FLEET}.fencing:deploy_fence", drain_only, g03_reattach_after_reading,
        ("INV-10", "INV-09"), needs_fault=False,
    ),
    Mutant(
        "read_then_fence", f"{FLEET}.fencing:deploy_fence", read_then_fence,
        g04_attach_among_reads, ("INV-11", "INV-08"), needs_fault=False,
    ),
    Mutant(
        "skip_failed_members", f"{FLEET}.fencing:is_ready", skip_failed_members, g08_silent_member,
        ("INV-12",),
    ),
    Mutant(
        "no_final_verify", f"{FLEET}.drain:fence_problem", no_final_verify, g09_slow_reading,
        ("INV-08", "INV-22"), needs_fault=False,
    ),
    Mutant(
        "fence_by_drain_triple", f"{FLEET}.drain:is_withdrawable", fence_by_drain_triple,
        g10_late_withdrawal, ("INV-16", "INV-09"), needs_fault=False,
    ),
    Mutant(
        "refusal_lifts_drain", f"{FLEET}.fencing:take_back", refusal_lifts_drain,
        g11_refused_attempt, ("INV-16", "LIV-01"), needs_fault=False,
    ),
    Mutant(
        "short_drain", f"{FLEET}.runner:DeployRunner._post", short_drain, g12_last_minute_run,
        ("INV-22", "LIV-01"), needs_fault=False,
    ),
    Mutant(
        "fence_as_flag", f"{FLEET}.draining:Draining._live", fence_as_flag, g13_dead_runner,
        ("INV-17", "LIV-03"), needs_fault=False,
    ),
    Mutant(
        "compare_mixed_clocks", f"{FLEET}.drain:room", compare_mixed_clocks, g16_clocks_apart,
        ("INV-08",), needs_fault=False,
    ),
    Mutant(
        "withdrawn_without_readback", f"{FLEET}.fencing:take_back", withdrawn_without_readback,
        g126_lost_withdrawal, ("INV-103",),
    ),
)  # fmt: skip
"""Found in the stories of attempts."""
