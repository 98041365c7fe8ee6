"""The maintenance hold, as admission reads it: a record that is held closes the fleet.

Source: spec/deploy-fence.md B.1, C.0 (gate matrix), L (operation 3).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .documents import as_mapping

__all__ = ["MAINTENANCE", "held_records", "is_closed"]

MAINTENANCE: Final = "deploy:maintenance:"
"""What the keys of the records begin with; a generation follows."""


def held_records(rows: Iterable[object]) -> list[Mapping[str, Any]]:
    """Return those of the stored *rows* that are held, of whatever generation."""
    records = (as_mapping(row) for row in rows)
    return [each for each in records if each is not None and each.get("state") == "held"]


def is_closed(held: Iterable[Mapping[str, Any]], kind: str | None, commit: object) -> bool:
    """Whether the *held* records keep out a request of *kind* by a Worker of *commit*.

    Only a reconcile by the source that a record selects passes it.
    """
    return any(kind != "reconcile" or each.get("source") != commit for each in held)
