"""Mutants of guards: who lifts, what replaces a fence, what is uploaded twice or too late."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from typing import Any, Final

from ...actors.fleet import (
    DeployRunner,
    Draining,
    Registry,
    Uncertain,
    attempt,
    drain,
    fleet_of,
    preflight,
)
from ..mutants import Mutant
from .guarding import (
    g14_lift_by_the_old_worker,
    g17_drain_over_a_fence,
    g20_no_endpoint,
    g21_lost_upload,
    g22_new_run_on_an_old_container,
    g23_lost_verdict,
    g129_alarm_of_another_drain,
    g130_debt_over_a_swap,
    g131_forced_deploy,
    gl_debt_under_a_fence,
    gl_fence_expires,
    gl_reserve_to_the_minute,
    gl_without_a_credential,
)
from .stalling import FLEET

__all__ = ["OVERRIDING"]

MINUTE_MS: Final = 60_000

right_event = Draining._drain_event
right_judged = preflight.preflight
right_frozen = DeployRunner._frozen
right_accepted = DeployRunner._accepted
right_init = Registry.__init__


def any_worker_lifts(fence: Any, worker: Any) -> bool:
    """Take every Worker for a newer one."""
    del fence, worker
    return True


def without_fence(self: Draining, event: str, producer: Any, rest: Any) -> Any:
    """Decide as if no fence stood."""
    now = self._now()
    record = self._live(now)
    bare = None if record is None else drain.withdrawn(record)
    facts = drain.DrainFacts(record=bare, now=now, worker=drain.worker_of(producer), **rest)
    return facts, drain.DRAIN_MACHINE.step(drain.drain_state(bare, now), event, facts)


def drain_replaces_fence(
    self: Draining, event: str, producer: Any = None, *, fence_id: Any = None, ends: Any = ()
) -> Any:
    """Let a drain replace whatever there is."""
    if event == "drain":
        return without_fence(self, event, producer, {})
    return right_event(self, event, producer, fence_id=fence_id, ends=ends)


def lost_fence_reply_new_fence(
    self: Draining, event: str, producer: Any = None, *, fence_id: Any = None, ends: Any = ()
) -> Any:
    """Let a fence replace whatever fence there is."""
    if event == "set fence":
        return without_fence(self, event, producer, {"ends": ends})
    return right_event(self, event, producer, fence_id=fence_id, ends=ends)


def verdict(members: tuple[str, ...] = ("member-1", "member-2")) -> preflight.Verdict:
    """Return a verdict that nobody gave."""
    return preflight.Verdict(
        is_ready=True, since=0, until=2**50, fence_id=None, worker_version="", members=members,
        admissions=0, problem="",
    )  # fmt: skip


async def fallback_to_count(context: Any, bearer: str) -> Any:
    """Where there is no endpoint, take it that nothing runs."""
    found = await right_judged(context, bearer)
    is_missing = isinstance(found, preflight.NotReady) and found.code == "FENCE_ENDPOINT_MISSING"
    return verdict() if is_missing else found


async def upload_retry(self: DeployRunner, found: preflight.Verdict) -> Any:
    """Upload again if nobody knows."""
    plan = self._plan
    self._check_reserve(found.until)
    self._go("check B, upload sent")
    build = plan.build.wire()
    outcome: Any = Uncertain("")
    for _ in range(2):
        if isinstance(outcome, Uncertain):
            outcome = await attempt(self._plane.upload(plan.workers, build))
    self._version = outcome.value.version
    self._go("uploaded", version=self._version)
    return outcome.value


async def undrain_before_reconcile(self: DeployRunner, *given: Any) -> Any:
    """Open the fleet once the new Worker serves."""
    await self._undrain()
    return await right_frozen(self, *given)


async def alarm_deletes_current(self: Draining, info: Any) -> None:
    """Delete the drain."""
    del info
    self._keep(None)


def swap_kills_no_debt(self: Registry) -> None:
    """Begin without the permits of another Worker."""
    right_init(self)
    version = fleet_of(self).producer.version
    for permit in self._admissions.permits().values():
        if version is not None and permit.row.get("workerVersion") != version.id:
            self.storage.kv.delete(f"deploy:admission:{permit.id}")


def force_everything(self: DeployRunner, found: Any) -> Any:
    """Let force go over a missing endpoint, too."""
    if self._plan.force and isinstance(found, preflight.NotReady):
        return verdict()
    return right_accepted(self, found)


def drain_without_scope(bearers: Any, scope: Any, credential: str) -> bool:
    """Let everybody do everything."""
    del bearers, scope, credential
    return True


def undrain_ignores_debt(self: Draining, record: Any, now: int) -> int:
    """Count nothing."""
    del self, record, now
    return 0


def reserve_literal(self: DeployRunner, until: int) -> None:
    """Think of 15 minutes."""
    at = self._clock()
    is_enough = until - at >= 15 * MINUTE_MS
    self._log("reserve", until=until, at=at, enough=is_enough)


def ready_after_expiry(draining: Any, fence_id: Any, triple: Any) -> bool:
    """Lift whatever stands."""
    del draining, fence_id, triple
    return True


OVERRIDING: Final = (
    Mutant(
        "any_worker_lifts", f"{FLEET}.drain:is_post_upload", any_worker_lifts,
        g14_lift_by_the_old_worker, ("INV-19", "INV-09"), needs_fault=False,
    ),
    Mutant(
        "drain_replaces_fence", f"{FLEET}.draining:Draining._drain_event", drain_replaces_fence,
        g17_drain_over_a_fence, ("INV-20", "INV-09"), needs_fault=False,
    ),
    Mutant(
        "fallback_to_count", f"{FLEET}.preflight:preflight", fallback_to_count, g20_no_endpoint,
        ("INV-24",), needs_fault=False,
    ),
    Mutant(
        "upload_retry", f"{FLEET}.runner:DeployRunner._upload", upload_retry, g21_lost_upload,
        ("INV-08",), parameters={"fails": True}, needs_fault=False,
    ),
    Mutant(
        "undrain_before_reconcile", f"{FLEET}.runner:DeployRunner._frozen",
        undrain_before_reconcile, g22_new_run_on_an_old_container, ("INV-25", "INV-03"),
        needs_fault=False,
    ),
    Mutant(
        "lost_fence_reply_new_fence", f"{FLEET}.draining:Draining._drain_event",
        lost_fence_reply_new_fence, g23_lost_verdict, ("INV-20",), needs_fault=False,
    ),
    Mutant(
        "alarm_deletes_current", f"{FLEET}.draining:Draining.alarm", alarm_deletes_current,
        g129_alarm_of_another_drain, ("INV-09", "INV-25"),
    ),
    Mutant(
        "swap_kills_no_debt", f"{FLEET}.registry:Registry.__init__", swap_kills_no_debt,
        g130_debt_over_a_swap, ("INV-38", "INV-31"), needs_fault=False,
    ),
    Mutant(
        "force_everything", f"{FLEET}.runner:DeployRunner._accepted", force_everything,
        g131_forced_deploy, ("INV-22", "INV-24"), parameters={"level": "L0"}, needs_fault=False,
    ),
    Mutant(
        "drain_without_scope", f"{FLEET}.router:covers", drain_without_scope,
        gl_without_a_credential, ("INV-18",), needs_fault=False,
    ),
    Mutant(
        "undrain_ignores_debt", f"{FLEET}.draining:Draining._unsettled", undrain_ignores_debt,
        gl_debt_under_a_fence, ("INV-21",), needs_fault=False,
    ),
    Mutant(
        "reserve_literal", f"{FLEET}.runner:DeployRunner._check_reserve", reserve_literal,
        gl_reserve_to_the_minute, ("INV-23",), parameters={"minutes": 72}, needs_fault=False,
    ),
    Mutant(
        "ready_after_expiry", f"{FLEET}.readiness:fence_stands", ready_after_expiry,
        gl_fence_expires, ("INV-25",), needs_fault=False,
    ),
)  # fmt: skip
"""Found in the stories of guards."""
