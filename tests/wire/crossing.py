"""An error that crosses, as bytes, for tests."""

from typing import Any

from durasim.wire import Reply, decode_reply, encode_reply, error_from, record_of


def crossed(error: BaseException, *, raised_by_handler: bool = False) -> Any:
    """What a caller gets for *error*, through the bytes of a reply."""
    record = record_of(error, raised_by_handler=raised_by_handler)
    arrived = decode_reply(encode_reply(Reply(1, 1, None, record)))
    assert arrived.error is not None
    return error_from(arrived.error)
