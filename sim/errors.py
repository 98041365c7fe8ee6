"""An error of a scenario in one line: what, and where in the code of whoever wrote it."""

import linecache
from pathlib import PurePath
from types import TracebackType

__all__ = ["describe"]

MACHINERY = frozenset({"contextlib", "durasim", "importlib", "outcome", "sniffio", "trio"})
"""Packages whose frames are not where a scenario went wrong."""


def describe(error: BaseException) -> str:
    """Say in one line what was raised and where; an assertion without a text says its line."""
    inner = innermost(error)
    name = type(inner).__name__
    text = str(inner).partition("\n")[0]
    found = place(inner.__traceback__)
    if found is None:
        return f"{name}: {text}" if text else name
    path, line = found
    if not text and isinstance(inner, AssertionError):
        text = linecache.getline(path, line).strip()
    where = f"{PurePath(path).name}:{line}"
    return f"{name}: {text} ({where})" if text else f"{name} ({where})"


def innermost(error: BaseException) -> BaseException:
    """Return what a group of one holds, however deep."""
    held: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return innermost(held[0]) if len(held) == 1 else error


def place(traceback: TracebackType | None) -> tuple[str, int] | None:
    """Return file and line of the innermost frame outside of the machinery, else the innermost."""
    inner: tuple[str, int] | None = None
    found: tuple[str, int] | None = None
    while traceback is not None:
        inner = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in MACHINERY:
            found = inner
        traceback = traceback.tb_next
    return found or inner
