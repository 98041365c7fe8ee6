"""Requests between a router and an object: what goes in comes out, and nothing else does."""

from typing import Any

import pytest

from durasim.actors import WebRequest
from durasim.actors.runs.requests import (
    PRINCIPAL_HEADER,
    body_of_order,
    body_of_resumption,
    order_of,
    principal_header,
    principal_of,
    resumption_of,
)
from durasim.actors.runs.reservations import Claim, Owner
from durasim.actors.runs.run_errors import InvalidRunRequestError, PrincipalError
from durasim.actors.runs.runtime import RunOrder

ANN = Owner("human", "ann")


@pytest.mark.parametrize(
    "order",
    [
        RunOrder(workflow_id="w", run_id="r", owner=ANN),
        RunOrder(workflow_id="w", run_id="r", owner=ANN, payload={"a": [1]}, key="k"),
        RunOrder(workflow_id="w", run_id="r", owner=ANN, key="k", claim=Claim("k", "r", 5)),
        RunOrder(workflow_id="w", run_id="r", owner=ANN, thread_id="t", schedule_id="s"),
    ],
)
def test_an_order_crosses_as_it_is(order: RunOrder) -> None:
    """Its body and its owner are the whole of it."""
    assert order_of(body_of_order(order), ANN) == order


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"workflowId": ""}, "workflowId"),
        ({"runId": "."}, "runId"),
        ({"idempotencyKey": 7}, "idempotencyKey"),
        ({"threadId": "a b"}, "threadId"),
        ({"scheduleId": []}, "scheduleId"),
        ({"claimStamp": "5", "idempotencyKey": "k"}, "claimStamp"),
        ({"claimStamp": True, "idempotencyKey": "k"}, "claimStamp"),
        ({"claimStamp": 5}, "claimStamp"),
    ],
)
def test_a_body_that_is_no_order_is_refused(change: dict[str, Any], field: str) -> None:
    """The message names the field."""
    with pytest.raises(InvalidRunRequestError, match=field):
        order_of({"workflowId": "w", "runId": "r", **change}, ANN)


def test_a_principal_crosses_in_its_header() -> None:
    """Whatever its id holds."""
    owner = Owner("service", 'a"b: ü')
    assert principal_of(WebRequest("GET", "/", headers={PRINCIPAL_HEADER: principal_header(owner)}))


@pytest.mark.parametrize("said", ["", "7", "[]", '["human"]', '["nobody","a"]', '["human",""]'])
def test_a_header_that_names_nobody_is_refused(said: str) -> None:
    """Nothing is done for nobody."""
    with pytest.raises(PrincipalError):
        principal_of(WebRequest("GET", "/", headers={PRINCIPAL_HEADER: said}))


def test_a_resumption_crosses_as_it_is() -> None:
    """With its suspension or for any."""
    for suspension in (None, 3):
        assert resumption_of(body_of_resumption({"a": 1}, suspension)) == ({"a": 1}, suspension)
    with pytest.raises(InvalidRunRequestError, match="suspension"):
        resumption_of({"suspension": "3"})
