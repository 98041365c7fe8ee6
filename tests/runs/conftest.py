"""What each test of a surface is given."""

from collections.abc import Generator

import pytest

from durasim.actors.runs.fence import ExecutionFence

from .local import Clock, LocalDatabase, Log


@pytest.fixture
def database() -> Generator[LocalDatabase]:
    """Return an empty shared database."""
    made = LocalDatabase()
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    """Return a clock that stands."""
    return Clock()


@pytest.fixture
def log() -> Log:
    """Return an empty log."""
    return Log()


@pytest.fixture
def fence(database: LocalDatabase, clock: Clock) -> ExecutionFence:
    """Return the fence of the database, open."""
    return ExecutionFence(database, clock)
