"""The input gate by itself: who enters, in which order, and when."""

import pytest

from durasim.actors import SECTIONS_DEPTH_MAX, InputGate, Section


class Door:
    """A gate whose turns the test ends by hand, and what entered so far."""

    def __init__(self) -> None:
        self.turns = 0
        self.entered: list[str] = []
        self.gate = InputGate(self._turn)

    def _turn(self) -> None:
        self.turns += 1

    def enter(self, name: str, scope: Section | None = None, *, wakes: bool = True) -> None:
        """Send an event to the gate."""

        def action() -> bool:
            self.entered.append(name)
            return wakes

        self.gate.enter(scope, action)

    def begin(self, name: str, parent: Section | None = None) -> Section:
        """Ask for a critical section."""
        section = Section(parent)

        def action() -> bool:
            self.entered.append(name)
            return True

        self.gate.begin(section, action)
        return section

    def end(self, name: str, section: Section) -> None:
        """End a section; *name* is the event that tells whoever awaits it."""

        def action() -> bool:
            self.entered.append(name)
            return True

        self.gate.end(section, action)


def test_events_enter_one_at_a_time_in_the_order_of_arrival() -> None:
    """The second waits for the turn of the first to end, the third for that of the second."""
    door = Door()
    for name in ("a", "b", "c"):
        door.enter(name)

    assert door.entered == ["a"]
    door.gate.turn_ended()
    assert door.entered == ["a", "b"]
    door.gate.turn_ended()
    assert door.entered == ["a", "b", "c"]


def test_an_event_that_wakes_nobody_takes_no_turn() -> None:
    """What follows enters at once."""
    door = Door()
    door.enter("quiet", wakes=False)
    door.enter("next")

    assert door.entered == ["quiet", "next"]
    assert door.turns == 1


def test_those_that_wait_and_wake_nobody_let_the_next_one_in_at_once() -> None:
    """The end of one turn may let several events in."""
    door = Door()
    door.enter("first")
    door.enter("quiet", wakes=False)
    door.enter("last", wakes=False)
    door.gate.turn_ended()

    assert door.entered == ["first", "quiet", "last"]
    assert door.gate.waiting() == 0


def test_a_section_begins_after_the_turn_even_where_nothing_else_happens() -> None:
    """Code behind an un-awaited call runs before the section does (IG-6)."""
    door = Door()
    door.begin("section")

    assert door.entered == []
    assert door.turns == 1
    door.gate.turn_ended()
    assert door.entered == ["section"]


def test_a_section_lets_in_only_what_was_begun_inside_it() -> None:
    """Events from outside wait until it ends, and keep their order."""
    door = Door()
    section = door.begin("section")
    door.gate.turn_ended()
    door.gate.turn_ended()
    door.enter("outside-1")
    door.enter("inside", section)
    door.gate.turn_ended()
    door.enter("outside-2")

    assert door.gate.top is not None
    assert door.entered == ["section", "inside"]
    door.end("told", section)
    for _ in range(4):
        door.gate.turn_ended()
    assert door.entered == ["section", "inside", "told", "outside-1", "outside-2"]
    assert door.gate.top is None


def test_whoever_awaits_a_section_goes_on_before_anything_that_waited() -> None:
    """Its end tells its waiter first, also when another section is ready to start."""
    door = Door()
    section = door.begin("one")
    door.gate.turn_ended()
    door.begin("two")
    door.enter("event")
    door.end("told", section)
    for _ in range(4):
        door.gate.turn_ended()

    assert door.entered[:3] == ["one", "told", "two"]


def test_sections_begun_together_run_in_order_and_before_events() -> None:
    """IG-1: sections that are ready to start go first."""
    door = Door()
    door.enter("event-1")
    first, second = door.begin("one"), door.begin("two")
    door.enter("event-2")
    door.gate.turn_ended()
    assert door.entered == ["event-1", "one"]
    door.end("told-one", first)
    for _ in range(2):
        door.gate.turn_ended()
    assert door.entered == ["event-1", "one", "told-one", "two"]
    door.end("told-two", second)
    for _ in range(3):
        door.gate.turn_ended()

    assert door.entered[-2:] == ["told-two", "event-2"]


def test_a_section_that_outlives_the_outer_one_keeps_the_gate() -> None:
    """Whoever awaits the outer one, and everybody else, enters when both are over."""
    door = Door()
    outer = door.begin("outer")
    door.gate.turn_ended()
    inner = door.begin("inner", outer)
    door.gate.turn_ended()
    door.enter("event")
    door.end("outer told", outer)
    door.gate.turn_ended()
    assert door.entered == ["outer", "inner"]
    assert door.gate.top is not None
    door.end("inner told", inner)
    for _ in range(4):
        door.gate.turn_ended()

    assert door.entered == ["outer", "inner", "outer told", "inner told", "event"]
    assert door.gate.top is None


def test_a_nested_section_holds_the_outer_one_too() -> None:
    """Events of the outer section wait until the inner one has ended."""
    door = Door()
    outer = door.begin("outer")
    door.gate.turn_ended()
    inner = door.begin("inner", outer)
    door.gate.turn_ended()
    door.gate.turn_ended()
    door.enter("of-outer", outer)
    assert door.entered == ["outer", "inner"]
    door.end("told", inner)
    for _ in range(3):
        door.gate.turn_ended()

    assert door.entered == ["outer", "inner", "told", "of-outer"]


def test_a_section_of_an_outer_scope_waits_for_the_one_that_is_open() -> None:
    """One begun inside of that goes before it."""
    door = Door()
    first = door.begin("first")
    door.begin("second")
    door.gate.turn_ended()
    door.begin("inner", first)
    door.gate.turn_ended()

    assert door.entered == ["first", "inner"]


def test_what_a_finished_section_left_behind_belongs_to_the_scope_around_it() -> None:
    """IG-11: stragglers are adopted."""
    door = Door()
    section = door.begin("section")
    door.gate.turn_ended()
    door.end("told", section)
    for _ in range(2):
        door.gate.turn_ended()
    door.enter("straggler", section)

    assert door.entered == ["section", "told", "straggler"]


def test_the_sixty_fifth_nested_section_is_refused() -> None:
    """IG-10: the limit is the platform's."""
    door = Door()
    section: Section | None = None
    for _ in range(SECTIONS_DEPTH_MAX):
        section = Section(section)

    with pytest.raises(RuntimeError, match="nested too deeply"):
        door.begin("one too many", section)
    assert door.gate.waiting() == 0
