"""The requests that a router and an object exchange: headers, and the body of a start."""

import json
from typing import Any, Final, get_args

from ..worker import WebRequest
from .names import is_path_safe
from .reservations import Claim, Owner, OwnerKind
from .run_errors import InvalidRunRequestError, PrincipalError
from .runtime import RunOrder

__all__ = [
    "PRINCIPAL_HEADER",
    "body_of_order",
    "body_of_resumption",
    "names_of",
    "order_of",
    "principal_header",
    "principal_of",
    "resumption_of",
]

PRINCIPAL_HEADER: Final = "x-flowsafe-principal"


def principal_header(owner: Owner) -> str:
    """Return *owner* as a header says it."""
    return json.dumps([owner.kind, owner.id])


def principal_of(request: WebRequest) -> Owner:
    """Return for whom *request* acts.

    Raises:
        PrincipalError: it does not say.
    """
    try:
        kind, owner_id = json.loads(request.headers.get(PRINCIPAL_HEADER, ""))
    except (ValueError, TypeError):
        raise PrincipalError("the request does not say for whom it acts") from None
    if kind not in get_args(OwnerKind) or not isinstance(owner_id, str) or not owner_id:
        raise PrincipalError("the request does not say for whom it acts")
    return Owner(kind, owner_id)


def body_of_order(order: RunOrder) -> dict[str, Any]:
    """Return *order* as the body of a request; its owner goes in a header."""
    body: dict[str, Any] = {
        "workflowId": order.workflow_id,
        "runId": order.run_id,
        "payload": order.payload,
    }
    if order.key is not None:
        body["idempotencyKey"] = order.key
    if order.claim is not None:
        body["claimStamp"] = order.claim.stamp
    if order.thread_id is not None:
        body["threadId"] = order.thread_id
    if order.schedule_id is not None:
        body["scheduleId"] = order.schedule_id
    return body


def names_of(body: dict[str, Any]) -> tuple[str, str]:
    """Return workflow and run that a start is for.

    Raises:
        InvalidRunRequestError: they are no names; the message says which.
    """
    names: list[str] = []
    for field in ("workflowId", "runId"):
        value = body.get(field)
        if not is_path_safe(value):
            raise InvalidRunRequestError(f"{field} is not valid")
        names.append(value)
    return names[0], names[1]


def order_of(body: dict[str, Any], owner: Owner) -> RunOrder:
    """Return the order that *body* is.

    Raises:
        InvalidRunRequestError: it is none; the message names the field.
    """
    names = names_of(body)
    optional = ("idempotencyKey", "threadId", "scheduleId")
    key, thread, schedule = (body.get(field) for field in optional)
    for field in optional:
        value = body.get(field)
        if value is not None and not is_path_safe(value):
            raise InvalidRunRequestError(f"{field} is not valid")
    stamp = body.get("claimStamp")
    if stamp is not None and (type(stamp) is not int or key is None):
        raise InvalidRunRequestError("claimStamp is not valid")
    claim = None if stamp is None or key is None else Claim(key, names[1], stamp)
    return RunOrder(
        workflow_id=names[0], run_id=names[1], owner=owner, payload=body.get("payload"), key=key,
        claim=claim, thread_id=thread, schedule_id=schedule,
    )  # fmt: skip


def body_of_resumption(data: Any, suspension: int | None) -> dict[str, Any]:
    """Return what a parked run is told, as the body of a request."""
    return {"data": data} if suspension is None else {"data": data, "suspension": suspension}


def resumption_of(body: dict[str, Any]) -> tuple[Any, int | None]:
    """Return what a parked run is told, and for which suspension.

    Raises:
        InvalidRunRequestError: the suspension is none.
    """
    suspension = body.get("suspension")
    if suspension is not None and type(suspension) is not int:
        raise InvalidRunRequestError("suspension is not valid")
    return body.get("data"), suspension
