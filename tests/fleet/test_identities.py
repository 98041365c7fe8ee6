"""Who and what: the forms that identities must have."""

import pytest

from durasim.actors.fleet import BuildStamp, ImageTarget, Producer, WorkerVersion

BUILD = BuildStamp("c" * 40, 1, "label")
TARGET = {"application": "app", "version": 0, "image": "registry/app@1"}


def test_a_producer_without_a_version_names_none() -> None:
    """A Worker that does not know its own version says nothing about it, and nobody guesses it."""
    assert Producer(None, BUILD).wire() == {"artifactId": "label", "commit": "c" * 40}


def test_a_producer_names_version_and_build_apart() -> None:
    """Version, upload, commit and artifact are fields of their own."""
    assert Producer(WorkerVersion("v", 7), BUILD).wire() == {
        "artifactId": "label", "commit": "c" * 40, "workerVersion": "v", "uploadedAt": 7,
    }  # fmt: skip


def test_a_target_is_what_its_document_says() -> None:
    """What is written is read again, equal in all three."""
    target = ImageTarget.parse(TARGET)
    assert target is not None
    assert target.wire() == TARGET


@pytest.mark.parametrize("field", ["application", "version", "image"])
@pytest.mark.parametrize("wrong", [None, "", -1, 1.0, True, []])
def test_a_target_of_another_form_is_none(field: str, wrong: object) -> None:
    """Each of the three must have its form."""
    assert ImageTarget.parse({**TARGET, field: wrong}) is None
