"""A trace as steps: what is one step, what is two, and what is marked."""

import trio

from durasim.actors import (
    DatabaseFailed,
    DurableObject,
    Program,
    Route,
    WebRequest,
    Worker,
)
from durasim.sim import Deviation, KillProgram, LoseQuery, LoseQueryReply, World, scenario
from durasim.sim.diagram import Step, diagram_of

from .drawn import FAULTS, Counter, clicks, drawn, ran


def told(steps: tuple[Step, ...]) -> list[str]:
    """Write each step in one line."""
    lines: list[str] = []
    for step in steps:
        mark = "!" if step.is_marked else ""
        if step.target is None:
            lines.append(f"{mark}{step.source or 'world'}: {step.text}")
        else:
            lines.append(f"{mark}{step.source} {step.arrow} {step.target}: {step.text}")
    return lines


def test_what_arrives_at_once_is_one_step() -> None:
    """A call, its commit and its reply are three lines."""
    diagram = drawn(clients=1, each=1)

    assert diagram.participants == ("client-0", "Counter/c")
    assert diagram.objects == {"Counter/c"}
    assert told(diagram.steps) == [
        "client-0 whole Counter/c: increment()",
        "Counter/c: total = 1",
        "Counter/c whole client-0: 1",
    ]


def test_a_handler_is_busy_from_its_call_to_its_reply() -> None:
    """Which lanes are alive and busy is known at each step."""
    call, commit, reply = drawn(clients=1, each=1).steps

    assert call.alive == call.busy == commit.busy == {"Counter/c"}
    assert reply.alive == {"Counter/c"}
    assert reply.busy == frozenset()


def test_what_is_overtaken_is_two_steps() -> None:
    """A message that is late leaves in one place and arrives in another, both marked."""
    late = ("request 1 of Counter/c.increment by client-0", "10 ms late")
    steps = drawn(clicks, [late], clients=2, each=1).steps

    lines = told(steps)
    assert lines[0] == "!client-0 sent Counter/c: increment() [10 ms late]"
    assert lines[1] == "client-1 whole Counter/c: increment()"
    assert "!client-0 arrived Counter/c: increment() [10 ms late]" in lines
    assert steps[-1].time_us == 10_000


def test_a_reply_behind_others_is_two_steps() -> None:
    """Replies are drawn as requests are."""
    behind = ("reply 1 of Counter/c.increment to client-0", "behind")
    lines = told(drawn(clicks, [behind], clients=2, each=1).steps)

    assert "!Counter/c sent client-0: reply to increment [behind]" in lines
    assert "!Counter/c arrived client-0: 1" in lines


def test_losses_stand_where_they_happened() -> None:
    """A lost request leaves its caller, a lost reply the object; neither arrives."""
    request = ("request 1 of Counter/c.increment by client-0", "lost")
    reply = ("reply 1 of Counter/c.increment to client-1", "lost")
    lines = told(drawn(clicks, [request, reply], clients=2, each=1).steps)

    assert "!client-0 lost Counter/c: increment() lost" in lines
    assert "!Counter/c lost client-1: reply lost" in lines
    assert lines[-1].startswith("!world: ✗ scenario: OutcomeUnknown")


def test_a_deadline_that_passes_is_told_while_clocks_are_right() -> None:
    """Deadlines are those of the callers' clocks; the chart does not guess when one is wrong."""
    lost = ("reply 1 of Counter/c.increment to client-0", "lost")
    diagram = drawn(clicks, [lost], clients=1, each=1)
    (step,) = [step for step in diagram.steps if "no reply" in step.text and step.source]
    assert (step.source, step.text, step.time_us) == (
        "client-0",
        "no reply within 30 s",
        30_000_000,
    )

    result = ran(clicks, [lost], clients=1, each=1)
    jumped = Deviation("request 9 of x by y", "clock +60 s", "the host's clock jumps")
    blind = diagram_of(result.rows, [*result.deviations, jumped], result.failures)
    assert len(blind.steps) == len(diagram.steps) - 1


def test_an_answer_in_time_meets_its_deadline() -> None:
    """Nothing is said of a deadline that passes later."""

    @scenario()
    async def story(world: World) -> None:
        await world.client("alice").get(Counter, "c").increment()
        await trio.sleep(100)

    assert not any("no reply" in line for line in told(drawn(story).steps))


def test_a_crash_kills_what_ran_and_the_end_of_the_world_does_not() -> None:
    """The machine, its objects and the broken connection are told; the clean end is not."""
    crash = ("commit 1 of Counter/c in increment", "crash after")
    lines = told(drawn(clicks, [crash], clients=1, each=1).steps)

    assert lines[2:5] == [
        "!world: host crashes and starts again",
        "!Counter/c: dies",
        "!client-0: connection broken: increment has no reply",
    ]
    assert "Counter/c: dies" not in "\n".join(told(drawn(clients=1, each=1).steps))


