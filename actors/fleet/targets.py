"""Which native read proves the new image target of a deploy: one table (spec/deploy-fence.md C.0).

Three reads of the container application are compared: *pre*, before the upload; *post*, after it;
and a final one. What the upload tool printed about the own application is a hint, never a proof.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal

import attrs

from .identities import ImageTarget
from .native import Announcement

__all__ = [
    "ACCEPTANCES",
    "Acceptance",
    "Hint",
    "Mode",
    "TargetPlan",
    "acceptance",
    "accepts",
    "hint_of",
    "is_skippable",
    "own_announcement",
]

Mode = Literal["registry", "build"]
"""Where the image comes from: a listed reference, or a Dockerfile whose result is opaque."""
Hint = Literal["none", "change", "no-change"]
"""What was printed about the own application: nothing usable, a change, no change."""


@attrs.frozen
class TargetPlan:
    """What a deploy means to run in its containers.

    Attributes:
        mode: where the image comes from.
        application: name of the own container application.
        image: full reference of the planned image; None in build mode.
        strict_hint: whether build mode refuses a later version for which nothing usable was
            printed (I-18); default no.
    """

    mode: Mode
    application: str
    image: str | None = None
    strict_hint: bool = False

    def __attrs_post_init__(self) -> None:
        if (self.mode == "registry") != (self.image is not None):
            raise ValueError("an image is planned in registry mode, and only there")


@attrs.frozen
class Reads:
    """What one row of the table judges."""

    plan: TargetPlan
    pre: ImageTarget
    printed: str | None
    post: ImageTarget


CONDITIONS: Final[Mapping[str, Callable[[Reads], bool]]] = MappingProxyType(
    {
        "the own application": lambda r: r.post.application == r.plan.application,
        "the planned image": lambda r: r.post.image == r.plan.image,
        "a later version": lambda r: r.post.version > r.pre.version,
        "the printed image, if one was": lambda r: r.printed in (None, r.post.image),
        "exactly as before": lambda r: r.post == r.pre,
        "no strict hint": lambda r: not r.plan.strict_hint,
    }
)
"""Name to condition of a read."""


@attrs.frozen
class Acceptance:
    """One row: when a read after the upload is taken as the frozen target.

    Attributes:
        mode: where the image comes from.
        hint: what was printed.
        needs: names of `CONDITIONS`, all of which have to hold, beside the own application.
        otherwise: the code if no read did so until the readiness deadline.
    """

    mode: Mode
    hint: Hint
    needs: tuple[str, ...]
    otherwise: str


UNPROVEN: Final = "NATIVE_TARGET_UNPROVEN"
CONFLICT: Final = "NATIVE_HINT_CONFLICT"
LATER: Final = ("a later version", "the printed image, if one was")

ACCEPTANCES: Final = (
    Acceptance("registry", "none", ("the planned image",), UNPROVEN),
    Acceptance("registry", "change", ("the planned image", *LATER), UNPROVEN),
    Acceptance("registry", "no-change", ("exactly as before", "the planned image"), CONFLICT),
    Acceptance("build", "change", LATER, UNPROVEN),
    Acceptance("build", "no-change", ("exactly as before",), CONFLICT),
    Acceptance("build", "none", ("a later version", "no strict hint"), UNPROVEN),
)
"""The whole table; an unreadable application is `NATIVE_READ_UNAVAILABLE` in every row."""


def own_announcement(printed: Iterable[Announcement], application: str) -> Announcement | None:
    """Return the usable line about *application*, or None: a foreign line proves nothing.

    Of two lines that contradict each other neither is usable.
    """
    own = {each for each in printed if each.application == application and each.change is not None}
    return own.pop() if len(own) == 1 else None


def hint_of(own: Announcement | None) -> Hint:
    """Return what the usable line *own* says."""
    if own is None or own.change is None:
        return "none"
    return "change" if own.change else "no-change"


def acceptance(mode: Mode, own: Announcement | None) -> Acceptance:
    """Return the row of the table for *mode* and the usable line *own*."""
    hint = hint_of(own)
    return next(row for row in ACCEPTANCES if (row.mode, row.hint) == (mode, hint))


def accepts(
    plan: TargetPlan, own: Announcement | None, pre: ImageTarget, post: ImageTarget
) -> bool:
    """Whether *post*, read after the upload, is to be frozen as the target."""
    reads = Reads(plan, pre, None if own is None else own.image, post)
    needs = ("the own application", *acceptance(plan.mode, own).needs)
    return all(CONDITIONS[each](reads) for each in needs)


def is_skippable(
    plan: TargetPlan, own: Announcement | None, pre: ImageTarget, frozen: ImageTarget
) -> bool:
    """Whether no container has changed, so that nothing need be reconciled or claimed.

    In build mode this takes an own no-change line: nothing recognisable shows nothing (I-19).
    """
    hint = hint_of(own)
    return pre == frozen and (hint == "no-change" or (plan.mode == "registry" and hint == "none"))
