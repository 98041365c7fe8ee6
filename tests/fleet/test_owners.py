"""Whose workspace it is: every row of the classification, and what counts as exact."""

from typing import Any, get_args

import pytest

from durasim.actors.fleet.owners import (
    CLASSIFICATION,
    AnswerForm,
    FenceForm,
    Owner,
    Registration,
    RegistrationForm,
    answer_form,
    classify,
    fence_form,
    is_superseded,
)

ANN = Owner("r1", 2, 8)
ROW = {"thread": "t1", "registeredAt": 1, **ANN.wire()}
LIVE = {"runId": "r1", "thread": "t1", "ownerGen": 2, "ownerFence": 8}
ENDED = {
    "id": "r1",
    "thread": "t1",
    "ownerGen": 2,
    "status": "completed",
    "provisional": False,
}


def test_an_owner_is_three_parts_or_none() -> None:
    """A part that is missing, of another type or empty makes it nobody."""
    assert Owner.parse(ANN.wire()) == ANN
    for part, value in (("runId", ""), ("runId", 1), ("ownerGen", "2"), ("ownerFence", True)):
        assert Owner.parse({**ANN.wire(), part: value}) is None
        assert Owner.parse({k: v for k, v in ANN.wire().items() if k != part}) is None
    assert Owner.parse("r1") is None


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        (None, "none"),
        ("row", "malformed"),
        (ROW, "owned"),
        ({**ROW, "thread": "t2"}, "malformed"),
        ({**ROW, "ownerGen": None}, "malformed"),
        ({"thread": "t1", "registeredAt": 1}, "legacy"),
        ({"thread": "t1", "deadlineAt": 101}, "legacy"),
        ({"thread": "t1", "deadlineAt": 100}, "elapsed legacy"),
    ],
)
def test_a_registration_is_what_its_row_says(raw: Any, form: str) -> None:
    """One owner part that is there makes it no legacy row."""
    registration = Registration.parse("t1", raw, 100)
    assert registration.form == form
    assert (registration.owner == ANN) == (Owner.parse(raw) == ANN)


def test_the_accepted_attach_is_equal_in_all_parts_or_another() -> None:
    """Without an owner, anything that is remembered counts, also a last owner."""
    assert fence_form(ANN, ANN.wire(), None) == "equal"
    assert fence_form(ANN, None, None) == "other"
    assert fence_form(ANN, {**ANN.wire(), "ownerFence": 9}, None) == "other"
    assert fence_form(None, None, None) == "nothing"
    assert fence_form(None, ANN.wire(), None) == "something"
    assert fence_form(None, None, ANN.wire()) == "something"


def test_a_newer_owner_goes_before_and_an_equal_one_comes_back() -> None:
    """The fence number decides; the same number under another name is another's."""
    assert not is_superseded(None, ANN)
    assert not is_superseded(ANN.wire(), ANN)
    assert not is_superseded(ANN.wire(), Owner("r2", 1, 9))
    assert is_superseded(ANN.wire(), Owner("r2", 1, 8))
    assert is_superseded(ANN.wire(), Owner("r1", 1, 7))


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ({"kind": "live", "row": LIVE}, "live, exact"),
        ({"kind": "live", "row": {k: v for k, v in LIVE.items() if k != "ownerFence"}},
         "live, exact"),
        ({"kind": "live", "row": {**LIVE, "ownerGen": 3}}, "live, other"),
        ({"kind": "live", "row": {**LIVE, "ownerFence": 9}}, "live, other"),
        ({"kind": "live", "row": None}, "live, other"),
        ({"kind": "terminal", "record": ENDED}, "ended, exact"),
        ({"kind": "terminal", "record": {**ENDED, "provisional": True}}, "anything else"),
        ({"kind": "terminal", "record": {**ENDED, "status": "lost"}}, "anything else"),
        ({"kind": "terminal", "record": {**ENDED, "thread": "t2"}}, "anything else"),
        ({"kind": "terminal", "record": {**ENDED, "id": "r2"}}, "anything else"),
        ({"kind": "terminal", "record": {**ENDED, "ownerGen": 1}}, "anything else"),
        ({"kind": "terminal", "record": None}, "anything else"),
        ({"kind": "unknown"}, "anything else"),
        (None, "anything else"),
        ("live", "anything else"),
    ],
)  # fmt: skip
def test_an_answer_counts_for_its_exact_owner_only(answer: Any, form: str) -> None:
    """Whatever differs in one part says nothing of this owner."""
    assert answer_form(ANN, "t1", answer) == form


def test_nothing_but_an_exact_final_ending_is_retained() -> None:
    """Of all combinations one is retained, one executing and one none; the rest is unknown."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for form in get_args(RegistrationForm):
        for fence in get_args(FenceForm):
            for answer in get_args(AnswerForm):
                cell = (form, fence, answer)
                found.setdefault(classify(form, fence, answer), []).append(cell)
    assert found.pop("retained") == [("owned", "equal", "ended, exact")]
    assert found.pop("executing") == [("owned", "equal", "live, exact")]
    assert {cell[:2] for cell in found.pop("none")} == {("none", "nothing")}
    assert set(found) == {"unknown"}


def test_an_elapsed_registration_without_owner_is_retained_only_where_it_is_said() -> None:
    """The reading of I-05 is a value of the deployment; the default is unknown."""
    assert classify("elapsed legacy", "nothing", "not asked") == "unknown"
    assert classify("elapsed legacy", "nothing", "not asked", elapsed_retained=True) == "retained"
    assert classify("legacy", "nothing", "not asked", elapsed_retained=True) == "unknown"


def test_each_row_of_the_table_decides_somewhere() -> None:
    """No row stands behind one that takes everything from it."""
    deciding = {
        next(rule for rule in CLASSIFICATION if rule.covers(form, fence, answer))
        for form in get_args(RegistrationForm)
        for fence in get_args(FenceForm)
        for answer in get_args(AnswerForm)
    }
    assert deciding == set(CLASSIFICATION)
