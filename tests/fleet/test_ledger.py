"""How runs stand, and that what comes late revives nothing."""

from durasim.actors.fleet.ledger import RunLedger
from durasim.actors.fleet.outcomes import Refused, attempt
from durasim.sim import World

from .told import told


def test_a_run_is_live_then_ended() -> None:
    """An ending is answered before a live row, and says whether it is provisional."""

    async def story(world: World) -> None:
        ledger = world.client("test").get(RunLedger, "runs")
        assert await ledger.owner("r1") == {"kind": "unknown"}
        await ledger.put_live("r1", "t1", 1, 4)
        row = {"runId": "r1", "thread": "t1", "ownerGen": 1, "ownerFence": 4}
        assert await ledger.owner("r1") == {"kind": "live", "row": row}
        await ledger.put_terminal("r1", "t1", 1, "failed", provisional=True)
        answer = await ledger.owner("r1")
        assert answer["record"]["provisional"] is True
        await ledger.put_live("r1", "t1", 1)
        assert (await ledger.owner("r1"))["kind"] == "live"
        await ledger.put_terminal("r1", "t1", 1, "completed", 4)
        record = {
            "id": "r1", "thread": "t1", "ownerGen": 1, "status": "completed",
            "provisional": False, "ownerFence": 4,
        }  # fmt: skip
        assert await ledger.owner("r1") == {"kind": "terminal", "record": record}

    assert told(story).ok


def test_what_comes_late_is_refused() -> None:
    """An older generation, a second life of one that has ended, an ending there is not."""

    async def story(world: World) -> None:
        ledger = world.client("test").get(RunLedger, "runs")
        await ledger.put_terminal("r1", "t1", 1, "completed")
        for late in (
            ledger.put_live("r1", "t1", 1),
            ledger.put_terminal("r1", "t1", 1, "failed", provisional=True),
        ):
            outcome = await attempt(late)
            assert isinstance(outcome, Refused)
            assert outcome.code == "OWNER_SUPERSEDED"
        await ledger.put_live("r1", "t1", 2)
        for late in (
            ledger.put_live("r1", "t1", 1),
            ledger.put_terminal("r1", "t1", 1, "completed"),
        ):
            outcome = await attempt(late)
            assert isinstance(outcome, Refused)
            assert outcome.code == "OWNER_SUPERSEDED"
        outcome = await attempt(ledger.put_terminal("r1", "t1", 2, "lost"))
        assert isinstance(outcome, Refused)
        assert outcome.code == "BAD_REQUEST"
        assert (await ledger.owner("r1"))["row"]["ownerGen"] == 2

    assert told(story).ok
