"""The progress bar is for terminals."""

import io

from rich.console import Console

from durasim.sim import Progress
from durasim.sim.progress import progress_bar


def test_a_file_gets_no_bar() -> None:
    """Nor does a terminal that cannot move its cursor."""
    for console in (
        Console(file=io.StringIO()),
        Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"}),
    ):
        with progress_bar(console, "s", 10) as show:
            assert show is None


def test_a_terminal_sees_how_far_it_is_and_keeps_nothing() -> None:
    """Runs, findings, and that it is shrinking; then the line is erased."""
    kept = io.StringIO()
    console = Console(file=kept, force_terminal=True, width=100, _environ={"TERM": "xterm"})
    with progress_bar(console, "story", 10) as show:
        assert show is not None
        show(Progress(runs=4, runs_max=10, found=1, seconds=0.1))
        show(Progress(runs=5, runs_max=10, found=1, seconds=0.2, shrinking=True))

    text = kept.getvalue()
    assert "story" in text
    assert "5/10" in text
    assert "1 found, shrinking" in text
    assert text.endswith("\x1b[2K")
