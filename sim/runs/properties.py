"""What must hold of keyed starts, whatever is lost (spec/run-claims.md 2.6, 8.4 to 8.7).

Each promise of the system, and the properties that watch over it:

- one execution for each reservation row (8.7): `one execution per reservation`;
- one decision to start for each row, and one more for each time that it came back:
  `one start decision per claim`;
- a refused start ran nothing and wrote nothing (8.5, 3.2): `a refused start ran nothing`,
  `what is shut out is untouched`, `a refused start leaves nothing`;
- a claim goes back on the two codes alone, or sealed (2.7, 8.2): `given back for cause only`,
  `each claim goes back for its own cause`,
  `no claim goes back after its run began`, `a sealed claim is never bound`,
  `a run begins bound to its claim`, `what never began comes back`;
- no key is unresolvable, but by the losses of its design (2.9, 8.2): `no key is stranded`;
- a settled key never becomes startable (24, 50): `a settled key stays settled`,
  `a key is settled after its run is persisted`, `a readable run keeps its key`;
- the table of answers (2.6): `answers as the table says`, `a live run is pending`,
  `what makes no sense is unreadable`, `no start is answered 500`, `reading makes no table`;
- what the fence shuts out is told so, and waits (1.9, 1.10): `what is shut out is told so`,
  `one operator wins a move`, `a shut fence claims no fire`, `fires_run_once`,
  `a shut fence stores no decision`, `a live deadline is met`;
- a release that did not land is found (8.6): `a claim that is left is in the log`;
- the slot for proofs names only a run that passed the gate (8.12):
  `the proof slot names a run that passed the gate`, `the proof is one run`;
- a stamp names one claim, and nothing starts beside what is live (42, 43): `stamps grow`,
  `no start is decided while the run is live`.

What needs no world is shown by tests alone: the matrix of 1.9 by `test_gates.py`, at every site of
1.10 by `test_gate_sites.py`; the predicate, equal on a class and on what the wire makes of it, by
`test_refusal.py`; that a caller is answered the same bytes whatever became of the release (8.6), by
`test_refused_answers.py`.
"""

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
    GivenBackForItsCause,
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
    "STRICTLY",
    "answers_fit",
    "execution_is_single",
    "given_back_for_cause",
    "given_back_for_its_cause",
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
given_back_for_its_cause = GivenBackForItsCause()
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
STRICTLY = (*EVERYWHERE, given_back_for_its_cause)
"""The same, and what holds only while a release takes effect once and at once."""
