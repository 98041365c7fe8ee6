"""The same chart for documents: Mermaid's `sequenceDiagram`.

Mermaid ends a statement at a line break or a `;`, takes `#…;` for a character by its number, and
reads HTML. So every text has all but a harmless set of characters written as numbers, and the
participants get identifiers of our own.
"""

from collections.abc import Iterator

from .chart import STEPS_MAX, kept_steps
from .diagram import Diagram, Step
from .wording import seconds, visible

__all__ = ["mermaid"]

HARMLESS = frozenset(" .,:!?'*/=()[]+-_→✗…")
"""Characters, beside letters and digits, that mean nothing to Mermaid within a text."""

ARROWS = {"whole": "->>", "arrived": "->>", "sent": "-)", "lost": "-x"}
"""How Mermaid writes each part of a message; one dash more for a reply."""


def mermaid(diagram: Diagram, *, steps_max: int | None = STEPS_MAX) -> str:
    """Write *diagram* as a `sequenceDiagram`, at most *steps_max* steps of it (None for all)."""
    return "\n".join(_lines(diagram, steps_max)) + "\n"


def _lines(diagram: Diagram, steps_max: int | None) -> Iterator[str]:
    names = {name: f"p{number}" for number, name in enumerate(diagram.participants)}
    yield "sequenceDiagram"
    for name, word in names.items():
        role = "participant" if name in diagram.objects else "actor"
        yield f"    {role} {word} as {escaped(name) or '(no name)'}"
    if not names:
        yield "    participant world"
        names[""] = "world"
    everybody = ",".join(dict.fromkeys((next(iter(names.values())), [*names.values()][-1])))
    before, time = 0, -1
    if diagram.is_cut:
        yield f"    Note over {everybody}: the beginning of the trace is no longer there"
    for place in kept_steps(diagram.steps, steps_max):
        step = diagram.steps[place]
        if place > before:
            yield f"    Note over {everybody}: … {place - before} steps more"
        if step.time_us != time:
            time = step.time_us
            yield f"    Note over {everybody}: {escaped(seconds(time))}"
        yield "    " + _statement(step, names, everybody)
        before = place + 1
    if before < len(diagram.steps):
        yield f"    Note over {everybody}: … {len(diagram.steps) - before} steps more"


def _statement(step: Step, names: dict[str, str], everybody: str) -> str:
    text = escaped(step.text) or "(nothing)"
    if step.target is None:
        where = f"right of {names[step.source]}" if step.source else f"over {everybody}"
        return f"Note {where}: {text}"
    arrow = ARROWS[step.arrow or "whole"]
    return f"{names[step.source]}{'-' if step.is_reply else ''}{arrow}{names[step.target]}: {text}"


def escaped(text: str) -> str:
    """Write *text* so that Mermaid shows it as it is, on one line."""
    return "".join(
        c if c.isalnum() or c in HARMLESS else f"#{ord(c)};" for c in visible(text)
    ).strip()
