"""What the event log makes of a trace."""

from typing import Any

from durasim.sim import LoseReply, World
from durasim.sim.fleet.checks import Check, Reached
from durasim.sim.fleet.log import Commit, Entry, Seen, log_of

from .small import OLD, small_fleet
from .told import told


class Sees(Check[list[Any]]):
    """Remembers every entry of its kinds."""

    name = "sees"

    def __init__(self, *sees: str) -> None:
        self.sees = sees
        self.seen: list[Entry] = []

    def begin(self) -> list[Any]:
        return []

    def see(self, seen: Seen[list[Any]]) -> None:
        self.seen.append(seen.entry)


class NoRow(Check[None]):
    """Fails at a commit of `bad`."""

    name = "no bad row"
    sees = ("commit Registry",)
    level = 5

    def begin(self) -> None:
        return None

    def see(self, seen: Seen[None]) -> None:
        commit: Commit = seen.entry.data
        assert not commit.of("bad"), "a bad row was stored"


async def bad_row(world: World) -> None:
    """Store what may not be, by code of level 4, then by code of level 5."""
    fleet = small_fleet(world)
    await fleet.registry("ann").keep("bad", 1)


def test_a_commit_is_told_with_what_was_and_what_is() -> None:
    """The change is decoded, and what is stored follows it."""
    sees = Sees("commit Registry")

    async def story(world: World) -> None:
        registry = small_fleet(world).registry("ann")
        await registry.keep("a", {"x": 1})
        await registry.keep("a", None)
        assert "a" not in log_of(world).registry

    assert told(story, sees).ok
    assert [[tuple(c) for c in entry.data.changes] for entry in sees.seen] == [
        [("a", None, {"x": 1})],
        [("a", {"x": 1}, None)],
    ]
    assert all(entry.time_ms >= 1_767_225_600_000 for entry in sees.seen)


def test_a_call_and_its_end_are_told_with_what_they_say() -> None:
    """Arguments, values and errors are read; what nobody watches is not kept."""
    sees = Sees("call Registry.keep", "answer Registry.keep", "answer Registry.refuse")

    async def story(world: World) -> None:
        registry = small_fleet(world).registry("ann")
        await registry.keep("a", row=[2])
        try:
            await registry.refuse()
        except Exception:
            return

    assert told(story, sees).ok
    call, answer, failed = (entry.data for entry in sees.seen)
    assert (call.caller, call.arguments, call.named) == ("ann", ("a",), {"row": [2]})
    assert answer.call is call
    assert answer.is_granted
    assert answer.value is None
    assert not failed.is_granted
    assert failed.error is not None


def test_a_crash_makes_a_call_uncertain() -> None:
    """A broken connection is no answer."""
    sees = Sees("uncertain Resident.work", "down")

    async def story(world: World) -> None:
        fleet = small_fleet(world, machines=1)
        fleet.ground.containers["member-1"].hydrate_s = 60

        async def crash() -> None:
            fleet.machines["members-1"].crash("for the test")

        world.spawn("crash", crash)
        try:
            await fleet.resident("ann", "repo:o/a").work("t", "write")
        except Exception:
            return

    assert told(story, sees).ok
    kinds = [entry.kind for entry in sees.seen]
    assert "uncertain Resident.work" in kinds
    assert "down" in kinds


def test_a_breach_is_a_failure_of_the_check() -> None:
    """Code of the rule's level is bound by it."""

    async def story(world: World) -> None:
        fleet = small_fleet(world)
        fleet.upload(
            fleet.artifact(fleet.code.__class__(5, OLD.registry, OLD.resident, OLD.router))
        )
        await fleet.registry("ann").keep("bad", 1)

    result = told(story, NoRow())
    assert [(f.property, f.message) for f in result.failures] == [
        ("no bad row", "a bad row was stored")
    ]


def test_a_breach_by_older_code_is_told_and_fails_nothing() -> None:
    """A rule binds code of its own level or newer."""

    async def story(world: World) -> None:
        await bad_row(world)
        assert log_of(world).outside == [("no bad row", "a bad row was stored")]

    assert told(story, NoRow()).ok


def test_a_check_that_raises_is_a_failure() -> None:
    """A checker that breaks does not pass."""

    class Breaks(NoRow):
        name = "breaks"

        def see(self, seen: Seen[None]) -> None:
            raise KeyError(seen.entry.kind)

    assert [f.property for f in told(bad_row, Breaks()).failures] == ["breaks"]


def test_what_has_to_be_reached_is_seen() -> None:
    """One entry of the kind is enough."""
    result = told(bad_row, Reached("bad row", "commit Registry"), Reached("never", "note never"))
    assert result.sometimes == {"bad row": True, "never": False}


def test_a_lost_reply_is_no_answer() -> None:
    """Only what arrives is told."""
    sees = Sees("call Registry.keep", "answer Registry.keep")

    async def story(world: World) -> None:
        try:
            await small_fleet(world).registry("ann").keep("a", 1)
        except Exception:
            assert log_of(world).registry["a"] == 1

    lost = (("reply 1 of Registry/registry.keep to ann", "lost"),)
    assert told(story, sees, faults=(LoseReply(),), deviations=lost).ok
    assert [entry.kind for entry in sees.seen] == ["call Registry.keep"]
