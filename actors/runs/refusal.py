"""The one predicate that recognises a refusal of the execution fence, here and from the wire.

In process the class itself arrives; over the wire a `RunRouteError` that was rebuilt from status,
message and reason. Exactly two codes count, and only in `reason.code`: not in the message, not in a
cause, not inside a group (spec/run-claims.md 4.3, 8.4).
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from .errors import ExecutionFencedError, ExecutionFenceUnreadableError

__all__ = ["FENCE_CODES", "isExecutionFenceRefusal", "is_execution_fence_refusal"]

FENCE_CODES: Final = (ExecutionFencedError.code, ExecutionFenceUnreadableError.code)
"""The codes that say that a start was refused before anything of it ran."""


def is_execution_fence_refusal(error: object) -> bool:
    """Whether *error* says that the fence refused, so that nothing of this request ran."""
    if isinstance(error, (ExecutionFencedError, ExecutionFenceUnreadableError)):
        return True
    status = getattr(error, "status", None)
    reason = getattr(error, "reason", None)
    if not isinstance(getattr(error, "message", None), str) or type(status) is not int:
        return False
    if not isinstance(reason, Mapping):
        return False
    return cast(Mapping[str, Any], reason).get("code") in FENCE_CODES


isExecutionFenceRefusal = is_execution_fence_refusal  # noqa: N816
"""The name that the predicate has on the platform; the same object."""
