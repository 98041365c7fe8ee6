"""A failure in sentences: what does not hold, when, and how to see it again.

The command line and the pytest plugin print the same lines.
"""

from collections.abc import Mapping, Sequence

import attrs
from rich.text import Text

from .chart import chart
from .diagram import diagram_of
from .run import RunResult
from .wording import visible
from .world import Failure

__all__ = ["Told", "tell", "told_of", "what_happened"]

TAIL_STEPS = 40
"""Steps of the chart below a failure."""


@attrs.frozen(kw_only=True)
class Told:
    """What there is to tell about one failure.

    Attributes:
        scenario: its name.
        property: which does not hold.
        message: what was seen.
        sentences: one for each deviation, in order.
        seed: of the run.
        parameters: of the run.
        shrunk_from: how many deviations there were before shrinking; None if it was not shrunk.
        command: which runs it again.
        remarks: what else is worth a line, such as the error of an alarm handler.
    """

    scenario: str
    property: str
    message: str
    sentences: Sequence[str]
    seed: int
    parameters: Mapping[str, object] = attrs.field(factory=dict[str, object])
    shrunk_from: int | None = None
    command: str | None = None
    remarks: Sequence[str] = ()


def tell(told: Told) -> list[Text]:
    """Tell a failure: the property, what was seen, the numbered deviations, how to see it again."""
    lines = [
        Text(visible(f"✗ {told.scenario}: {told.property} does not hold"), style="bold red"),
        *(Text(visible(f"  {line}")) for line in told.message.splitlines()),
        *(Text(visible(f"  {remark}")) for remark in told.remarks),
        Text(),
    ]
    if told.sentences:
        lines.append(Text("  It happens when"))
        lines += [
            Text(visible(f"  {number}. {sentence}"), style="bold")
            for number, sentence in enumerate(told.sentences, 1)
        ]
    else:
        lines.append(Text("  It happens in the ordinary run: nothing has to go wrong."))
    lines += [Text(), Text(f"  {_origin(told)}", style="dim")]
    if told.command is not None:
        lines.append(Text(f"  again: {told.command}"))
    return lines


def _origin(told: Told) -> str:
    words = [f"seed {told.seed}"]
    words += [visible(f"{name} = {value!r}") for name, value in told.parameters.items()]
    left = len(told.sentences)
    if told.shrunk_from is not None and told.shrunk_from != left:
        words.append(f"{left} of {told.shrunk_from} deviations left after shrinking")
    return ", ".join(words)


def told_of(
    result: RunResult,
    failure: Failure,
    *,
    shrunk_from: int | None = None,
    command: str | None = None,
) -> Told:
    """Return what there is to tell about one failure of a run."""
    return Told(
        scenario=result.scenario.name,
        property=failure.property,
        message=failure.message,
        sentences=[each.sentence for each in result.deviations],
        seed=result.seed,
        parameters=result.parameters,
        shrunk_from=shrunk_from,
        command=command,
        remarks=result.remarks,
    )


def what_happened(
    result: RunResult, *, width: int, steps_max: int | None = TAIL_STEPS
) -> list[Text]:
    """Draw the chart of a run."""
    diagram = diagram_of(result.rows, result.deviations, result.failures)
    return chart(diagram, width=width, steps_max=steps_max)
