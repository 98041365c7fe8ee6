"""The progress bar of an exploration, on a terminal and nowhere else."""

import contextlib
from collections.abc import Callable, Generator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress as Bar,
    TextColumn,
    TimeElapsedColumn,
)

from .explore import Progress

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(
    console: Console, title: str, runs: int | None
) -> Generator[Callable[[Progress], None] | None]:
    """Show how far *runs* runs are; gives None where nobody watches."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield None
        return
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[found]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=runs, found="")

        def show(progress: Progress) -> None:
            words = f"{progress.found} found" if progress.found else ""
            if progress.shrinking:
                words += ", shrinking"
            bar.update(task, completed=progress.runs, found=words)

        yield show
