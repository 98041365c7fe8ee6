"""An error of a scenario in one line: what, and where in the code of whoever wrote it."""

import linecache
from pathlib import PurePath
from types import TracebackType

__all__ = ["describe", "innermost", "place", "short", "summary"]

MACHINERY = frozenset({"contextlib", "durasim", "importlib", "outcome", "sniffio", "trio"})
"""Packages whose frames are not where a scenario went wrong."""


def describe(error: BaseException) -> str:
    """Say in one line what was raised and where; an assertion without a text says its line."""
    inner = innermost(error)
    name, text = type(inner).__name__, first_line(inner)
    found = place(inner.__traceback__)
    if found is None:
        return f"{name}: {text}" if text else name
    path, line = found
    if not text and isinstance(inner, AssertionError):
        text = linecache.getline(path, line).strip()
    where = short(found)
    return f"{name}: {text} ({where})" if text else f"{name} ({where})"


def short(place: tuple[str, int]) -> str:
    """Write a place as `file.py:line`."""
    return f"{PurePath(place[0]).name}:{place[1]}"


def summary(error: BaseException) -> str:
    """Return class and text of *error*, in one line."""
    text = first_line(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def first_line(error: BaseException) -> str:
    """Return the first line of what *error* says; nothing if it cannot say it."""
    try:
        return str(error).partition("\n")[0]
    except Exception:
        return ""


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
