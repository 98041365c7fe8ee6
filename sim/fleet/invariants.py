"""Every invariant and every statement of progress of the system: what each story is judged by."""

from typing import Any, Final

from ..properties import Property
from .inv_endings import ENDINGS
from .inv_identity import IDENTITY
from .inv_progress import PROGRESS

__all__ = ["EVERYWHERE"]

EVERYWHERE: Final[tuple[Property[Any], ...]] = (*IDENTITY, *PROGRESS, *ENDINGS)
"""All of them, in the order in which they were written."""
