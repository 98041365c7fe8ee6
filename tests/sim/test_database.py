"""The shared database of a world: what becomes of a query on its way there and back."""

from typing import Any

import pytest
import trio

from durasim.actors import (
    DatabaseFailed,
    DurableObject,
    IncarnationGone,
    Program,
    WebRequest,
    WebResponse,
    Worker,
)
from durasim.sim import Crash, Job, Recorded, Scenario, SlowDisk, World, always, run_once

from ..actors.stage import tell

TABLE = "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT)"
CLAIM = "INSERT OR IGNORE INTO claims VALUES (?, ?)"


class Claims(DurableObject):
    """Claims keys in the shared table."""

    async def claim(self, key: str, *, note: bool = False) -> bool:
        """Be the owner of *key*, unless somebody is; returns whether it is."""
        if note:
            await self.storage.put("wanted", key)
        return (await self.database.execute(CLAIM, key, self.address.name)).changes == 1

    async def claim_in_section(self, key: str) -> list[str]:
        """Send a query, then hold a critical section for a second before its answer is heard."""
        heard: list[str] = []
        query = self.database.execute(CLAIM, key, self.address.name)

        async def hold() -> None:
            await self.sleep(1)
            heard.append("section over")

        section = self.block_concurrency_while(hold)
        await query
        heard.append("answered")
        await section
        return heard

    async def fetch_and_die(self) -> None:
        """Die, and go on asking."""
        database = self.database
        try:
            self.abort("on purpose")
        finally:
            with pytest.raises(IncarnationGone):
                _ = database.execute("DELETE FROM claims")


def test_a_query_put_behind_is_overtaken() -> None:
    """Who comes first at the table wins it."""
    owners: list[object] = []

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        async with trio.open_nursery() as nursery:
            for name in ("a", "b"):
                nursery.start_soon(claim, world, name)
        owners.append(world.database.look("SELECT owner FROM claims").one()[0])

    async def claim(world: World, name: str) -> None:
        await world.client(f"client of {name}").get(Claims, name).claim("k")

    tell(story)
    tell(story, ("query 1 of INSERT claims by Claims/a", "behind"))
    tell(story, ("query 1 of INSERT claims by Claims/a", "10 ms late"))
    assert owners == ["a", "b", "b"]


def test_what_a_dead_host_had_sent_still_runs() -> None:
    """The statement had left; nobody hears the answer."""
    outcomes: list[object] = []

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        try:
            await world.client("alice").get(Claims, "c").claim("k")
        except Exception as error:
            outcomes.append(type(error).__name__)
        await trio.sleep(1)
        outcomes.append(world.database.look("SELECT owner FROM claims").rows)

    result = tell(story, ("await 1 of Claims/c in claim", "crash here"), faults=[Crash()])
    assert outcomes == ["OutcomeUnknown", [("c",)]]
    assert "told" in [row.kind for row in result.rows]


def test_the_dead_ask_nothing() -> None:
    """What they kept of the database refuses them."""

    async def story(world: World) -> None:
        world.database.prepare(TABLE, "INSERT INTO claims VALUES ('k', 'a')")
        with pytest.raises(Exception, match="on purpose"):
            await world.client("alice").get(Claims, "c").fetch_and_die()
        assert len(world.database.look("SELECT * FROM claims")) == 1

    assert "query" not in [row.kind for row in tell(story).rows]


def test_a_query_leaves_behind_the_commit_of_what_was_written_before() -> None:
    """The output gate holds it, as it holds calls (OG-1)."""

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        await world.client("alice").get(Claims, "c").claim("k", note=True)

    result = tell(story, ("commit 1 of Claims/c in claim", "1 s"), faults=[SlowDisk()])
    order = [(row.kind, row.time_us) for row in result.rows if row.kind in ("commit", "query")]
    assert order == [("commit", 1_000_000), ("query", 1_000_000)]


def test_an_answer_passes_the_input_gate() -> None:
    """A critical section that was begun meanwhile ends first (IG-6)."""
    heard: list[str] = []

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        heard.extend(await world.client("alice").get(Claims, "c").claim_in_section("k"))

    tell(story)
    assert heard == ["section over", "answered"]


