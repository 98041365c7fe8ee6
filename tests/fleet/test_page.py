"""The page about the fleet shows what the code does."""

import re

import pytest

from durasim.actors.fleet import CODES

from .page import MARKS, PAGE, PARTS, written


def test_the_page_is_as_drawn() -> None:
    """Tables come from the values that decide, charts from a run."""
    text = PAGE.read_text()
    assert written(text) == text, "run: python -m tests.fleet.page"


@pytest.mark.parametrize("name", sorted(PARTS))
def test_the_page_has_each_part(name: str) -> None:
    """Nothing that can be drawn is left out."""
    assert name in [found[1] for found in MARKS.finditer(PAGE.read_text())]


def test_what_blocks_a_deploy_is_told_by_codes_that_there_are() -> None:
    """Each code of the table is one of the system."""
    text = PAGE.read_text()
    part = text[text.index("## What blocks a deploy") : text.index("## State machines")]
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", part))
    assert len(named) > 10
    assert named <= set(CODES)
