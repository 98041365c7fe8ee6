"""`canon`: the one JSON text of a document, and its hash (deploy-fence.md 0.5).

UTF-8, keys sorted by code point, no insignificant white space, integers only, no duplicate keys,
null written, fields that are `ABSENT` not written. A hash names bytes; it proves nothing about the
world.
"""

import json
from hashlib import sha256
from typing import Any, cast

from .absent import ABSENT
from .errors import UnsendableValue
from .limits import DEPTH_MAX


def canon(document: Any) -> bytes:
    """The canonical JSON text of a *document* of None, bool, int, str, list, tuple and dict.

    Raises:
        UnsendableValue: a part of it has no canonical text (a float, another type, an absence that
            is no field, a lone surrogate, too deep); the error names its path from ``$``.
    """
    plain = _plain(document, "$", 0)
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def content_hash(document: Any) -> str:
    """SHA-256 of `canon`, as 64 lower-case hex characters.

    Raises:
        UnsendableValue: as `canon`.
    """
    return sha256(canon(document)).hexdigest()


def _plain(value: Any, path: str, depth: int) -> Any:
    """*value* without its absent fields, if json writes the rest as it should be written."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if value is None or kind is bool:
        return value
    if kind is str:
        return _text(value, path)
    if kind is int:
        return _integer(value, path)
    if kind not in (list, tuple, dict):
        raise UnsendableValue(path, _refused(value))
    if depth >= DEPTH_MAX:
        raise UnsendableValue(path, f"nested deeper than {DEPTH_MAX} levels")
    if kind is not dict:
        items = cast("list[Any]", value)
        return [_plain(item, f"{path}[{place}]", depth + 1) for place, item in enumerate(items)]
    fields: dict[str, Any] = {}
    for key, part in cast("dict[Any, Any]", value).items():
        if type(key) is not str:
            raise UnsendableValue(path, f"a key of type {type(key).__qualname__} is no JSON name")
        step = f"{path}[{json.dumps(key)}]"
        if part is not ABSENT:
            fields[_text(key, step)] = _plain(part, step, depth + 1)
    return fields


def _refused(value: Any) -> str:
    if value is ABSENT:
        return "an absence that is no field of a dict"
    if type(value) is float:
        return "a float has no canonical text: integers only"
    return f"a value of type {type(value).__module__}.{type(value).__qualname__} is no JSON"


def _text(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnsendableValue(path, "a lone surrogate is no text") from None
    return text


def _integer(value: int, path: str) -> int:
    try:
        str(value)
    except ValueError as error:
        raise UnsendableValue(path, f"an int too long for text: {error}") from None
    return value
