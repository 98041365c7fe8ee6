"""Each lesson and each finding runs, ends as it says, and shows what was run."""

from pathlib import Path

import pytest

from .lessons import DOCUMENTS, chart_in, chart_of

FAILS = {
    "duplicate-start.md",
    "stale-release.md",
    "2-refusal-over-the-wire.md",
    "4-duplicate-start.md",
    "5-stale-release.md",
}
"""Documents that show how something goes wrong."""

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each.name)


def test_there_are_six_lessons_and_two_findings() -> None:
    """None got lost."""
    folders = [document.parent.name for document in DOCUMENTS]

    assert (folders.count("lessons"), folders.count("findings")) == (6, 2)


@each_document
def test_document_shows_its_run(document: Path) -> None:
    """The chart is that of the command, which ends as the text says."""
    status, chart = chart_of(document)

    assert status == (1 if document.name in FAILS else 0)
    assert chart == chart_in(document)


@each_document
def test_document_is_short(document: Path) -> None:
    """It is read in five minutes: at most 500 words beside its chart."""
    text = document.read_text().replace(chart_in(document), "")

    assert len(text.split()) <= 500
