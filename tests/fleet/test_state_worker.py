"""The front of the run ledger."""

from typing import Any

from durasim.actors import Program, WebRequest
from durasim.actors.fleet.ledger import RunLedger
from durasim.actors.fleet.owners import Owner
from durasim.actors.fleet.state_worker import StateWorker, ask_owner, owner_answer
from durasim.sim import LoseRequest, World

from .told import told
from .whole import whole_fleet


def test_it_answers_what_the_ledger_says() -> None:
    """By the id of the run; without one nothing is asked."""

    async def story(world: World) -> None:
        whole_fleet(world)
        client = world.client("test")
        await client.get(RunLedger, "runs").put_live("r1", "t1", 1)
        worker = client.worker(StateWorker)
        found = await worker.fetch(WebRequest("GET", "/owner", query={"runId": "r1"}))
        assert (found.status, found.body["kind"]) == (200, "live")
        refused = await worker.fetch(WebRequest("GET", "/owner"))
        assert (refused.status, refused.body["code"]) == (400, "BAD_REQUEST")

    assert told(story).ok


class Asker(Program):
    """Asks about one owner."""

    def __init__(self) -> None:
        self.answer: Any = "nothing"

    async def run(self) -> None:
        """Ask."""
        self.answer = await owner_answer(ask_owner(self, Owner("r1", 1, 1), "t1"))


def test_a_ledger_that_does_not_answer_is_no_answer() -> None:
    """The state Worker says 503 without a body, and whoever asked knows nothing."""

    async def story(world: World) -> None:
        whole_fleet(world)
        client = world.client("test")
        await client.get(RunLedger, "runs").put_live("r1", "t1", 1)
        asked = client.worker(StateWorker, deadline_s=60)
        found = await asked.fetch(WebRequest("GET", "/owner", query={"runId": "r1"}))
        assert found.status == 503
        asker = Asker()
        assert await world.start(asker, "asker").ended() == "done"
        assert asker.answer["kind"] == "live"
        world.machines["state"].crash("on purpose")

    lost = ("request 1 of RunLedger/runs.owner by StateWorker", "lost")
    assert told(story, faults=(LoseRequest(RunLedger.owner),), deviations=(lost,)).ok


def test_a_question_that_is_lost_is_no_answer() -> None:
    """Nobody can say how the owner stands."""

    async def story(world: World) -> None:
        whole_fleet(world)
        asker = Asker()
        assert await world.start(asker, "asker").ended() == "done"
        assert asker.answer is None

    lost = ("request 1 of StateWorker/.fetch by asker", "lost")
    assert told(story, faults=(LoseRequest(StateWorker.fetch),), deviations=(lost,)).ok
