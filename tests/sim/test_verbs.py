"""The verbs about what there is."""

from pathlib import Path
from typing import Any

import pytest
import trio

from durasim.actors import DurableObject
from durasim.hosts import EmbeddedHost
from durasim.sim import LoseReply, Mutant, Scenario, System, World, at_rest, scenario, verbs
from durasim.sim.bench import Bench, Measure

from .commands import Folder, folder

__all__ = ["folder"]


class Shelf(DurableObject):
    """Keeps the number of its books."""

    async def put(self, books: int) -> None:
        """Store it."""
        await self.storage.put("books", kept(books))


def kept(books: int) -> int:
    """What a mutant replaces."""
    return books


def fewer(books: int) -> int:
    """Lose one."""
    return books - 1


def more(books: int) -> int:
    """Add one."""
    return books + 1


@at_rest
def three_are_there(world: World) -> None:
    """Three books are on the shelf."""
    assert world.stored(Shelf, "s")["books"] == 3


@scenario(faults=(LoseReply(),), properties=(three_are_there,), parameters={"n": (1, 2)})
async def shelving(world: World, n: int = 1) -> None:
    """Books are put on a shelf."""
    del n
    shelf = world.client("alice").get(Shelf, "s", deadline_s=1)
    with trio.move_on_after(2):
        await trio.lowlevel.checkpoint()
        call = shelf.put(3)
        await trio.sleep(1.5)
        del call


LIBRARY = System(
    "library",
    (shelving,),
    (three_are_there,),
    (
        Mutant("one-less", f"{__name__}:kept", fewer, shelving,
               ["three_are_there"], needs_fault=False),
        Mutant("harmless", f"{__name__}:kept", kept, shelving,
               ["three_are_there"], needs_fault=False),
        Mutant("loud", f"{__name__}:kept", more, "shelving",
               ["three_are_there"]),
        Mutant("misnamed", f"{__name__}:kept", more, shelving,
               ["something_else"], needs_fault=False),
    ),
)  # fmt: skip


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the library."""

    def find(name: str) -> System:
        assert name == "library"
        return LIBRARY

    def resolve(name: str) -> Scenario:
        assert name == "shelving"
        return shelving

    monkeypatch.setattr(verbs, "registered", lambda: (LIBRARY,))
    monkeypatch.setattr(verbs, "find_system", find)
    monkeypatch.setattr(verbs, "resolve", resolve)


# ---- list


def test_an_empty_registry_says_what_to_write(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a system there are still files and modules."""
    monkeypatch.setattr(verbs, "registered", tuple)
    assert folder.run("list", "--json").document == []
    ran = folder.run("list")
    assert ran.status == 0
    assert "path.py:attribute" in ran.out


@pytest.mark.usefixtures("library")
def test_scenarios_are_listed_by_system(folder: Folder) -> None:
    """One line each; the document has what a script wants to know."""
    lines = folder.run("list").out.splitlines()
    assert [line.rstrip() for line in lines] == [
        "library",
        "  shelving  Books are put on a shelf.",
    ]
    assert folder.run("list", "--json").document == [
        {
            "name": "shelving",
            "system": "library",
            "title": "Books are put on a shelf.",
            "faults": ["reply lost"],
            "parameters": {"n": [1, 2]},
            "mutants": ["one-less", "harmless", "loud", "misnamed"],
        }
    ]


# ---- mutants


def kill_table(folder: Folder, *names: str) -> tuple[int, dict[str, Any]]:
    """Return the status, and the rows of the kill table by name."""
    ran = folder.run("mutants", "library", *names, "--runs", "5", "--json")
    assert list(ran.document) == ["system", "mutants"]
    assert ran.document["system"] == "library"
    return ran.status, {row["name"]: row for row in ran.document["mutants"]}


@pytest.mark.usefixtures("library")
def test_a_mutant_is_killed_by_a_property_that_it_names(folder: Folder) -> None:
    """Status 0 if all are."""
    status, rows = kill_table(folder, "one-less")

    assert status == 0
    assert rows["one-less"] == {
        "name": "one-less",
        "scenario": "shelving",
        "killed": True,
        "property": "three_are_there",
        "expected": ["three_are_there"],
        "runs": 1,
        "silent_without_fault": None,
    }


