"""What must hold of keyed starts, whatever is lost (spec/run-claims.md 2.6, 8.4 to 8.7)."""

from typing import Any

from ..properties import Property
from .admission import (
    keyed_only,
    moves_are_won,
    proof_is_one_run,
    sealed_stays_sealed,
    settled_means_persisted,
    shut_means_untouched,
    stamps_grow,
)
from .answers import AnswersFit, NoStartFailsUnheard, RefusedMeansUntouched
from .remains import (
    LiveDeadlinesAreMet,
    NotStartedWhileLive,
    ProofSlotIsEarned,
    RefusedRunsLeaveNothing,
)
from .rows import (
    ExecutionIsSingle,
    GivenBackForCause,
    GivenBackUnstarted,
    SettledStaysSettled,
    StartIsDecidedOnce,
)
from .stranding import NoKeyIsStranded
from .verdicts import live_is_pending, nonsense_is_unreadable, runs_are_bound, shut_out_is_told

__all__ = [
    "ANSWERS",
    "CLAIMS",
    "EVERYWHERE",
    "answers_fit",
    "execution_is_single",
    "given_back_for_cause",
    "given_back_unstarted",
    "live_deadlines_are_met",
    "no_key_is_stranded",
    "no_start_fails_unheard",
    "not_started_while_live",
    "proof_slot_is_earned",
    "refused_means_untouched",
    "refused_runs_leave_nothing",
    "settled_stays_settled",
    "start_is_decided_once",
]

execution_is_single = ExecutionIsSingle()
start_is_decided_once = StartIsDecidedOnce()
given_back_for_cause = GivenBackForCause()
given_back_unstarted = GivenBackUnstarted()
settled_stays_settled = SettledStaysSettled()
answers_fit = AnswersFit()
refused_means_untouched = RefusedMeansUntouched()
no_start_fails_unheard = NoStartFailsUnheard()
proof_slot_is_earned = ProofSlotIsEarned()
no_key_is_stranded = NoKeyIsStranded()
not_started_while_live = NotStartedWhileLive()
live_deadlines_are_met = LiveDeadlinesAreMet()
refused_runs_leave_nothing = RefusedRunsLeaveNothing()

CLAIMS: tuple[Property[Any], ...] = (
    execution_is_single,
    start_is_decided_once,
    given_back_for_cause,
    given_back_unstarted,
    settled_stays_settled,
    stamps_grow,
    settled_means_persisted,
    sealed_stays_sealed,
    shut_means_untouched,
    moves_are_won,
    proof_is_one_run,
    keyed_only,
    runs_are_bound,
    shut_out_is_told,
    live_is_pending,
    nonsense_is_unreadable,
)
"""What holds in every story, under every fault of a design's assumptions."""

ANSWERS: tuple[Property[Any], ...] = (
    answers_fit,
    refused_means_untouched,
    no_start_fails_unheard,
    no_key_is_stranded,
)
"""What callers may rely on."""

EVERYWHERE = (*CLAIMS, *ANSWERS, proof_slot_is_earned)
