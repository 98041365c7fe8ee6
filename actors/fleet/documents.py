"""Plain documents, as they are stored and sent: parts of them by their type.

What another level of the code has written may lack a field or have another form: then it is None.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["as_int", "as_list", "as_mapping", "as_text"]


def as_int(value: object) -> int | None:
    """Return *value* if it is an integer and no truth value."""
    return value if type(value) is int else None


def as_text(value: object) -> str | None:
    """Return *value* if it is text."""
    return value if isinstance(value, str) else None


def as_mapping(value: object) -> Mapping[str, Any] | None:
    """Return *value* if it is a mapping."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> list[Any]:
    """Return *value* if it is a list, or else an empty one."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, list) else []
