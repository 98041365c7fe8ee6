"""The sequence chart of a run, for terminals.

Time runs down, a lane for each participant, virtual time at the left where it moves:

    │ ┃ ┆      a participant; with a handler in progress; without an incarnation
    ── x() ─▶  a message and where it arrives
    ── x() ┄┄  one that leaves and arrives further down, where it looks like ┄┄ x() ─▶
    ── x() ─✗  one that is lost
    ● text     what happened to the participant on the left of it: commits with before → after

What does not fit is left out from the least interesting: participants that no deviation or failure
touches go into one lane, and steps far from any deviation or failure are counted on a line of `⋮`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import attrs
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from .diagram import Diagram, Step
from .wording import moment, visible

__all__ = ["chart"]

LANE_CELLS_MIN = 18
"""Cells from one lane to the next; below it, arrows have no room for their method."""
LANE_CELLS_MAX = 38
"""Beyond it, the eye loses the line."""
STEPS_MAX = 60
"""Steps drawn unless asked otherwise: what a screen and a half holds."""
FAR = 1_000_000
PLACE = re.compile(r" \(?[^\s()]+\.py:\d+\)?$")
"""Where in the code something failed, at the end of a sentence."""

QUIET, LANE, MESSAGE, REPLY, MARK, NAME, NOTE = (
    Style(dim=True),
    Style(dim=True),
    Style(color="cyan"),
    Style(color="green"),
    Style(color="red", bold=True),
    Style(bold=True),
    Style(color="yellow"),
)


def chart(diagram: Diagram, *, width: int = 100, steps_max: int | None = STEPS_MAX) -> list[Text]:
    """Draw *diagram*: one `Text` for each line, none wider than *width* cells.

    Args:
        diagram: what to draw.
        width: cells of the terminal; less than 40 is taken as 40.
        steps_max: how many steps to draw; None for all of them.
    """
    steps = diagram.steps
    if not steps:
        return [Text("nothing happened", style=QUIET)]
    if not diagram.participants:
        return [Text("nobody called anybody", style=QUIET)]
    width = max(width, 40)
    time_cells = max(len(moment(step.time_us)) for step in steps) + 1
    layout = _layout(diagram, width, time_cells)
    kept = kept_steps(steps, steps_max, is_aside=lambda step: not layout.shows(step))
    pen = _Pen(diagram, layout)
    lines = [pen.heading(), pen.rule()]
    if diagram.is_cut:
        lines.append(pen.gap("the beginning of the trace is no longer there"))
    time = ""
    before = 0
    for place in kept:
        if place > before:
            count = place - before
            lines.append(pen.gap(f"{count} {'step' if count == 1 else 'steps'} more"))
        step = steps[place]
        shown = moment(step.time_us)
        lines.append(pen.line(step, "" if shown == time else shown))
        time = shown
        before = place + 1
    if before < len(steps):
        count = len(steps) - before
        lines.append(pen.gap(f"{count} {'step' if count == 1 else 'steps'} more"))
    return lines


def kept_steps(
    steps: Sequence[Step],
    steps_max: int | None,
    *,
    is_aside: Callable[[Step], bool] = lambda _: False,
) -> list[int]:
    """Return the places of the *steps_max* most interesting steps, in order.

    Interesting is what is marked, then what is near to it, then the beginning and the end; what
    *is_aside* comes last.
    """
    if steps_max is None or len(steps) <= steps_max:
        return list(range(len(steps)))
    near = [FAR] * len(steps)
    for order in (range(len(steps)), range(len(steps) - 1, -1, -1)):
        distance = FAR
        for place in order:
            distance = 0 if steps[place].is_marked else distance + 1
            near[place] = min(near[place], distance)
    last = len(steps) - 1

    def rank(place: int) -> tuple[int, int]:
        # A verdict is always shown, and the ends count as two steps away from a mark.
        if steps[place].is_marked and not steps[place].source:
            return -1, place
        distance = min(near[place], place + 2, last - place + 2)
        return distance + FAR * is_aside(steps[place]), place

    chosen = set(sorted(range(len(steps)), key=rank)[:steps_max])
    # A step alone between two that are shown takes no more room than saying that it is left out.
    alone = [place for place in range(1, last) if {place - 1, place + 1} <= chosen]
    return sorted(chosen.union(alone))


@attrs.frozen
class _Layout:
    """Which lanes there are, and in which cell each stands."""

    cells: dict[str, int]
    others: frozenset[str]
    others_cell: int | None
    start: int
    lane: int
    width: int

    def cell(self, name: str) -> int:
        """Return the cell of the lane of *name*."""
        found = self.cells.get(name, self.others_cell)
        assert found is not None
        return found

    def shows(self, step: Step) -> bool:
        """Whether *step* touches a lane of its own, or the whole world."""
        ends = {step.source, step.target} - {None}
        return "" in ends or any(end in self.cells for end in ends)


def _layout(diagram: Diagram, width: int, time_cells: int) -> _Layout:
    start = time_cells + 1
    room = max((width - start) // LANE_CELLS_MIN, 2)
    names = list(diagram.participants)
    others: frozenset[str] = frozenset()
    if len(names) > room:
        shown = _most_interesting(diagram, room - 1)
        others = frozenset(names) - shown
        names = [name for name in names if name in shown]
    lanes = len(names) + (1 if others else 0)
    lane = min((width - start) // max(lanes, 1), LANE_CELLS_MAX)
    # Whoever calls stands on the left, also when it has no lane of its own.
    others_first = bool(others) and others.isdisjoint(diagram.objects)
    first = start + lane if others_first else start
    cells = {name: first + number * lane for number, name in enumerate(names)}
    others_cell = start if others_first else start + len(names) * lane
    return _Layout(cells, others, others_cell if others else None, start, lane, width)


def _most_interesting(diagram: Diagram, count: int) -> frozenset[str]:
    """Return the *count* participants with most marks, then with most steps."""
    marks: Counter[str] = Counter()
    steps: Counter[str] = Counter()
    for step in diagram.steps:
        for end in (step.source, step.target):
            if end:
                steps[end] += 1
                marks[end] += step.is_marked
    order = {name: place for place, name in enumerate(diagram.participants)}
    names = sorted(order, key=lambda name: (-marks[name], -steps[name], order[name]))
    return frozenset(names[:count])


class _Pen:
    """Draws lines of one chart."""

    def __init__(self, diagram: Diagram, layout: _Layout) -> None:
        self._layout = layout
        self._objects = diagram.objects
        self._alive: frozenset[str] = frozenset()
        self._busy: frozenset[str] = frozenset()

    def heading(self) -> Text:
        """The names of the participants."""
        line = _Line(self._layout.width)
        line.put(0, "time".rjust(self._layout.start - 2), QUIET)
        for name, cell in self._lanes():
            line.put(cell, visible(name), NAME, room=self._layout.lane - 1)
        return line.text()

    def rule(self) -> Text:
        """What stands below the names."""
        line = _Line(self._layout.width)
        for name, cell in self._lanes():
            length = min(cell_len(visible(name)), self._layout.lane - 1)
            line.put(cell, "┬" + "─" * (length - 1), QUIET)
        return line.text()

    def gap(self, text: str) -> Text:
        """What is left out."""
        line = _Line(self._layout.width)
        for _, cell in self._lanes():
            line.put(cell, "⋮", QUIET)
        line.put(self._layout.start + 2, f" {text} ", QUIET)
        return line.text()

    def line(self, step: Step, time: str) -> Text:
        """One step."""
        line = _Line(self._layout.width)
        self._alive, self._busy = step.alive, step.busy
        line.put(0, time.rjust(self._layout.start - 2), QUIET)
        for name, cell in self._lanes():
            line.put(cell, *self._lane(name))
        if step.target is not None:
            self._message(line, step)
        elif step.source:
            cell = self._layout.cell(step.source)
            text = step.text
            if step.source not in self._layout.cells:
                text = f"{visible(step.source)} {text}"
            style = MARK if step.is_marked else NOTE
            line.put(cell + 2, ("✗ " if step.is_marked else "● ") + text, style)
        else:
            self._across(line, step)
        return line.text()

    def _across(self, line: "_Line", step: Step) -> None:
        start, style = self._layout.start, MARK if step.is_marked else QUIET
        text = f"── {_shortened(step.text, self._layout.width - start - 4)} "
        line.put(start, text, style)
        end = self._layout.width if step.is_marked else start + cell_len(text) + 2
        line.put(start + cell_len(text), "─" * (end - start - cell_len(text)), QUIET)

    def _lanes(self) -> list[tuple[str, int]]:
        lanes = list(self._layout.cells.items())
        if self._layout.others_cell is not None:
            count = len(self._layout.others)
            lanes.append((f"{count} others", self._layout.others_cell))
        return lanes

    def _lane(self, name: str) -> tuple[str, Style]:
        if name not in self._objects:
            return "│", LANE
        if name in self._busy:
            return "┃", Style()
        return ("│", LANE) if name in self._alive else ("┆", LANE)

    def _message(self, line: "_Line", step: Step) -> None:
        assert step.target is not None
        source, target = self._layout.cell(step.source), self._layout.cell(step.target)
        text = step.text
        hidden = [name for name in (step.source, step.target) if name not in self._layout.cells]
        if hidden:
            text = f"{visible(hidden[0])}: {text}"
        style = MARK if step.is_marked else REPLY if step.is_reply else MESSAGE
        if source == target:
            own = "↺" if step.source == step.target else "→"
            arrow = {"lost": "✗", "sent": "↷", "arrived": "↶"}.get(step.arrow or "", own)
            line.put(source + 2, f"{arrow} {text}", style)
            return
        left, right = sorted((source, target))
        room = right - left - 1
        label = f" {text} "
        if cell_len(label) > room - 2:
            label = set_cell_size(label, max(room - 4, 1)).rstrip() + "… "
        shaft = _shaft(step, label, room, points_right=source < target)
        line.put(left + 1, shaft, style)


def _shortened(text: str, cells: int) -> str:
    """Return *text*, cut to *cells* if it is longer; the place in the code at its end stays."""
    if cell_len(text) <= cells:
        return text
    place = PLACE.search(text)
    end = "" if place is None else place[0]
    if cell_len(end) > cells // 2:
        end = ""
    return f"{set_cell_size(text, cells - cell_len(end) - 1).rstrip()}…{end}"


def _shaft(step: Step, label: str, room: int, *, points_right: bool) -> str:
    """Return the arrow of a message, *room* cells long, with its label in it.

    Drawn from its source; one that points left is turned around at the end.
    """
    free = max(room - cell_len(label) - 1, 0)
    near, far = "─" * (free // 2), "─" * (free - free // 2)
    head = "▶" if points_right else "◀"
    if step.arrow == "arrived":
        near = "┄" * len(near)
    elif step.arrow == "sent":
        # It is not there yet: its end hangs in the air.
        far, head = "┄" * min(3, len(far)) + " " * (len(far) - 3), ""
    elif step.arrow == "lost":
        far, head = far[2:], "✗  "
    if points_right:
        return near + label + far + head
    return (head[::-1] + far[::-1] + label + near).rjust(room)


class _Line:
    """One line under construction: a character and a style for each cell."""

    def __init__(self, width: int) -> None:
        self._cells: list[tuple[str, Style]] = [(" ", Style())] * width

    def put(self, cell: int, text: str, style: Style, *, room: int | None = None) -> None:
        """Write *text* from *cell* on; what does not fit is cut, with an ellipsis."""
        width = len(self._cells) - cell if room is None else min(room, len(self._cells) - cell)
        if width <= 0:
            return
        if cell_len(text) > width:
            text = set_cell_size(text, width - 1) + "…"
        for character in text:
            size = cell_len(character)
            if size == 0:
                continue
            self._cells[cell] = (character, style)
            if size == 2 and cell + 1 < len(self._cells):
                self._cells[cell + 1] = ("", style)
            cell += size

    def text(self) -> Text:
        """Return it, without blanks at its end."""
        text = Text(no_wrap=True, overflow="crop", end="")
        for characters, style in _runs(self._cells):
            text.append(characters, style)
        text.rstrip()
        return text


def _runs(cells: Iterable[tuple[str, Style]]) -> Iterable[tuple[str, Style]]:
    """Join neighbouring cells of one style."""
    joined, current = "", Style()
    for character, style in cells:
        if style != current:
            if joined:
                yield joined, current
            joined, current = "", style
        joined += character
    if joined:
        yield joined, current
