"""What an error of the database comes from, at the root of its chain of causes.

A table that is missing means that nothing was ever written there; that is told by the innermost
error alone. A chain that goes in a circle, or deeper than anybody wraps, has no root: the answer is
then that nobody knows (spec/run-claims.md 1.4).
"""

from typing import Final

__all__ = ["is_missing_table", "root_cause"]

DEPTH_MAX: Final = 8
"""Errors in a chain: more than any layer of ours or of a driver's wraps."""


def root_cause(error: BaseException) -> BaseException | None:
    """Return the innermost error behind *error*, or None if the chain has no end."""
    seen: list[BaseException] = []
    current = error
    while len(seen) < DEPTH_MAX:
        if any(current is other for other in seen):
            return None
        seen.append(current)
        if current.__cause__ is None:
            return current
        current = current.__cause__
    return None


def is_missing_table(error: BaseException, table: str) -> bool:
    """Whether *error* says, at its root, that *table* is not there."""
    root = root_cause(error)
    if root is None:
        return False
    said = str(root)
    return "no such table" in said.lower() and table in said
