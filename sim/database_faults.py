"""What may go wrong between an actor and the shared database.

A query that is lost and one whose answer is lost look the same to whoever asked: `DatabaseFailed`
after the same time, with the same cause. The trace and the tables tell which it was.
"""

from typing import ClassVar

import attrs

from .fault import Fault, Sentences, among

__all__ = ["DuplicateQuery", "FailQuery", "LoseQuery", "LoseQueryReply", "SlowQuery"]


@attrs.frozen
class LoseQuery(Fault):
    """A query never reaches the database: nothing runs, and its caller cannot know."""

    title: ClassVar[str] = "query lost"
    kinds: ClassVar[tuple[str, ...]] = ("query",)
    sentences: ClassVar[Sentences] = (("lost", "query {n} of {statement} by {caller} is lost"),)


@attrs.frozen
class LoseQueryReply(Fault):
    """A query runs, and its answer never arrives: its caller cannot know that it ran."""

    title: ClassVar[str] = "query's answer lost"
    kinds: ClassVar[tuple[str, ...]] = ("query",)
    sentences: ClassVar[Sentences] = (
        ("answer lost", "query {n} of {statement} by {caller} runs, and its answer is lost"),
    )


CAUSES = ("locked", "masked", "cyclic", "deep")


@attrs.frozen
class DuplicateQuery(Fault):
    """A query runs, and a second later it runs again; its caller learns of the first only."""

    title: ClassVar[str] = "query duplicated"
    kinds: ClassVar[tuple[str, ...]] = ("query",)
    sentences: ClassVar[Sentences] = (
        ("twice", "query {n} of {statement} by {caller} runs, and runs again 1 s later"),
    )


@attrs.frozen
class FailQuery(Fault):
    """The database fails at a query: nothing runs, and a chain of causes says why.

    Attributes:
        causes: which chains. "locked": its root says so. "masked": a cause on the way speaks of a
            missing table, and its root of a locked database. "cyclic": the causes go round. "deep":
            its root, ten causes down, speaks of a missing table, which is there.
    """

    causes: tuple[str, ...] = attrs.field(default=CAUSES, kw_only=True, validator=among(*CAUSES))

    title: ClassVar[str] = "query failure"
    kinds: ClassVar[tuple[str, ...]] = ("query",)

    def strikes(self, kind: str) -> Sentences:
        """Fail with those causes that are asked for."""
        del kind
        query = "query {n} of {statement} by {caller} fails"
        return tuple(
            (name, f"{query}{words}")
            for name, words in (
                ("locked", ": the database is locked"),
                ("masked", ": the database is locked, under a cause that names a missing table"),
                ("cyclic", ", and its causes go round in a circle"),
                ("deep", ", and its causes are ten deep"),
            )
            if name in self.causes
        )


@attrs.frozen
class SlowQuery(Fault):
    """A query runs at once, and its answer takes a second."""

    title: ClassVar[str] = "slow query"
    kinds: ClassVar[tuple[str, ...]] = ("query",)
    sentences: ClassVar[Sentences] = (
        ("slow", "query {n} of {statement} by {caller} runs, and its answer takes 1 s"),
    )
