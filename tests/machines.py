"""State machines of Hypothesis, driven the same way each time."""

from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

__all__ = ["played"]


def played(machine: type[RuleBasedStateMachine], examples: int, **rest: Any) -> int:
    """Drive a machine, the same way each time; returns how often it went to its end."""
    ended: list[RuleBasedStateMachine] = []

    def teardown(play: RuleBasedStateMachine) -> None:
        ended.append(play)

    counted = type(machine.__name__, (machine,), {"teardown": teardown})
    run_state_machine_as_test(
        counted,
        settings=settings(
            max_examples=examples, stateful_step_count=30, derandomize=True, database=None,
            deadline=None, **rest,
        ),
    )  # fmt: skip
    return len(ended)
