"""What a big fleet costs grows with what happens in it; `speed.py` beside it takes the time."""

from durasim.sim import simulate
from durasim.sim.fleet.crowd import CALLS_EACH, crowd

SLACK = 1.1


def test_events_grow_with_the_fleet() -> None:
    """Three times the members make three times the events, deploy and all checks included."""
    few, many = (simulate(crowd, parameters={"members": members}) for members in (4, 12))
    assert few.ok, few.failures
    assert many.ok, many.failures
    assert many.result.events <= 3 * few.result.events * SLACK
    assert few.result.events > 4 * CALLS_EACH
