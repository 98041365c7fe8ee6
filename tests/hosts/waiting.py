"""Waiting for what has no event."""

from collections.abc import Awaitable, Callable

import trio


async def until(condition: Callable[[], bool], *, within_s: float = 5.0) -> None:
    """Wait until *condition* holds; fail if it does not in time."""
    with trio.fail_after(within_s):
        while not condition():  # noqa: ASYNC110
            await trio.sleep(0.005)


async def until_told(question: Callable[[], Awaitable[bool]], *, within_s: float = 5.0) -> None:
    """Wait until the answer to *question* is yes."""
    with trio.fail_after(within_s):
        while not await question():  # noqa: ASYNC110
            await trio.sleep(0.02)
