"""The caller's part of a permit: one begin, one end, at most one read after each."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import pytest

from durasim.actors import DurableObject, Program
from durasim.actors.fleet import BuildStamp, FleetDeployment, FleetRefused, Producer, WorkerVersion
from durasim.actors.fleet.admission import normalize, with_permit
from durasim.actors.fleet.outcomes import Granted, Outcome, Refused, attempt
from durasim.actors.fleet.registry import Registry
from durasim.sim import (
    CorruptReply,
    DuplicateRequest,
    LoseReply,
    LoseRequest,
    World,
    scenario,
    simulate,
)
from durasim.sim.fleet.fleet import BEARERS

from .registry_stage import HASH, ID, PREFLIGHT

VERSION = "00000000-0000-4000-8000-000000000001"
ORIGIN = {"method": "POST", "route": "/exec", "resource": "repo:a", "actor": "ann", "request": "7"}
MUTATIONS = ("begin_keyed", "read_admission", "end_keyed", "read_receipt")


class OldRegistry(DurableObject, name="Registry"):
    """One that knows no keyed permits."""

    async def begin_deploy_admission(self) -> dict[str, str]:
        """Admit."""
        return {"id": ID}


class Asker(Program):
    """Does some work under a permit, and keeps how that ended."""

    def __init__(self, fails: bool = False) -> None:
        self.outcome: Outcome[Any] | None = None
        self.worked: list[str] = []
        self.fails = fails

    async def run(self) -> None:
        """Do it once."""
        self.outcome = await attempt(with_permit(self, "exec", ORIGIN, self.work))

    async def work(self, permit: str) -> str:
        """Work."""
        self.worked.append(permit)
        if self.fails:
            raise ValueError("the work failed")
        return "done"


class Played:
    """What one asker did, and what was seen of it."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.calls: Counter[str] = Counter()
        self.reports: list[tuple[str, Mapping[str, Any]]] = []
        self.stored: dict[str, Any] = {}

    @property
    def codes(self) -> list[str]:
        """What was reported to operators."""
        return [code for code, _ in self.reports]

    @property
    def permits(self) -> list[str]:
        """Ids of the permits that stand."""
        return [k.rpartition(":")[2] for k in self.stored if k.startswith("deploy:admission:")]


def played(
    *deviations: tuple[str, str],
    before: Callable[[Any], Awaitable[object]] | None = None,
    registry: type[DurableObject] = Registry,
    fails: bool = False,
) -> Played:
    """Let one asker run in a world with these faults."""
    seen = Played(Asker(fails))

    @scenario(
        faults=(LoseRequest(), LoseReply(), CorruptReply(), DuplicateRequest()),
    )
    async def story(world: World) -> None:
        """One request under a permit."""
        world.env["fleet"] = FleetDeployment(
            producer=Producer(WorkerVersion(VERSION, 1), BuildStamp("c" * 40, 1, "b-1")),
            bearers=BEARERS,
            containers=lambda objects, member: pytest.fail(f"{objects} {member}"),
            report=lambda code, fields: seen.reports.append((code, fields)),
        )
        world.machine("registry", (registry,))
        world.trace.watchers.setdefault("request", []).append(
            lambda row: seen.calls.update([row.detail[3]] if row.actor == "asker" else [])
        )
        if before is not None:
            await before(world.client("ann").get(Registry, "registry"))
        run = world.start(seen.asker, "asker")
        await run.ended()
        seen.stored = world.stored(Registry, "registry")

    report = simulate(story, deviations=list(deviations))
    assert report.ok, report.failures
    return seen


def at(what: str, method: str) -> str:
    """Name the first message of *method* by or to the asker."""
    end = "by" if what == "request" else "to"
    return f"{what} 1 of Registry/registry.{method} {end} asker"


def test_provenance_names_the_original_request_and_nothing_else() -> None:
    """No secret, clock or count of tries; letters that look alike are alike."""
    loud = {**ORIGIN, "method": "post", "route": "/exec?try=2", "secret": "s", "sentAt": 17}
    assert normalize("Exec", loud) == normalize("exec", ORIGIN)
    assert normalize("exec", ORIGIN) == {**ORIGIN, "method": "post", "kind": "exec"}
    assert normalize("exec", {"actor": "e\u0301"}) == normalize("exec", {"actor": "\u00e9"})
    assert normalize("exec", {**ORIGIN, "request": "8"}) != normalize("exec", ORIGIN)


def test_work_is_done_between_one_begin_and_one_end() -> None:
    """Nothing is read, and the settlement is reported."""
    seen = played()
    assert seen.asker.outcome == Granted("done")
    assert seen.calls == Counter({"begin_keyed": 1, "end_keyed": 1})
    assert (seen.codes, seen.permits) == (["SETTLED"], [])
    assert seen.asker.worked == [seen.reports[0][1]["permit"]]


def test_work_that_fails_is_settled_as_well() -> None:
    """Its own error goes on."""
    seen = played(fails=True)
    assert not isinstance(seen.asker.outcome, Granted | Refused)
    assert (seen.codes, seen.permits) == (["SETTLED"], [])


@pytest.mark.parametrize("what", ["lost", "corrupt"])
def test_a_begin_whose_reply_is_lost_buys_one_read(what: str) -> None:
    """The row is the stack's own: the work is done."""
    seen = played((at("reply", "begin_keyed"), what))
    assert seen.asker.outcome == Granted("done")
    assert seen.calls == Counter({"begin_keyed": 1, "read_admission": 1, "end_keyed": 1})
    assert seen.permits == []


