"""What wrong input comes to: one line on stderr, status 2, and nothing has run."""

import contextlib
from collections.abc import Generator

from ..hosts import StoreError
from .batch import UnknownParameter
from .conform.corpus import UnreadableCorpus
from .mutants import UnknownTarget
from .output import Output
from .replay import UnreadableReplay
from .strategies import UnknownStrategy
from .systems import UnknownMutant, UnknownScenario, UnknownSystem
from .workers import WorkerDied

__all__ = ["FAILED", "HELD", "INTERRUPTED", "Refused", "refusing"]

HELD, FAILED, INTERRUPTED = 0, 1, 130
"""Exit statuses of what could be done."""


class Refused(Exception):
    """What was asked cannot be done. Nothing ran; the text is one line."""


UNUSABLE = (
    UnknownMutant,
    UnknownParameter,
    UnknownScenario,
    UnknownStrategy,
    UnknownSystem,
    UnknownTarget,
    UnreadableReplay,
    StoreError,
    UnreadableCorpus,
    WorkerDied,
)
"""What other parts say of what cannot be done; each is one line already."""


@contextlib.contextmanager
def refusing(output: Output) -> Generator[None]:
    """Let wrong input end as `Refused`, and keep what user's code prints off a JSON document."""
    try:
        with output.guarded():
            yield
    except UNUSABLE as error:
        raise Refused(str(error)) from error
    except SystemExit as error:
        raise Refused(f"the code of the scenario ended with SystemExit: {error}") from error
