"""Where in the code of objects errors were raised: for people, no part of the trace or its digest.

An error that crosses to its caller is rebuilt there and tells the line of the call. The same world
ran the code that raised it, so a verdict can say that line as well.
"""

import sys

from ..wire import ObjectReset, RemoteError
from .errors import innermost, place, short, summary

__all__ = ["Origins"]

KEPT_MAX = 256
"""Errors that are remembered: the last ones."""


class Origins:
    """The errors that code of objects raised in one world.

    Attributes:
        remarks: what a verdict adds: the first error of each failing alarm handler.
    """

    __slots__ = ("_alarms", "_places", "remarks")

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], str] = {}
        self._alarms: set[str] = set()
        self.remarks: list[str] = []

    def note(self, actor: str, method: str) -> None:
        """The error that is handled right now came out of *actor*: its *method*, if not ""."""
        error = sys.exception()
        if error is None:
            return
        inner = innermost(error)
        where = place(inner.__traceback__)
        if where is None:
            return
        line = short(where)
        if method == "alarm" and actor not in self._alarms:
            self._alarms.add(actor)
            self.remarks.append(f"the alarm of {actor} failed: {summary(inner)} ({line})")
        # One that came from another object keeps the place where it rose there.
        if getattr(inner, "remote", False) is not True:
            key = signature(inner)
            owner = f"{actor}.{method}" if method else actor
            self._places.pop(key, None)
            self._places[key] = f"raised in {owner}, {line}"
            if len(self._places) > KEPT_MAX:
                del self._places[next(iter(self._places))]

    def of(self, error: BaseException) -> str | None:
        """Say where *error*, which came out of a call, was raised; None if that is not known."""
        inner = innermost(error)
        if isinstance(inner, ObjectReset):
            inner = inner.error or inner
        if getattr(inner, "remote", False) is not True:
            return None
        return self._places.get(signature(inner))


def signature(error: BaseException) -> tuple[str, str]:
    """Return the class name and the text, which are the same on both sides of a call."""
    if isinstance(error, RemoteError):
        return error.name, error.message
    return type(error).__name__, summary(error).partition(": ")[2]
