"""A trace as a diagram: whose lanes there are, and step by step who sent what and what befell whom.

A message that arrives before anything else happens is one step. One that something overtook is two:
where it left, and where it arrived. `chart.py` and `mermaid.py` draw the same diagram.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

import attrs

from .calls import Call, Calls
from .captions import call_text, commit_text, deadline_of, reply_text
from .choices import Deviation, split_name
from .lanes import Lanes
from .steps import Arrow, Diagram, Step
from .trace import Row
from .wording import cut, seconds, visible
from .world import Failure

__all__ = ["Arrow", "Diagram", "Step", "diagram_of"]

GONE = {
    "crash": "dies",
    "evict": "is evicted",
    "reset": "is reset",
    "done": "ends",
    "failed": "fails",
    "killed": "is killed",
}
"""How a participant ends: kinds of rows, and what is said of them."""

DATABASE = "database"
"""The lane of the shared database."""


def diagram_of(
    rows: Iterable[Row],
    deviations: Iterable[Deviation] = (),
    failures: Iterable[Failure] = (),
) -> Diagram:
    """Make the diagram of *rows*.

    Args:
        rows: of one trace, in order.
        deviations: of the same run: messages that one of them moved are marked.
        failures: of the same run: they give the messages of what was violated.
    """
    drawing = _Drawing(tuple(deviations), failures)
    first: int | None = None
    for row in rows:
        first = row.number if first is None else first
        drawing.add(row)
    return drawing.finished(is_cut=first is not None and first > 1)


class _Drawing:
    """A diagram that grows row by row."""

    def __init__(self, deviations: tuple[Deviation, ...], failures: Iterable[Failure]) -> None:
        self._steps: list[Step] = []
        self._lanes = Lanes()
        self._calls = Calls()
        self._queries: dict[tuple[str, int], Call] = {}
        self._due: list[tuple[int, int, int, str, Call]] = []
        self._counts: dict[tuple[str, str], int] = {}
        self._moved = _by_site(deviations)
        # A deadline is told by the clock of the caller's host: known here while none is wrong.
        self._clocks_are_right = not any("clock" in each.sentence for each in deviations)
        self._failures = {failure.property: failure.message for failure in failures}
        self._crashing = False
        self._struck = ""
        self._before: Row | None = None
        self._on: dict[str, Callable[[Row], None]] = {
            "request": self._request,
            "deliver": self._deliver,
            "reply": self._reply,
            "answer": self._answer,
            "lost": self._lost,
            "broken": self._broken,
            "start": self._start,
            "begin": self._begin,
            "raised": self._raised,
            "commit": self._commit,
            "effect": self._effect,
            "left-over failed": self._left_over,
            "strike": self._strike,
            "swap": self._swap,
            "violated": self._violated,
            "query": self._query,
            "queried": self._queried,
            "told": self._told,
            "gone": self._worker_gone,
        }

    def add(self, row: Row) -> None:
        """Draw one row, if it is one that is drawn."""
        while self._due and self._due[0][0] <= row.time_us:
            self._expire(row, *heappop(self._due))
        if row.kind in GONE:
            self._gone(row)
        else:
            self._crashing = False
            draw = self._on.get(row.kind)
            if draw is not None:
                draw(row)
        self._before = row

    def finished(self, *, is_cut: bool) -> Diagram:
        """Return what was drawn."""
        # Objects that go for being idle when all is over have nothing to tell.
        while self._steps and self._steps[-1].text == GONE["evict"]:
            if self._steps[-1].is_marked:
                break
            self._steps.pop()
        return Diagram(
            participants=self._lanes.in_order(),
            objects=frozenset(self._lanes.comers),
            steps=tuple(self._steps),
            is_cut=is_cut,
        )

    def _step(self, row: Row, source: str, text: str, **more: Any) -> Step:
        return Step(
            number=row.number,
            time_us=row.time_us,
            source=source,
            text=text,
            alive=self._lanes.alive,
            busy=self._lanes.busy,
            **more,
        )

    def _note(self, row: Row, source: str, text: str, *, is_marked: bool = False) -> None:
        if source:
            self._lanes.acts(source)
        self._steps.append(self._step(row, source, text, is_marked=is_marked))

    def _moved_by(self, kind: str, subject: str) -> str | None:
        # The same count that names the choice: the n-th message of its kind on its route.
        number = self._counts[kind, subject] = self._counts.get((kind, subject), 0) + 1
        return self._moved.get((kind, number, subject))

    # ---- messages

    def _request(self, row: Row) -> None:
        caller = row.actor
        number, kind, name, method, data = row.detail
        target = f"{kind}/{name}" if name else kind
        self._lanes.acts(caller)
        self._lanes.is_called(target, comes=True)
        text = call_text(method, data)
        option = self._moved_by("request", f"{kind}/{name}.{method} by {caller}")
        call = Call(target, method, text, f"{kind}/{name}.{method}")
        self._calls.add(caller, number, call)
        if option is not None and option != "lost":
            text = f"{text} [{option}]"
        call.text = text
        deadline = deadline_of(data)
        if deadline is not None and self._clocks_are_right:
            heappush(self._due, (deadline, row.time_us, row.number, caller, call))
        call.sent = self._step(
            row, caller, text, target=target, arrow="sent", is_marked=option is not None
        )
        self._steps.append(call.sent)

    def _expire(
        self, row: Row, deadline: int, sent_us: int, _number: int, caller: str, call: Call
    ) -> None:
        if not call.is_over and (caller not in self._lanes.comers or caller in self._lanes.alive):
            text = f"no reply within {seconds(deadline - sent_us)}"
            self._note(row._replace(time_us=deadline), caller, text, is_marked=True)

    def _deliver(self, row: Row) -> None:
        number, kind, name = row.detail
        call = self._calls.delivered(row.actor, number, f"{kind}/{name}" if name else kind)
        if call is None:
            return
        self._arrive(row, call.sent, row.actor, call.target, call.text, is_reply=False)
        call.sent = None

    def _reply(self, row: Row) -> None:
        caller = row.actor
        call = self._calls.replied(caller, row.detail[0])
        if call is None:
            return
        option = self._moved_by("reply", f"{call.route} to {caller}")
        self._lanes.begins(call.target, -1)
        moved = f" [{option}]" if option not in (None, "lost") else ""
        step = self._step(
            row,
            call.target,
            f"reply to {call.method}{moved}",
            target=caller,
            arrow="sent",
            is_reply=True,
            is_marked=option is not None,
        )
        call.has_replied = True
        call.replied.append(step)
        self._steps.append(step)

    def _answer(self, row: Row) -> None:
        call = self._calls.answered(row.actor, row.detail[0])
        if call is None:
            return
        call.is_over = True
        sent = call.replied.pop(0) if call.replied else None
        text, failed = reply_text(row.detail[1])
        self._arrive(row, sent, call.target, row.actor, text, is_reply=True, is_marked=failed)

    def _arrive(
        self,
        row: Row,
        sent: Step | None,
        source: str,
        target: str,
        text: str,
        *,
        is_reply: bool,
        is_marked: bool = False,
    ) -> None:
        whole = sent is not None and self._steps[-1] is sent and sent.time_us == row.time_us
        marked = is_marked or (sent is not None and sent.is_marked)
        if whole:
            self._steps.pop()
        self._steps.append(
            self._step(
                row,
                source,
                text,
                target=target,
                arrow="whole" if whole else "arrived",
                is_reply=is_reply,
                is_marked=marked,
            )
        )

    def _lost(self, row: Row) -> None:
        number, what = row.detail
        call = self._calls.lost(row.actor, number, is_request=what == "request")
        if call is None:
            return
        is_reply = what == "reply" or (call.sent is None and bool(call.replied))
        sent = call.replied.pop() if is_reply and call.replied else call.sent
        if sent is not None and self._steps[-1] is sent:
            self._steps.pop()
        source, target = (call.target, row.actor) if is_reply else (row.actor, call.target)
        text = "reply lost" if is_reply else f"{call.text} lost"
        self._steps.append(
            self._step(
                row, source, text, target=target, arrow="lost", is_reply=is_reply, is_marked=True
            )
        )

    def _broken(self, row: Row) -> None:
        call = self._calls.broken(row.actor, row.detail[0])
        method = "a call" if call is None else call.method
        if call is not None:
            call.is_over = True
        self._note(row, row.actor, f"connection broken: {method} has no reply", is_marked=True)

    # ---- objects

    def _start(self, row: Row) -> None:
        self._lanes.starts(row.actor)
        if row.incarnation > 1:
            self._note(row, row.actor, f"incarnation {row.incarnation} starts")

    def _begin(self, row: Row) -> None:
        label = row.detail[0]
        if label == "alarm":
            self._note(row, row.actor, "alarm rings")
            return
        self._lanes.begins(row.actor)
        before = self._before
        if before is None or before.kind not in ("deliver", "start"):
            self._note(row, row.actor, f"begins {label}")
        elif self._steps:
            self._steps[-1] = attrs.evolve(
                self._steps[-1], busy=self._lanes.busy, alive=self._lanes.alive
            )

    def _raised(self, row: Row) -> None:
        label, error = row.detail
        # What a call raised stands in its reply.
        if label == "alarm":
            self._note(row, row.actor, f"alarm failed: {error}", is_marked=True)

    def _commit(self, row: Row) -> None:
        _, changes, alarm = row.detail
        text = commit_text(changes, alarm)
        if text:
            self._note(row, row.actor, text)

    def _effect(self, row: Row) -> None:
        kind, value = row.detail
        text = visible(str(kind)) if value == "None" else f"{visible(str(kind))}: {cut(value, 32)}"
        source = row.actor if row.actor in self._lanes.comers else ""
        self._note(row, source, f"outside: {text}")

    def _left_over(self, row: Row) -> None:
        self._note(row, row.actor, "left-over work failed", is_marked=True)

    def _gone(self, row: Row) -> None:
        if row.kind == "crash" and row.incarnation == 0:
            self._crashing = True
            self._note(row, "", f"{row.actor} crashes and starts again", is_marked=True)
            return
        self._lanes.ends(row.actor)
        if row.kind == "crash" and not self._crashing:
            return  # the end of the world
        is_marked = row.kind not in ("evict", "done") or self._struck == row.actor
        self._struck = ""
        self._note(row, row.actor, GONE[row.kind], is_marked=is_marked)

    def _worker_gone(self, row: Row) -> None:
        # A worker lives as long as its request; that it has gone is no news.
        self._lanes.ends(row.actor)

    # ---- the shared database

    def _query(self, row: Row) -> None:
        number, label, _ = row.detail
        self._lanes.acts(row.actor)
        self._lanes.is_called(DATABASE, comes=False)
        option = self._moved_by("query", f"{label} by {row.actor}")
        text = visible(label) if option is None else f"{visible(label)} [{option}]"
        call = self._queries[row.actor, number] = Call(DATABASE, label, text, "")
        is_marked = option is not None
        call.sent = self._step(
            row, row.actor, text, target=DATABASE, arrow="sent", is_marked=is_marked
        )
        self._steps.append(call.sent)

    def _queried(self, row: Row) -> None:
        number, changes, outcome = row.detail
        call = self._queries.get((row.actor, number))
        if call is None:
            return
        self._arrive(row, call.sent, row.actor, DATABASE, call.text, is_reply=False)
        call.sent, call.outcome = None, outcome
        if changes:
            rows = "1 row" if changes == 1 else f"{changes} rows"
            self._note(row, DATABASE, f"{rows} changed")

    def _told(self, row: Row) -> None:
        number, what = row.detail
        call = self._queries.pop((row.actor, number), None)
        if call is not None and (what == "rows" or what == call.outcome):
            step = self._step(row, DATABASE, what, target=row.actor, arrow="whole", is_reply=True)
            self._steps.append(attrs.evolve(step, is_marked=what != "rows"))
        else:
            # Nobody can tell there which of the two messages was lost.
            self._note(row, row.actor, f"no answer: {what}", is_marked=True)

    # ---- the world

    def _strike(self, row: Row) -> None:
        option, address = row.detail
        if option == "evicted":
            self._struck = address
        elif option.startswith("clock"):
            self._note(row, "", f"the clock of {row.actor} jumps: {option}", is_marked=True)
        elif option == "cut 5 s":
            self._note(row, "", f"a link to {row.actor} is cut for 5 s", is_marked=True)
        elif option == "replaced":
            self._note(row, address, "is replaced, and runs on", is_marked=True)

    def _swap(self, row: Row) -> None:
        self._note(row, "", f"{row.actor} changes over to version {row.detail[0]}", is_marked=True)

    def _violated(self, row: Row) -> None:
        (name,) = row.detail
        message = self._failures.get(name)
        text = visible(name if message is None else f"{name}: {message}")
        self._note(row, "", f"✗ {text}", is_marked=True)


def _by_site(deviations: Iterable[Deviation]) -> dict[tuple[str, int, str], str]:
    found: dict[tuple[str, int, str], str] = {}
    for deviation in deviations:
        found[split_name(deviation.choice)] = deviation.option
    return found