def test_the_trace_tells_queries_by_digests() -> None:
    """Parameters and rows stand in it as digests, errors by name."""

    def rows(key: str) -> list[tuple[str, tuple[Any, ...]]]:
        async def story(world: World) -> None:
            world.database.prepare(TABLE)
            database = world.client("alice").database
            await database.execute(CLAIM, key, "alice")
            await database.execute("SELECT * FROM claims")
            with pytest.raises(DatabaseFailed):
                await database.execute("SELECT * FROM nowhere")

        kinds = ("query", "queried", "told")
        return [(row.kind, row.detail) for row in tell(story).rows if row.kind in kinds]

    first, second = rows("k"), rows("l")
    assert first == rows("k")
    assert [kind for kind, _ in first] == ["query", "queried", "told"] * 3
    assert [detail[:2] for kind, detail in first if kind == "query"] == [
        (1, "INSERT claims"), (2, "SELECT claims"), (3, "SELECT nowhere"),
    ]  # fmt: skip
    assert [detail[1] for kind, detail in first if kind == "queried"] == [1, 0, 0]
    assert [detail[1] for kind, detail in first if kind == "told"] == [
        "rows", "rows", "DatabaseFailed",
    ]  # fmt: skip
    assert [one == other for one, other in zip(first, second, strict=True)] == [
        False, True, True, True, False, True, True, True, True,
    ]  # fmt: skip


class Front(Worker):
    """A worker that asks the database."""

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Claim what the path says."""
        given = await self.database.execute(CLAIM, request.path, "front")
        return WebResponse(200, given.changes)


class Deploy(Program):
    """A program that asks the database."""

    async def run(self) -> None:
        """Claim."""
        await self.database.execute(CLAIM, "deploy", "program")


def test_workers_and_programs_have_it_as_well() -> None:
    """Each by its own name."""

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        answer = await world.client("alice").worker(Front).fetch(WebRequest("GET", "/k"))
        assert answer.body == 1
        assert await world.start(Deploy(), "deployer").ended() == "done"
        assert world.database.look("SELECT owner FROM claims ORDER BY key").rows == [
            ("front",),
            ("program",),
        ]

    asked = [row.actor for row in tell(story).rows if row.kind == "query"]
    assert asked == ["Front", "deployer"]


def test_looking_writes_nothing() -> None:
    """And setting up is one transaction."""

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        with pytest.raises(DatabaseFailed, match="only reading is allowed here"):
            world.database.look("DELETE FROM claims")
        with pytest.raises(DatabaseFailed):
            world.database.look("SELECT * FROM nowhere")
        with pytest.raises(DatabaseFailed):
            world.database.prepare("INSERT INTO claims VALUES ('k', 'a')", "INSERT INTO nowhere")
        assert world.database.look("SELECT count(*) FROM claims").one() == (0,)

    assert tell(story).ok


def test_after_the_end_of_a_world_nothing_is_left() -> None:
    """Its tables went with it."""
    worlds: list[World] = []

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        worlds.append(world)

    tell(story)
    with pytest.raises(IncarnationGone):
        worlds[0].database.look("SELECT 1")
    with pytest.raises(IncarnationGone):
        worlds[0].database.prepare(TABLE)


def test_an_always_is_asked_after_a_query() -> None:
    """What a query wrote is an effect like any other."""

    @always
    def nobody_owns_it(world: World) -> None:
        """Nobody owns anything."""
        count = world.database.look("SELECT count(*) FROM claims").one()[0]
        assert count == 0, "somebody owns it"

    async def story(world: World) -> None:
        world.database.prepare(TABLE)
        await world.client("alice").database.execute(CLAIM, "k", "alice")

    told = Scenario("told", story, (), (nobody_owns_it,))
    result = run_once(Job(scenario=told, seed=1, source=Recorded(())))
    assert [(each.property, each.message) for each in result.failures] == [
        ("nobody_owns_it", "somebody owns it")
    ]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_a_query_without_end_is_ended() -> None:
    """By the steps it takes, so that it ends at the same place in every run."""

    async def story(world: World) -> None:
        with pytest.raises(DatabaseFailed, match="SQLITE_INTERRUPT") as caught:
            await world.client("alice").database.execute(ENDLESS)
        assert caught.value.nothing_ran

    assert tell(story).ok
