"""How notes of the ledger are read."""

from typing import Any

from ..ledger import Entry

__all__ = [
    "fields",
    "short",
]


def fields(entry: Entry) -> dict[str, Any]:
    """Return the fields of a logged line."""
    return dict(entry.value)  # type: ignore[call-overload,no-any-return]


def short(name: str) -> str:
    """Return the end of a name that is long, to be told from others."""
    return name if len(name) <= 12 else f"..{name[-6:]}"