def test_a_begin_that_never_arrived_ends_unknown() -> None:
    """No row is no refusal: nothing is done, begun again or ended."""
    seen = played((at("request", "begin_keyed"), "lost"))
    assert not isinstance(seen.asker.outcome, Granted | Refused)
    assert "OUTCOME_UNKNOWN" in str(seen.asker.outcome)
    assert seen.calls == Counter({"begin_keyed": 1, "read_admission": 1})
    assert (seen.asker.worked, seen.codes) == ([], [])


def test_a_read_that_fails_too_ends_unknown_and_leaves_a_debt() -> None:
    """There is no second read."""
    seen = played((at("reply", "begin_keyed"), "lost"), (at("reply", "read_admission"), "lost"))
    assert "OUTCOME_UNKNOWN" in str(seen.asker.outcome)
    assert seen.calls == Counter({"begin_keyed": 1, "read_admission": 1})
    assert len(seen.permits) == 1


def test_an_end_whose_reply_is_lost_buys_one_read() -> None:
    """The receipt is the stack's own."""
    seen = played((at("reply", "end_keyed"), "lost"))
    assert seen.asker.outcome == Granted("done")
    assert seen.calls == Counter({"begin_keyed": 1, "end_keyed": 1, "read_receipt": 1})
    assert seen.codes == ["SETTLED"]


@pytest.mark.parametrize(
    "faults",
    [
        [(at("request", "end_keyed"), "lost")],
        [(at("reply", "end_keyed"), "lost"), (at("reply", "read_receipt"), "corrupt")],
    ],
)
def test_a_settlement_that_nobody_knows_is_reported_and_no_error(faults: Any) -> None:
    """The work is done; nothing is sent again."""
    seen = played(*faults)
    assert seen.asker.outcome == Granted("done")
    assert seen.calls == Counter({"begin_keyed": 1, "end_keyed": 1, "read_receipt": 1})
    assert seen.codes == ["SETTLEMENT_UNKNOWN"]


def test_a_begin_that_arrives_twice_is_granted_by_the_row() -> None:
    """The copy is told that the id exists, which grants nothing by itself."""
    twice = (at("request", "begin_keyed"), "twice")
    seen = played(twice, (at("reply", "begin_keyed"), "lost"))
    assert seen.asker.outcome == Granted("done")
    assert seen.calls["begin_keyed"] == 1
    assert seen.permits == []


def test_a_refusal_is_certain_and_goes_on() -> None:
    """Nothing is read, done or ended."""

    async def fenced(registry: Any) -> None:
        await registry.drain(90)
        await registry.set_fence(PREFLIGHT, {"workerVersion": VERSION, "uploadedAt": 1}, [])

    seen = played(before=fenced)
    assert isinstance(seen.asker.outcome, Refused)
    assert seen.asker.outcome.code == "FENCED"
    assert seen.calls == Counter({"begin_keyed": 1})


def test_a_registry_without_keyed_permits_refuses() -> None:
    """It has no such method: for certain, nothing ran there (H.1)."""
    seen = played(registry=OldRegistry)
    assert isinstance(seen.asker.outcome, Refused)
    assert seen.asker.outcome.code == "NOT_FOUND"
    assert seen.calls == Counter({"begin_keyed": 1})


class ForgetfulRegistry(Registry, name="Registry"):
    """Has lost every permit by the time it is ended, and says so."""

    async def end_keyed(self, permit_id: str, provenance_sha256: str, producer: Any) -> Any:
        """Know nothing of it."""
        del permit_id, provenance_sha256, producer
        raise FleetRefused("ADMISSION_UNKNOWN", "it was recovered")


def test_an_end_that_is_refused_settles_nothing() -> None:
    """A permit that is gone without a receipt was not released: nothing is read, nothing sent."""
    seen = played(registry=ForgetfulRegistry)
    assert seen.asker.outcome == Granted("done")
    assert seen.calls == Counter({"begin_keyed": 1, "end_keyed": 1})
    assert seen.codes == ["SETTLEMENT_UNKNOWN"]


class StrangeRegistry(DurableObject, name="Registry"):
    """Answers that the id exists, and shows a row that is not what was asked."""

    changed: ClassVar[Any] = {}
    more: ClassVar[Any] = {}

    async def begin_keyed(self, permit: str, sha: str, kind: str, producer: Any) -> Any:
        """Keep a row that is not what was asked."""
        del permit, producer
        row = {"startedAt": 1, "kind": kind, "provenanceSha256": sha}
        self.storage.kv.put("seen", {**row, **type(self).changed})
        raise FleetRefused("ADMISSION_ID_EXISTS", "it exists")

    async def read_admission(self, permit: str) -> Any:
        """Show it."""
        del permit
        return {"row": self.storage.kv.get("seen"), **type(self).more}


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        ({"provenanceSha256": HASH}, {}),
        ({"kind": "attach"}, {}),
        ({}, {"audit": {"requestEnd": "unobserved"}}),
        ({}, {"row": None}),
    ],
)
def test_a_row_of_another_request_is_no_match(changed: Any, more: Any) -> None:
    """Hash and kind have to be the stack's own, and no audit may name the id (L, 11)."""
    cls = type("Strange", (StrangeRegistry,), {"changed": changed, "more": more}, name="Registry")
    seen = played(registry=cls)
    assert "OUTCOME_UNKNOWN" in str(seen.asker.outcome)
    assert seen.calls == Counter({"begin_keyed": 1, "read_admission": 1})
    assert seen.asker.worked == []
