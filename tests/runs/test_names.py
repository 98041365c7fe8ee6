"""Names that can stand in a path."""

import pytest

from durasim.actors.runs.names import is_path_safe


@pytest.mark.parametrize("name", ["a", "A-z_0.9~", "...", "k" * 200])
def test_what_needs_no_escaping_is_safe(name: str) -> None:
    """Letters, digits and four signs, up to 200 of them."""
    assert is_path_safe(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ä", "a\n", "k" * 201, 7, None])
def test_everything_else_is_not(name: object) -> None:
    """Least of all what a path would take for a direction."""
    assert not is_path_safe(name)
