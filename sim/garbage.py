"""Garbage is collected where it makes no difference: between worlds, at fixed events of long ones.

A collection runs `__del__` and closes async generators; Python starts one whenever so many objects
have been made, those of earlier worlds included, so that what a world does would depend on what was
done before it. A world leaves about 900 objects in cycles; to collect them costs the same (0.3 ms a
world) whether it is done after each world or after thirty, so it is done when there are enough.
"""

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["collected_by_hand"]

GARBAGE_MAX = 30_000
"""Objects made since the last collection and still there, after which it is time for the next."""


@contextmanager
def collected_by_hand() -> Generator[Callable[[], None], None, None]:
    """Switch Python's own collections off; gives what is to be called between worlds.

    What was there before is not looked at meanwhile: that would take longer than the rest.
    """
    was_on = gc.isenabled()
    gc.disable()
    freezes = not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    try:
        yield _between_worlds
    finally:
        if freezes:
            gc.unfreeze()
        if was_on:
            gc.enable()


def _between_worlds() -> None:
    if gc.get_count()[0] > GARBAGE_MAX:
        gc.collect()
