"""Each port of each arm, as a fixture."""

from functools import partial
from pathlib import Path

import pytest

from durasim.actors import Clock, Entropy, Store

from .arms import CLOCKS, ENTROPIES, LINES, STORES, Arm, Line
from .databases import DATABASES, Tell
from .places import PLACES, Embedded, Simulated


@pytest.fixture(params=sorted(STORES))
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Arm[Store]:
    """A store, empty at the first run."""
    return STORES[request.param](tmp_path)


@pytest.fixture(params=sorted(CLOCKS))
def clocks(request: pytest.FixtureRequest, tmp_path: Path) -> Arm[Clock]:
    """A clock that runs."""
    return CLOCKS[request.param](tmp_path)


@pytest.fixture(params=sorted(ENTROPIES))
def entropies(request: pytest.FixtureRequest, tmp_path: Path) -> Arm[Entropy]:
    """A source of random bytes."""
    return ENTROPIES[request.param](tmp_path)


@pytest.fixture(params=sorted(LINES))
def lines(request: pytest.FixtureRequest, tmp_path: Path) -> Arm[Line]:
    """A transport with a far end."""
    return LINES[request.param](tmp_path)


@pytest.fixture(params=sorted(PLACES))
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Embedded | Simulated:
    """A place for whole objects."""
    return PLACES[request.param](tmp_path)


@pytest.fixture(params=sorted(DATABASES))
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """Tells a story to somebody at the shared database."""
    return partial(DATABASES[request.param], tmp_path)
