"""Reservations and the fence against plain dicts, and wrong code that the machines reject."""

from functools import partial
from pathlib import Path

import pytest
import trio
from hypothesis import Phase
from hypothesis.stateful import RuleBasedStateMachine

from durasim.hosts import SqliteDatabase
from durasim.sim import Mutant
from durasim.sim.runs import SYSTEM

from ..machines import played
from .fated import Embedded
from .fence_machine import FenceMachine
from .reservation_machine import ReservationMachine

MACHINES: tuple[type[RuleBasedStateMachine], ...] = (ReservationMachine, FenceMachine)
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in SYSTEM.mutants}
REJECTED: tuple[tuple[type[RuleBasedStateMachine], str], ...] = (
    (ReservationMachine, "claim_without_cas"),
    (ReservationMachine, "corrupt_stamp_is_zero"),
    (ReservationMachine, "never_released"),
    (ReservationMachine, "read_creates_table"),
    (ReservationMachine, "release_without_cas"),
    (ReservationMachine, "stamp_is_clock"),
    (ReservationMachine, "target_before_owner"),
    (FenceMachine, "cached_fence"),
    (FenceMachine, "missing_table_mid_chain"),
    (FenceMachine, "transition_without_cas"),
    (FenceMachine, "unreadable_is_open"),
)
"""Mutants of what the machines drive; those of the parts above are found by stories."""

each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda each: each.__name__)


@each_machine
def test_it_does_what_the_dict_does(machine: type[RuleBasedStateMachine]) -> None:
    """Every answer and every stored column, also behind queries that get lost or go unheard."""
    assert played(machine, 200) >= 200


@each_machine
async def test_the_database_of_a_host_does_the_same(
    tmp_path: Path, machine: type[RuleBasedStateMachine]
) -> None:
    """With its file, its thread and its transactions in groups."""

    def crashed(error: BaseException) -> None:
        raise error

    link = SqliteDatabase(tmp_path / "shared.db", crashed=crashed)
    embedded = type("Embedded", (machine,), {"port": staticmethod(partial(Embedded, link))})
    assert await trio.to_thread.run_sync(played, embedded, 10) >= 10
    await link.close()


@pytest.mark.parametrize(("machine", "name"), REJECTED, ids=[name for _, name in REJECTED])
def test_wrong_code_is_rejected(machine: type[RuleBasedStateMachine], name: str) -> None:
    """A machine that nothing can fail would show nothing."""
    with MUTANTS[name].applied(), pytest.raises(AssertionError):
        played(machine, 500, phases=[Phase.generate], report_multiple_bugs=False)
