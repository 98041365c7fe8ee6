"""Calls and replies whose bytes are golden."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from uuid import UUID

from durasim.wire import ABSENT, Envelope, ErrorRecord, Reply

from ..strategies import Box, Colour, Empty, Point

CALL: Final = Envelope(
    id=1,
    caller="alice",
    stub=1,
    order=1,
    incarnation=0,
    kind="Counter",
    name="cart-7",
    method="increment",
    args=(),
    kwargs={"by": 2},
    deadline=1_700_000_000_000_000,
    version="v1",
)

CALLS: Final = {
    "call with a keyword": CALL,
    "call with scalars": CALL._replace(
        args=(None, True, -1, 2**64, -(2**70), 0.5, -0.0, "é", b"\x00"), kwargs={}
    ),
    "call with containers": CALL._replace(
        id=2**63 - 1, args=([1], (2,), {3}, frozenset({4}), {"b": 1, "a": (), 5: {}}), kwargs={}
    ),
    "call with values of ours": CALL._replace(
        args=(
            ABSENT,
            UUID(int=7),
            datetime(2024, 2, 29, 12, 30, 15, 7, tzinfo=UTC),
            datetime(1, 1, 1, fold=1, tzinfo=timezone(timedelta(hours=-5, seconds=1))),
            Colour.GREEN,
            Empty(),
            Point(1, [Box(Point(2))]),
        ),
        kwargs={},
    ),
}

REPLIES: Final = {
    "reply with a value": Reply(1, 4, {"total": 2}, None),
    "reply with nothing": Reply(2, 4, None, None),
    "reply with an error of a system": Reply(
        3, 4, None, ErrorRecord("EXECUTION_FENCED", 503, "fenced", {"code": "EXECUTION_FENCED"})
    ),
    "reply with an error of the runtime": Reply(
        4, 0, None, ErrorRecord(100, 503, "full", {"address": "Counter/cart-7", "requests_max": 8})
    ),
}
