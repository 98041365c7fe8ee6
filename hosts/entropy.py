"""Random bytes from the operating system."""

import os


class SystemEntropy:
    """The `Entropy` of an embedded host: unpredictable, the same for every actor."""

    __slots__ = ()

    def draw(self, actor: str, count: int) -> bytes:  # noqa: ARG002
        """Return *count* unpredictable bytes."""
        return os.urandom(count)
