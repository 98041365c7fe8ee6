"""Mutants of targets: what is taken for the new image, and is not."""

# A mutant stands in for a method, and uses what the method uses.
# pyright: reportPrivateUsage=false

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from ...actors.fleet import DeployRunner, Granted, ImageTarget, ReconcileOrder, targets
from ..mutants import Mutant
from .freezing import (
    g96_lagging_list,
    g97_line_of_another,
    g98_change_by_another,
    g99_same_image,
    g100_change_after_reading,
    g102_old_runner,
    g103_member_that_reads_otherwise,
    gl_change_while_reconciling,
)
from .plane import APPLICATION
from .stalling import FLEET

__all__ = ["MISTAKING"]

right_accepts = targets.accepts
right_post = DeployRunner._post


def no_lag_wait(plan: Any, own: Any, pre: ImageTarget, post: ImageTarget) -> bool:
    """Take the first read."""
    del own, pre
    return bool(post.application == plan.application)


def accept_foreign_hint(printed: Iterable[Any], application: str) -> Any:
    """Take any line for one's own."""
    lines = [line for line in printed if line.change is not None]
    return attrs.evolve(lines[0], application=application) if lines else None


def trust_no_change(plan: Any, own: Any, pre: ImageTarget, post: ImageTarget) -> bool:
    """Believe that nothing has changed if that was printed."""
    if own is not None and own.change is False:
        return True
    return right_accepts(plan, own, pre, post)


def version_must_rise(plan: Any, own: Any, pre: ImageTarget, post: ImageTarget) -> bool:
    """Wait for a later version, always."""
    return right_accepts(plan, own, pre, post) and post.version > pre.version


async def single_native_read(self: DeployRunner, frozen: ImageTarget, deadline: int) -> None:
    """Do without the last read."""
    del frozen, deadline
    self._go("application as frozen")


def reconcile_without_target(cls: type[ReconcileOrder], fields: Mapping[str, Any]) -> Any:
    """Take whatever is there for what is missing."""
    target = ImageTarget.parse(fields.get("target"))
    whatever = ImageTarget(APPLICATION, 1, "registry.example/fleet:1")
    return cls(str(fields.get("build")), str(fields.get("commit")), target or whatever)


def trust_response_only(*given: Any) -> list[str]:
    """Do without reading back."""
    del given
    return []


async def target_refrozen(self: DeployRunner, path: str, body: Mapping[str, Any]) -> Any:
    """Reconcile to whatever is listed now."""
    if path == "/reconcile":
        read = await self._read_application()
        if isinstance(read, Granted):
            body = {**body, "target": read.value.wire()}
    return await right_post(self, path, body)


MISTAKING: Final = (
    Mutant(
        "no_lag_wait", f"{FLEET}.targets:accepts", no_lag_wait, g96_lagging_list, ("INV-87",),
        parameters={"build": True, "announces": "printed"}, needs_fault=False,
    ),
    Mutant(
        "accept_foreign_hint", f"{FLEET}.targets:own_announcement", accept_foreign_hint,
        g97_line_of_another, ("INV-86",), parameters={"announces": "foreign"}, needs_fault=False,
    ),
    Mutant(
        "trust_no_change", f"{FLEET}.targets:accepts", trust_no_change, g98_change_by_another,
        ("INV-86",), parameters={"build": True}, needs_fault=False,
    ),
    Mutant(
        "version_must_rise", f"{FLEET}.targets:accepts", version_must_rise, g99_same_image,
        ("LIV-02",), needs_fault=False,
    ),
    Mutant(
        "single_native_read", f"{FLEET}.runner:DeployRunner._final_read", single_native_read,
        g100_change_after_reading, ("INV-88",), needs_fault=False,
    ),
    Mutant(
        "reconcile_without_target", f"{FLEET}.reconciling:ReconcileOrder.parse",
        reconcile_without_target, g102_old_runner, ("INV-90",), parameters={"lacks": "target"},
        needs_fault=False,
    ),
    Mutant(
        "trust_response_only", f"{FLEET}.readiness:member_problems", trust_response_only,
        g103_member_that_reads_otherwise, ("INV-88",), needs_fault=False,
    ),
    Mutant(
        "target_refrozen", f"{FLEET}.runner:DeployRunner._post", target_refrozen,
        gl_change_while_reconciling, ("INV-85",), needs_fault=False,
    ),
)  # fmt: skip
"""Found in the stories of targets."""
