"""Names that can stand in a path: keys, run ids, targets, threads."""

import re
from typing import Final, TypeGuard

__all__ = ["is_path_safe"]

PATH_SAFE: Final = re.compile(r"[A-Za-z0-9._~-]{1,200}\Z")


def is_path_safe(value: object) -> TypeGuard[str]:
    """Whether *value* is 1 to 200 characters that need no escaping in a path, and no dots alone."""
    return (
        isinstance(value, str) and PATH_SAFE.match(value) is not None and value not in (".", "..")
    )
