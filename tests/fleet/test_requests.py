"""Requests field by field, and how outcomes become answers."""

from typing import Any

import pytest

from durasim.actors import RunRouteError, WebRequest
from durasim.actors.fleet.codes import FleetRefused, refused
from durasim.actors.fleet.outcomes import Granted, Refused, Uncertain
from durasim.actors.fleet.requests import (
    Unanswered,
    answer_of,
    evidence_url,
    fields_of,
    integer_field,
    text_field,
    value_of,
)

LINK = "https://example.com/runs/1"


def test_an_outcome_keeps_its_kind() -> None:
    """A value is returned, a refusal refused by the same code, the uncertain stays uncertain."""
    assert value_of(Granted(3)) == 3
    with pytest.raises(FleetRefused) as no:
        value_of(Refused("FENCED", "why", {"code": "FENCED", "detail": "why", "more": 1}))
    assert no.value.reason == {"code": "FENCED", "detail": "why", "more": 1}
    with pytest.raises(Unanswered, match="lost"):
        value_of(Uncertain("lost"))


def test_a_refusal_has_a_body_of_ours_and_all_else_has_none() -> None:
    """Whoever gets an answer without a body of ours knows nothing."""
    answer = answer_of(refused("DRAIN_FENCED", "it stands"))
    assert answer.status == 409
    assert answer.body == {"ok": False, "code": "DRAIN_FENCED", "detail": "it stands"}
    for error in (Unanswered("x"), ValueError("x"), RunRouteError(409, "x", {"code": "FENCED"})):
        assert answer_of(error).status == 502
        assert not isinstance(answer_of(error).body, dict)


def test_fields_are_there_in_their_form_or_the_request_is_bad() -> None:
    """Nothing is guessed: no body, no text, no integer, and True is no integer."""
    assert fields_of(WebRequest("POST", "/x", {"a": 1})) == {"a": 1}
    with pytest.raises(FleetRefused, match="document"):
        fields_of(WebRequest("POST", "/x", b"{}"))
    assert text_field({"a": "b"}, "a") == "b"
    assert integer_field({"a": 4}, "a") == 4
    for bad in ("", 3, None):
        with pytest.raises(FleetRefused, match="a text is needed"):
            text_field({"a": bad}, "a")
    for wrong in (True, "3", None, 1.0):
        with pytest.raises(FleetRefused, match="an integer is needed"):
            integer_field({"a": wrong}, "a")


@pytest.mark.parametrize(
    "bad",
    [
        "http://example.com/runs/1",
        "https://x.io/1",
        f"https://example.com/{'x' * 1000}",
        "https://ann:secret@example.com/runs/1",
        "https:///runs/without/a/host",
        "https://example.com/with space",
        "https://[broken/runs/1/and/more",
        "no link at all, but long enough",
        7,
    ],
)
def test_evidence_is_a_bounded_https_link_without_user_information(bad: Any) -> None:
    """Everything else is a bad request, before anything is read."""
    assert evidence_url({"evidence": LINK}) == LINK
    with pytest.raises(FleetRefused, match="evidence"):
        evidence_url({"evidence": bad})
