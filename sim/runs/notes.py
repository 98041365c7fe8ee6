"""How notes of the ledger are read."""

from typing import Any, cast

from ..ledger import Entry

__all__ = [
    "fields",
    "short",
    "told",
]


def told(entry: Entry) -> tuple[Any, ...]:
    """Return what was noted, whose parts `deployment.py` gives."""
    return cast(tuple[Any, ...], entry.value)


def fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of a logged line."""
    return dict(told(entry))


def short(name: str) -> str:
    """Return the end of a name that is long, to be told from others."""
    return name if len(name) <= 12 else f"..{name[-6:]}"
