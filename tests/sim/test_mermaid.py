"""The chart for documents, read by a strict grammar of the part of Mermaid that it uses."""

import re

import pytest

from durasim.sim.diagram import Arrow, Diagram, Step
from durasim.sim.mermaid import escaped, mermaid

from .drawn import clicks, drawn

TEXT = r"(?:[^\n#;<>%{}\"&\\`$~|^@]|#\d+;)+(?<=\S)"
"""What may stand for people to read: neither line ends nor `;`, and `#` only before a number."""

ROLE = re.compile(rf"    (?:actor|participant) (p\d+|world)(?: as {TEXT})?")
NOTE = re.compile(rf"    Note (?:over (p\d+|world)(?:,(p\d+))?|right of (p\d+)): {TEXT}")
MESSAGE = re.compile(rf"    (p\d+)(?:->>|-->>|-\)|--\)|-x|--x)(p\d+): {TEXT}")

NASTY = (
    "end", "x; y: z", "<script>alert(1)</script>", "%% comment", "#35; loop", "a\nb", "{x}",
    "note over p0: x", "'q' \"d\" `b` \\ [y] $z ~ | & ^", "+", "-", "", "  ", "日本",
    "😀", "a\x1b[2J",
)  # fmt: skip


def check_grammar(source: str) -> list[str]:
    """Return the declared participants, once every line is known to be right."""
    first, *lines = source.splitlines()
    assert first == "sequenceDiagram"
    declared: list[str] = []
    is_body = False
    for line in lines:
        role = ROLE.fullmatch(line)
        if role is not None:
            assert not is_body, f"{line!r} declares too late"
            declared.append(role[1])
            continue
        is_body = True
        used = NOTE.fullmatch(line) or MESSAGE.fullmatch(line)
        assert used is not None, f"{line!r} is not Mermaid"
        assert {name for name in used.groups() if name} <= set(declared)
    assert len(declared) == len(set(declared)) > 0
    return declared


def test_a_run_is_a_sequence_diagram() -> None:
    """Lanes, messages, losses, notes and time."""
    lost = ("reply 2 of Counter/c.increment to client-0", "lost")
    diagram = drawn(clicks, [lost], clients=1, each=2)
    source = re.sub(r" \(drawn.py:\d+\)", "", mermaid(diagram))

    assert check_grammar(source) == ["p0", "p1"]
    assert (
        source
        == """\
sequenceDiagram
    actor p0 as client-0
    participant p1 as Counter/c
    Note over p0,p1: 0 s
    p0->>p1: increment()
    Note right of p1: total = 1
    p1-->>p0: 1
    p0->>p1: increment()
    Note right of p1: total: 1 → 2
    p1--xp0: reply lost
    Note over p0,p1: 10 s
    Note right of p1: is evicted
    Note over p0,p1: 30 s
    Note right of p0: no reply within 30 s
    Note over p0,p1: ✗ scenario: OutcomeUnknown: Counter/c: no reply within 30 s
"""
    )


@pytest.mark.parametrize("text", NASTY)
def test_any_text_is_shown_and_not_obeyed(text: str) -> None:
    """As a name, as a message of each kind and as a note."""
    arrows: tuple[Arrow, ...] = ("whole", "sent", "arrived", "lost")
    steps = [
        Step(number=1, time_us=1, source=text, target="b", arrow=arrow, is_reply=reply, text=text)
        for arrow in arrows
        for reply in (False, True)
    ]
    steps += [Step(number=1, time_us=1, source=end, text=text) for end in (text, "")]
    diagram = Diagram(
        participants=(text, "b"), objects=frozenset({"b"}), steps=tuple(steps), is_cut=True
    )

    assert check_grammar(mermaid(diagram)) == ["p0", "p1"]


def test_escaped_text_reads_back() -> None:
    """What Mermaid shows is what was there."""
    text = 'a;b#c<d>e%f"g"{h}'
    shown = re.sub(r"#(\d+);", lambda match: chr(int(match[1])), escaped(text))

    assert shown == text


@pytest.mark.parametrize("names", [(), ("a",)])
def test_a_run_without_steps_is_a_diagram(names: tuple[str, ...]) -> None:
    """Mermaid wants at least a participant."""
    source = mermaid(Diagram(participants=names, objects=frozenset(), steps=(), is_cut=False))

    assert len(check_grammar(source)) == 1


def test_long_runs_are_shortened_as_in_the_chart() -> None:
    """What is left out is counted."""
    steps = tuple(Step(number=n, time_us=0, source="a", text="x") for n in range(100))
    diagram = Diagram(participants=("a",), objects=frozenset(), steps=steps, is_cut=False)
    source = mermaid(diagram, steps_max=10)

    check_grammar(source)
    assert "… 90 steps more" in source
    assert source.count("Note right of p0: x") == 10
