"""What a request of the router says, field by field, and how an outcome becomes its answer."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from ...wire import RunRouteError
from ..worker import WebRequest, WebResponse
from .bounds import EVIDENCE_URL_CHARS
from .codes import CODES, FleetRefused, refused
from .outcomes import Granted, Outcome, Refused

__all__ = [
    "Unanswered",
    "answer_of",
    "evidence_url",
    "fields_of",
    "integer_field",
    "text_field",
    "value_of",
]

T = TypeVar("T")

LINK: Final = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]+)?([/?#]\S*)?\Z")
"""A host, a port perhaps, and no user information before it."""


class Unanswered(Exception):
    """A call inside of a handler ended uncertain, and so does the handler: nobody can say more."""


def value_of(outcome: Outcome[T]) -> T:
    """Return what was granted.

    Raises:
        FleetRefused: it was refused, with the same code and the rest of the reason.
        Unanswered: it ended uncertain.
    """
    if isinstance(outcome, Granted):
        return outcome.value
    if isinstance(outcome, Refused):
        rest = {k: v for k, v in outcome.reason.items() if k not in ("code", "detail")}
        raise refused(outcome.code, outcome.detail, **rest)
    raise Unanswered(outcome.why)


def answer_of(error: Exception) -> WebResponse:
    """Return the answer that says *error*: with our body if it has a code of ours, else without.

    An answer without a body of ours is uncertain for whoever gets it.
    """
    reason = error.reason if isinstance(error, (FleetRefused, RunRouteError)) else None
    code = (reason or {}).get("code")
    if isinstance(error, FleetRefused) and isinstance(code, str) and code in CODES:
        return WebResponse(CODES[code].status, {"ok": False, **(reason or {})})
    return WebResponse(502)


def fields_of(request: WebRequest) -> Mapping[str, Any]:
    """Return the body of *request*, which has to be a document.

    Raises:
        FleetRefused: BAD_REQUEST.
    """
    body: object = request.body
    if not isinstance(body, Mapping):
        raise refused("BAD_REQUEST", "the body has to be a document")
    return cast("Mapping[str, Any]", body)


def text_field(fields: Mapping[str, Any], name: str) -> str:
    """Return the text *name*, which has to be there and not empty.

    Raises:
        FleetRefused: BAD_REQUEST.
    """
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise refused("BAD_REQUEST", f"{name}: a text is needed")
    return value


def integer_field(fields: Mapping[str, Any], name: str) -> int:
    """Return the integer *name*, which has to be there; True is none.

    Raises:
        FleetRefused: BAD_REQUEST.
    """
    value = fields.get(name)
    if type(value) is not int:
        raise refused("BAD_REQUEST", f"{name}: an integer is needed")
    return value


def evidence_url(fields: Mapping[str, Any]) -> str:
    """Return the link to what a person checked: https, bounded, without user information.

    It is evidence for people. That it has the form proves nothing.

    Raises:
        FleetRefused: BAD_REQUEST.
    """
    url = text_field(fields, "evidence")
    fewest, most = EVIDENCE_URL_CHARS
    if LINK.match(url) is None or not fewest <= len(url) <= most or not url.isprintable():
        raise refused("BAD_REQUEST", "evidence: an https link without user information is needed")
    return url
