"""What some run of a story must reach, so that its case is seen and not merely told."""

from ..properties import sometimes
from ..world import World
from .notes import told
from .watching import fence_of, reserved_rows

__all__ = [
    "a_claim_is_left",
    "a_claim_is_taken_for_lost",
    "a_failed_release_has_landed",
    "a_key_is_not_settled",
    "a_proof_is_not_bound_again",
    "a_proof_is_unheard",
    "a_recovery_fails",
    "a_refusal_is_lost",
    "a_release_is_lost",
    "a_run_is_unheard",
    "a_start_is_lost",
    "a_start_is_shut_out",
    "somebody_has_to_wait",
    "somebody_is_late",
    "the_fence_does_not_answer",
    "the_rows_do_not_answer",
]

FENCED = "EXECUTION_FENCED"
UNREADABLE = "EXECUTION_FENCE_UNREADABLE"


def answers(world: World) -> list[tuple[int, str | None]]:
    """Return status and code of every answer so far."""
    found = [told(entry) for entry in world.ledger.entries if entry.kind == "answered"]
    return [(status, code) for _, _, status, code, *_ in found]


def is_any(world: World, state: str) -> bool:
    """Whether some key is in that state, as it is stored."""
    return any(row.state == state for row in reserved_rows(world).values())


def is_told(world: World, code: str) -> bool:
    """Whether somebody was answered *code*."""
    return any(each == code for _, each in answers(world))


@sometimes
def the_rows_do_not_answer(world: World) -> bool:
    """Somebody is told that the rows cannot be read or written (L1, L2, L3)."""
    return is_told(world, "IDEMPOTENT_START_UNREADABLE")


@sometimes
def a_start_is_lost(world: World) -> bool:
    """A claim is left, whoever made it was told of no result, and nothing has begun (L4)."""
    is_left = is_any(world, "started") and not world.ledger.count("began")
    return is_left and any(status != 200 for status, _ in answers(world))


@sometimes
def a_run_is_unheard(world: World) -> bool:
    """A run has begun, and whoever started it was told of no result (L5)."""
    return world.ledger.count("began") > 0 and any(s in (0, 500, 503) for s, _ in answers(world))


@sometimes
def a_refusal_is_lost(world: World) -> bool:
    """The fence is shut, and somebody is told something else than that (L6)."""
    others = [code for status, code in answers(world) if status != 200 and code != FENCED]
    return fence_of(world).state == "draining" and bool(others)


@sometimes
def a_release_is_lost(world: World) -> bool:
    """A refusal was told, its release is said to have failed, and the claim is left (L7)."""
    is_failed = world.ledger.count("log start-reservation-rollback-failed") > 0
    return is_failed and is_any(world, "started") and is_told(world, FENCED)


@sometimes
def a_failed_release_has_landed(world: World) -> bool:
    """A release is said to have failed, and the key is free (L8)."""
    is_failed = world.ledger.count("log start-reservation-rollback-failed") > 0
    return is_failed and is_any(world, "reserved")


@sometimes
def a_claim_is_left(world: World) -> bool:
    """Whoever claimed has died, and the claim is left (L9)."""
    is_left = is_any(world, "started") and not world.ledger.count("began")
    return is_left and any(status == 0 for status, _ in answers(world))


@sometimes
def a_key_is_not_settled(world: World) -> bool:
    """A run has ended, and its key could not be settled (L10)."""
    return world.ledger.count("log start-reservation-settle-failed") > 0


@sometimes
def a_proof_is_unheard(world: World) -> bool:
    """A proof is bound, and whoever bound it was told that the fence does not answer (L11)."""
    return is_told(world, UNREADABLE) and fence_of(world).proof_run_id is not None


@sometimes
def the_fence_does_not_answer(world: World) -> bool:
    """Somebody is told that the fence cannot be read (27)."""
    return is_told(world, UNREADABLE)


@sometimes
def a_proof_is_not_bound_again(world: World) -> bool:
    """A proof is shown again, and its binding could not be restored (38)."""
    return world.ledger.count("log start-reservation-proof-rebind-failed") > 0


@sometimes
def a_recovery_fails(world: World) -> bool:
    """What a refused start has left could not be looked at (47)."""
    kinds = ("log run-owner-recovery-failed", "log thread-run-recovery-failed")
    return any(world.ledger.count(kind) for kind in kinds) and is_told(world, FENCED)


@sometimes
def a_start_is_shut_out(world: World) -> bool:
    """Somebody is told that the fence is shut."""
    return is_told(world, FENCED)


@sometimes
def a_claim_is_taken_for_lost(world: World) -> bool:
    """Somebody is told that a claim is lost, or takes it, before its run has begun (9)."""
    decided = world.ledger.count("log start-decided")
    return is_told(world, "IDEMPOTENT_START_UNRESOLVABLE") or decided > 1


@sometimes
def somebody_has_to_wait(world: World) -> bool:
    """Somebody is told that the run executes."""
    return is_told(world, "IDEMPOTENT_START_PENDING")


@sometimes
def somebody_is_late(world: World) -> bool:
    """A query of somebody is slow, so that another one is faster."""
    return sum(world.choices.struck) > 0
