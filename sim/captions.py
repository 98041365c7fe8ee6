"""What bytes of a trace say, in a few words: calls, replies, commits."""

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from ..actors import WebRequest, WebResponse
from ..wire import Absent, WireError, decode, decode_envelope, decode_reply, error_from
from .machine import EPOCH_US
from .wording import VALUE_CHARACTERS_MAX, cut, moment, shown, visible

__all__ = ["call_text", "commit_text", "deadline_of", "reply_text"]

PARTS_MAX = 3
"""Arguments of one call, or keys of one commit, that are shown; the rest is counted."""
ARGUMENT_CHARACTERS_MAX = 20
STORED_CHARACTERS_MAX = 24
ERROR_CHARACTERS_MAX = 60
"""Characters of an error that came back; its message may be a page."""
PATH_CHARACTERS_MAX = 48
"""Characters of the path of a request: enough for five short parts."""
MINTED = re.compile(r"\b([0-9a-f]{4})[0-9a-f]{12,}\b")
"""A name that a machine made: its beginning tells it from others."""


def call_text(method: str, data: bytes) -> str:
    """Write a call with its arguments, from the bytes of its envelope."""
    try:
        envelope = decode_envelope(data)
    except WireError:
        return f"{method}(?)"
    parts = [said(value, ARGUMENT_CHARACTERS_MAX) for value in envelope.args]
    parts += [
        f"{visible(key)}={said(value, ARGUMENT_CHARACTERS_MAX)}"
        for key, value in envelope.kwargs.items()
    ]
    if len(parts) > PARTS_MAX:
        parts[PARTS_MAX:] = [f"{len(parts) - PARTS_MAX} more"]
    return f"{method}({', '.join(parts)})"


def said(value: object, characters: int) -> str:
    """Write a value of a call or a reply; of requests and answers of the web what tells them."""
    if isinstance(value, WebRequest):
        path = MINTED.sub(r"\1…", f"{value.method} {value.path}")
        return cut(visible(path), PATH_CHARACTERS_MAX)
    if isinstance(value, WebResponse):
        return f"{value.status} {cut(visible(gist(value.body)), characters)}".rstrip()
    return shown(value, characters)


def gist(body: object) -> str:
    """Return what matters of the body of an answer: the code of its reason, or how things stand."""
    if isinstance(body, Absent) or body == b"":
        return ""
    try:
        found: Any = json.loads(body) if isinstance(body, bytes) else body
    except ValueError:
        return repr(body)
    if not isinstance(found, dict):
        return repr(found)
    answer = cast(dict[str, Any], found)
    reason: object = answer.get("reason")
    told = (cast(dict[str, Any], reason) if isinstance(reason, dict) else answer).get("code")
    return str(told or answer.get("status") or answer.get("state") or json.dumps(answer))


def deadline_of(data: bytes) -> int | None:
    """Return when the caller stops waiting: virtual microseconds, if its host's clock is right."""
    try:
        return decode_envelope(data).deadline - EPOCH_US
    except WireError:
        return None


def reply_text(data: bytes) -> tuple[str, bool]:
    """Return what a reply says, and whether it is an error."""
    try:
        reply = decode_reply(data)
        if reply.error is None:
            return said(reply.value, VALUE_CHARACTERS_MAX), False
        error = error_from(reply.error)
    except WireError:
        return "cannot be read", True
    text = visible(f"{type(error).__name__}: {error}".strip(": "))
    return cut(text, ERROR_CHARACTERS_MAX), True


def commit_text(
    changes: Sequence[tuple[str, bytes | None, bytes | None]], alarm: int | str | None
) -> str:
    """Write the changes of a commit: each key with its value before and after, and the alarm."""
    parts = [change_text(*change) for change in changes[:PARTS_MAX]]
    if len(changes) > PARTS_MAX:
        parts.append(f"{len(changes) - PARTS_MAX} keys more")
    if alarm is None:
        parts.append("no alarm")
    elif isinstance(alarm, int):
        parts.append(f"alarm at {moment(alarm - EPOCH_US)}")
    return ", ".join(parts)


def change_text(key: str, before: bytes | None, after: bytes | None) -> str:
    """Write what became of one key."""
    name = visible(key)
    if after is None:
        return f"{name} deleted"
    if before is None:
        return f"{name} = {value_text(after)}"
    return f"{name}: {value_text(before)} → {value_text(after)}"


def value_text(data: bytes) -> str:
    """Write a stored value."""
    try:
        return shown(decode(data), STORED_CHARACTERS_MAX)
    except WireError:
        return f"<{len(data)} bytes>"