@pytest.mark.usefixtures("library")
def test_survivors_noise_and_wrong_killers_are_status_1(folder: Folder) -> None:
    """Each of the three ways to fail is told apart."""
    status, rows = kill_table(folder)
    assert status == 1
    assert [row["killed"] for row in rows.values()] == [True, False, True, False]
    assert rows["harmless"]["property"] is None
    assert rows["harmless"]["runs"] == 5
    assert rows["loud"]["silent_without_fault"] is False
    assert rows["misnamed"]["property"] == "three_are_there"

    assert kill_table(folder, "loud")[0] == 1
    told = folder.run("mutants", "library", "--runs", "5").out
    assert "nothing" in told
    assert "not silent" in told
    assert "three_are_there: not expected" in told


@pytest.mark.usefixtures("library")
def test_an_unknown_mutant_is_refused(folder: Folder) -> None:
    """With the known ones."""
    line = folder.refused("mutants", "library", "one-less", "nobody")

    assert "library has no mutant 'nobody'; there is one-less, harmless" in line


# ---- conform


def test_conformance_is_told_by_program(folder: Folder) -> None:
    """A right recording passes, a wrong one fails and is shown."""
    program = (
        '{"format": "do-conformance/1", "topic": "kv", "programs": [{"id": "kv-1", "title": "t",'
        ' "order": "total", "objects": {}, "main": [{"op": "log", "ev": "a", "value": 1}],'
        ' "expect": {"all": {"trace": [{"at": "main", "ev": "a", "ok": RESULT}],'
        ' "result": {"ok": {"undefined": true}}}}}]}'
    )
    folder.write("wrong.json", program.replace("RESULT", "2"))
    ran = folder.run("conform", "wrong.json", "--json")

    assert list(ran.document) == ["passed", "failed", "not_applicable", "programs"]
    assert list(ran.document["programs"][0]) == ["id", "backend", "result", "difference"]
    assert ran.document["failed"] == 2
    assert ran.status == 1
    assert "failed: kv-1" in folder.run("conform", "wrong.json").out


# ---- inspect


def test_a_file_of_a_host_is_shown(folder: Folder) -> None:
    """Objects, keys and alarms, as text and as a document."""

    async def fill() -> None:
        async with EmbeddedHost("books.db") as host:
            await host.get(Shelf, "tall").put(7)

    trio.run(fill)
    ran = folder.run("inspect", "books.db")
    assert ran.status == 0
    assert ran.out.splitlines()[0].endswith("books.db: 1 object, closed")
    assert "Shelf/tall" in ran.out
    assert "  books  7" in ran.out

    (found,) = folder.run("inspect", "books.db", "--json").document["objects"]
    assert found["name"] == "tall"
    assert found["keys"][0]["value"] == "7"
    assert Path("books.db").exists()


# ---- bench


@pytest.mark.parametrize(("ratio", "status"), [(0.6, 0), (0.4, 1), (None, 0)])
def test_a_measure_that_falls_short_is_status_1(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, ratio: float | None, status: int
) -> None:
    """What was not measured does not count."""
    measure = Measure(name="a call", value=31.4, unit="us", yardstick=15.7, ratio=ratio, least=0.5)
    measured = Bench(python="3.11.7", trio="0.35", machine="x", measures=(measure,))

    def run_bench(*given: object) -> Bench:
        assert len(given) == 2
        return measured

    monkeypatch.setattr(verbs, "run_bench", run_bench)

    ran = folder.run("bench", "--json")
    assert ran.status == status
    assert list(ran.document) == ["python", "trio", "machine", "measures"]
    assert list(ran.document["measures"][0]) == [
        "name", "value", "unit", "yardstick", "ratio", "least", "met",
    ]  # fmt: skip
    word = {None: "not measured", 0.6: "yes", 0.4: "no"}[ratio]
    assert folder.run("bench").out.splitlines()[-1].rstrip().endswith(word)


def test_a_second_job_is_measured_on_the_same_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many runs is found once, with one job."""
    asked: list[tuple[int | None, int]] = []

    def explored(_: Scenario, *, runs: int | None, jobs: int = 1, **rest: object) -> object:
        assert rest["strategy"] == "uniform"
        asked.append((runs, jobs))

        class Exploration:
            runs = 77
            seconds = 1.5

        return Exploration()

    monkeypatch.setattr(verbs, "explore", explored)
    seconds = verbs.timed_runs()

    assert [seconds(1), seconds(2)] == [1.5, 1.5]
    assert asked == [(None, 1), (77, 1), (77, 2)]
