"""What an ordinary run shows to strategies."""

from math import prod

from durasim.sim.ordinary import OrdinaryLog, chosen, is_move, scattered

MOVES = ("behind", "1 ms late")


def log_of(steps: int, *names: str) -> OrdinaryLog:
    """Return the log of clients that call one after another."""
    return OrdinaryLog.of(
        entry
        for name in names
        for number in range(1, steps + 1)
        for entry in (
            (f"request {number} of A/a.m by {name}", MOVES),
            (f"commit {number} of A/a in m", ("crash before", "fails")),
            (f"reply {number} of A/a.m to {name}", (*MOVES, "lost")),
        )
    )


def test_moves_need_no_fault_plan() -> None:
    """Order and delays are moves; everything else is a fault."""
    assert [is_move(option) for option in ("behind", "1 s late", "lost")] == [True, True, False]


def test_losses_come_before_other_faults() -> None:
    """Lost replies and crashes first, each in the order of the run."""
    log = log_of(1, "ann", "bob")

    assert log.losses == (
        ("commit 1 of A/a in m", "crash before"),
        ("reply 1 of A/a.m to ann", "lost"),
        ("commit 1 of A/a in m", "crash before"),
        ("reply 1 of A/a.m to bob", "lost"),
    )
    assert [option for _, option in log.others] == ["fails", "fails"]
    assert log.faults == (*log.losses, *log.others)


def test_steps_leave_out_what_waits_at_the_same_place() -> None:
    """A client that waits for a reply or before its next request waits between the same steps."""
    log = log_of(3, "ann", "bob")

    assert len(log.orders) == 12
    assert log.steps == (
        ("reply 1 of A/a.m to ann", "reply 2 of A/a.m to ann"),
        ("reply 1 of A/a.m to bob", "reply 2 of A/a.m to bob"),
    )


def test_chains_come_each_once() -> None:
    """All chains of neighbours come before one comes again, and each keeps the actors' order."""
    log = log_of(4, "a", "b", "c", "d")
    count = 2 * prod((3, 3, 3))
    chains = [tuple(log.chain(3, number)) for number in range(count)]

    assert len(set(chains)) == count
    assert {tuple(name[-1] for name in chain) for chain in chains} == {
        ("a", "b", "c"),
        ("b", "c", "d"),
    }
    assert log.chain(5, 0) == []


def test_scattered_is_a_permutation() -> None:
    """Every number below the count comes once, and neighbours lie apart."""
    for count in range(1, 60):
        assert sorted(scattered(number, count) for number in range(count)) == list(range(count))


def test_chosen_reads_an_index_in_mixed_radix() -> None:
    """Each index is another choice."""
    assert [chosen(("ab", "xyz"), index) for index in (0, 1, 2, 5)] == [
        ["a", "x"],
        ["b", "x"],
        ["a", "y"],
        ["b", "z"],
    ]
