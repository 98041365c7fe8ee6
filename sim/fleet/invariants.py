"""Every invariant and every statement of progress of the system: what each story is judged by."""

from typing import Any, Final

from ..properties import Property
from .inv_endings import ENDINGS
from .inv_fence import FENCE
from .inv_identity import IDENTITY
from .inv_images import IMAGES
from .inv_members import MEMBERS
from .inv_permits import PERMITS
from .inv_progress import PROGRESS
from .inv_ready import READY
from .inv_recovery import RECOVERY
from .inv_saying import SAYING
from .inv_stacks import STACKS
from .inv_upload import UPLOAD
from .inv_verified import VERIFIED

__all__ = ["EVERYWHERE"]

EVERYWHERE: Final[tuple[Property[Any], ...]] = (
    *MEMBERS,
    *VERIFIED,
    *IMAGES,
    *IDENTITY,
    *PROGRESS,
    *ENDINGS,
    *FENCE,
    *READY,
    *RECOVERY,
    *SAYING,
    *UPLOAD,
    *STACKS,
    *PERMITS,
)
"""All of them: what is kept goes before what progresses, so that a cause is named."""
