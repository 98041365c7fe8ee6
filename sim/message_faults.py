"""What may go wrong between a caller and an object."""

from typing import ClassVar

import attrs

from .fault import Fault, Sentences

__all__ = [
    "CorruptReply",
    "CorruptRequest",
    "DuplicateRequest",
    "LoseReply",
    "LoseRequest",
    "Partition",
]


@attrs.frozen
class LoseRequest(Fault):
    """A request never arrives; its caller waits until the deadline."""

    title: ClassVar[str] = "request lost"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (("lost", "request {n} of {call} by {caller} is lost"),)


@attrs.frozen
class DuplicateRequest(Fault):
    """A request arrives a second time, a little later."""

    title: ClassVar[str] = "request duplicated"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (("twice", "request {n} of {call} by {caller} arrives twice"),)


@attrs.frozen
class CorruptRequest(Fault):
    """The bytes of a request are damaged: nothing runs, and its caller cannot know that."""

    title: ClassVar[str] = "request corrupted"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (("corrupt", "request {n} of {call} by {caller} is damaged"),)


@attrs.frozen
class LoseReply(Fault):
    """The object ran and answered; the answer never arrives."""

    title: ClassVar[str] = "reply lost"
    kinds: ClassVar[tuple[str, ...]] = ("reply",)
    sentences: ClassVar[Sentences] = (("lost", "reply {n} of {call} to {caller} is lost"),)


@attrs.frozen
class CorruptReply(Fault):
    """The bytes of a reply are damaged; its caller cannot know what it said."""

    title: ClassVar[str] = "reply corrupted"
    kinds: ClassVar[tuple[str, ...]] = ("reply",)
    sentences: ClassVar[Sentences] = (("corrupt", "reply {n} of {call} to {caller} is damaged"),)


@attrs.frozen
class Partition(Fault):
    """The link between a participant and a host is cut for 5 s: what is sent then is lost."""

    title: ClassVar[str] = "partition"
    kinds: ClassVar[tuple[str, ...]] = ("request",)
    sentences: ClassVar[Sentences] = (
        ("cut 5 s", "{caller} is cut off from {owner} for 5 s at request {n} of {call}"),
    )