def test_evictions_and_replacements_are_told() -> None:
    """Those that were chosen are marked; the next incarnation says its number."""
    evicted = ("request 2 of Counter/c.increment by client-0", "evicted")
    lines = told(drawn(clicks, [evicted], clients=1, each=2).steps)
    assert "!Counter/c: is evicted" in lines
    assert "Counter/c: incarnation 2 starts" in lines

    replaced = ("request 2 of Counter/c.increment by client-0", "replaced")
    assert "!Counter/c: is replaced, and runs on" in told(drawn(clicks, [replaced]).steps)


def test_alarms_errors_and_effects_are_told() -> None:
    """An alarm that is set and rings, an error that comes back, an effect outside."""

    @scenario(faults=FAULTS)
    async def story(world: World) -> None:
        counter = world.client("alice").get(Counter, "c")
        await counter.increment(by=3)
        await counter.ring_in(2)
        try:
            await counter.refuse()
        except ValueError:
            world.ledger.note("refused", "once")
        await trio.sleep(5)

    lines = told(drawn(story).steps)

    assert "alice whole Counter/c: increment(by=3)" in lines
    assert "Counter/c: alarm at 2 s" in lines
    assert "!Counter/c whole alice: ValueError: no more than that" in lines
    assert "world: outside: refused: 'once'" in lines
    assert "Counter/c: alarm rings" in lines
    assert "Counter/c: total deleted, no alarm" in lines


def test_a_trace_without_its_beginning_is_drawn_and_says_so() -> None:
    """Replies to calls that are not there any more are left out."""
    rows = ran(clients=2, each=2).rows
    for first in range(len(rows)):
        diagram = diagram_of(rows[first:])
        assert diagram.is_cut == (first > 0)
        assert {end for step in diagram.steps for end in (step.source, step.target)} - {
            None,
            "",
        } <= set(diagram.participants)


class Claims(DurableObject):
    """Claims keys in the shared database."""

    async def claim(self, key: str) -> int:
        """Insert *key*; returns how many rows that changed."""
        try:
            return (await self.database.execute("INSERT INTO claims VALUES (?)", key)).changes
        except DatabaseFailed:
            return -1


@scenario(faults=(LoseQuery(), LoseQueryReply()))
async def claiming(world: World) -> None:
    """Claim one key twice."""
    world.database.prepare("CREATE TABLE claims (key TEXT PRIMARY KEY)")
    for _ in range(2):
        await world.client("alice").get(Claims, "a").claim("k")


def test_queries_have_a_lane_of_their_own() -> None:
    """What ran, what it changed, and the error that came back."""
    diagram = drawn(claiming)

    assert diagram.participants == ("alice", "Claims/a", "database")
    assert told(diagram.steps) == [
        "alice whole Claims/a: claim('k')",
        "Claims/a whole database: INSERT claims",
        "database: 1 row changed",
        "database whole Claims/a: rows",
        "Claims/a whole alice: 1",
        "alice whole Claims/a: claim('k')",
        "Claims/a whole database: INSERT claims",
        "!database whole Claims/a: DatabaseFailed",
        "Claims/a whole alice: -1",
    ]


def test_a_lost_query_and_a_lost_answer_look_alike_to_the_asker() -> None:
    """The chart knows which it was: one never arrives, the other changes a row."""
    lost = told(drawn(claiming, [("query 1 of INSERT claims by Claims/a", "lost")]).steps)
    assert lost[1:3] == [
        "!Claims/a sent database: INSERT claims [lost]",
        "!Claims/a: no answer: DatabaseFailed",
    ]

    answer = told(drawn(claiming, [("query 1 of INSERT claims by Claims/a", "answer lost")]).steps)
    assert answer[1:4] == [
        "!Claims/a whole database: INSERT claims [answer lost]",
        "database: 1 row changed",
        "!Claims/a: no answer: DatabaseFailed",
    ]


class Door(Worker):
    """Lets everybody in."""

    routes = (Route("GET", "/", "enter"),)

    async def enter(self, request: WebRequest) -> str:
        """Ask the counter."""
        del request
        return str(await self.objects.get(Counter, "c").increment())


class Visitor(Program):
    """Comes once."""

    async def run(self) -> None:
        """Knock."""
        await self.objects.worker(Door).fetch(WebRequest("GET", "/"))


@scenario(faults=(KillProgram(),))
async def visiting(world: World) -> None:
    """A program calls a worker that calls an object."""
    run = world.start(Visitor(), "visitor")
    await run.ended()


def test_programs_and_workers_are_participants() -> None:
    """A program that ends says so; a worker that has answered is just gone."""
    diagram = drawn(visiting)

    assert diagram.participants == ("visitor", "Door", "Counter/c")
    lines = told(diagram.steps)
    assert lines[-1] == "visitor: ends"
    assert any(line.startswith("Door whole visitor: 200") for line in lines)
    assert diagram.steps[-1].alive == {"Counter/c"}

    killed = told(drawn(visiting, [("program 1 of visitor", "killed")]).steps)
    assert "!visitor: is killed" in killed
