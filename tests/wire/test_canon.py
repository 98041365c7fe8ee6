"""`canon` is one text for one document (deploy-fence.md 0.5)."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from durasim.wire import ABSENT, DEPTH_MAX, UnsendableValue, canon, content_hash

from ..strategies import texts

documents: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(documents)
def test_the_text_is_json_of_the_same_document(document: Any) -> None:
    """Any JSON reader gets the document back."""
    assert json.loads(canon(document)) == document


@given(documents)
def test_the_hash_is_that_of_the_text(document: Any) -> None:
    """64 lower-case hex characters of SHA-256."""
    assert content_hash(document) == hashlib.sha256(canon(document)).hexdigest()


@given(st.dictionaries(texts, st.integers(), max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_fields_does_not_show(document: dict[str, int], shuffle: Any) -> None:
    """Keys are sorted by code point, whatever order they were put in."""
    names = list(document)
    shuffle.shuffle(names)

    assert canon({name: document[name] for name in names}) == canon(document)
    assert list(json.loads(canon(document))) == sorted(document)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"b": 1, "a": [None, True, "é"]}, '{"a":[null,true,"é"],"b":1}'),
        ({"a": ABSENT, "b": {"c": ABSENT}}, '{"b":{}}'),
        ({"\U0001f600": 1, "\uffff": 2}, '{"\uffff":2,"\U0001f600":1}'),
        ((1, (2,)), "[1,[2]]"),
        ('"\\/\n\x1f\x7f', '"\\"\\\\/\\n\\u001f\x7f"'),
        (2**200, str(2**200)),
        ([], "[]"),
    ],
)
def test_golden_texts(document: Any, text: str) -> None:
    """The text of a few documents, byte by byte."""
    assert canon(document) == text.encode()


def test_a_golden_hash() -> None:
    """Hashes are stored and compared for years; this one may never change."""
    document = {"schema": 1, "resource": "repo:o/n", "absent": ABSENT, "parts": [None, False]}

    assert (
        content_hash(document) == "54692d5337265c41c3f0709edd26ffda83cfeb0a069b18c1397eaf4d60179425"
    )


deep: Any = 1
for _ in range(DEPTH_MAX + 1):
    deep = [deep]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (1.0, "$"),
        ({"a": [0, 1.5]}, '$["a"][1]'),
        ([ABSENT], "$[0]"),
        (ABSENT, "$"),
        ({1: 2}, "$"),
        ({"a": {"b": b""}}, '$["a"]["b"]'),
        ({"a": {"\ud800": 1}}, '$["a"]["\\ud800"]'),
        (["\ud800"], "$[0]"),
        ([10**5000], "$[0]"),
        (deep, "$" + "[0]" * DEPTH_MAX),
    ],
)
def test_what_has_no_canonical_text_is_named(document: Any, path: str) -> None:
    """A float, an absence that is no field, another type: refused with their place."""
    with pytest.raises(UnsendableValue) as caught:
        canon(document)

    assert caught.value.path == path
