"""Caller and Registry of different levels, by record (H.1): a test for each cell."""

import trio

from durasim.actors.fleet import Granted, Refused, Uncertain, attempt
from durasim.sim import LoseReply, World
from durasim.sim.fleet.acting import begun
from durasim.sim.fleet.fleet import CodeLevel
from durasim.sim.fleet.levels import L0, L1, L2, L3, L4, L5, set_fleet
from durasim.wire import content_hash

from .skew import KEYED, RUN, SHA, every, holds, keyed_permit, legacy_permit, producer


@every(L1, L2, L3, L4, L5)
def test_a_legacy_caller_has_a_row_by_the_registrys_id_and_ends_it(level: CodeLevel) -> None:
    """Begin writes a legacy row, end deletes it, and no receipt is left."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        assert fleet.log.permits[permit].keys() == {"startedAt", "kind"}
        await fleet.registry("old").end_deploy_admission(permit)
        assert not fleet.log.permits
        assert not fleet.log.rows("deploy:receipt:")

    holds(story)


@every(L1, L2, L5)
def test_a_fence_closes_legacy_admission(level: CodeLevel) -> None:
    """Under a fence no legacy row is written."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        await fleet.ask("runner", "POST", "/drain", {"minutes": 90}, scope="drain")
        await fleet.ask("runner", "POST", "/deploy-fence", {}, scope="drain")
        assert fleet.log.fence is not None
        refused = await attempt(fleet.registry("old").begin_deploy_admission("exec"))
        assert isinstance(refused, Refused)
        assert refused.code == "FENCED"
        assert not fleet.log.permits

    holds(story)


@every(L2, L3, L5)
def test_legacy_code_cannot_end_a_keyed_row_of_upgraded_code(level: CodeLevel) -> None:
    """It needs the hash, and the row is kept (P18.2)."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        await keyed_permit(fleet)
        refused = await attempt(fleet.registry("old").end_deploy_admission(KEYED))
        assert isinstance(refused, Refused)
        assert refused.code == "KEYED_RELEASE_NEEDS_HASH"
        assert KEYED in fleet.log.permits

    holds(story)


def test_after_a_rollback_legacy_code_ends_a_keyed_row_without_its_hash() -> None:
    """Not enforceable: that is why a rollback needs a qualified migration first (P18.3)."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L2)
        await keyed_permit(fleet)
        fleet.upload(fleet.artifact(L1))
        await fleet.registry("old").end_deploy_admission(KEYED)
        assert not fleet.log.permits
        assert not fleet.log.rows("deploy:receipt:")

    holds(story)


@every(L0, L1)
def test_a_keyed_caller_is_refused_by_a_registry_without_keys(level: CodeLevel) -> None:
    """There is no such method: certain, and nothing was written."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        stub = fleet.registry("new")
        fleet.upload(fleet.artifact(level))
        said = await attempt(stub.begin_keyed(KEYED, SHA, "exec", producer(fleet)))
        assert isinstance(said, Refused)
        assert said.code == "NOT_FOUND"
        assert not fleet.log.permits

    holds(story)


@every(L0, L1)
def test_a_new_member_does_no_work_at_a_registry_without_keys(level: CodeLevel) -> None:
    """Mixed in a swap: without a permit nothing is attached, and nothing submitted."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        fleet.upload(fleet.artifact(level), machines=["registry"])
        attached = await begun(fleet, RUN)
        assert isinstance(attached, Refused)
        assert "reg:t" not in fleet.log.resident(RUN.resource)
        assert not fleet.ground.containers["member-1"].workspaces

    holds(story)


def test_a_keyed_permit_stays_when_its_registry_is_rolled_back() -> None:
    """Neither its read nor its end has a method any more: unknown, and the row stays."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L2)
        await keyed_permit(fleet)
        stub = fleet.registry("new")
        fleet.upload(fleet.artifact(L1))
        for call in (
            stub.read_admission(KEYED),
            stub.end_keyed(KEYED, SHA, producer(fleet)),
            stub.read_receipt(KEYED),
        ):
            said = await attempt(call)
            assert isinstance(said, Refused)
            assert said.code == "NOT_FOUND"
        assert KEYED in fleet.log.permits

    holds(story)


def test_a_stack_whose_end_has_no_method_any_more_leaves_debt() -> None:
    """Rolled back while the work runs: the work is done, and its permit stays."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L5)
        await begun(fleet, RUN)

        async def roll_back() -> None:
            await trio.sleep(30)
            fleet.upload(fleet.artifact(L1), machines=["registry"])

        world.spawn("rollback", roll_back)
        member = fleet.resident("bot", RUN.resource)
        done = await member.exec("t", *RUN.triple, {"actor": "bot", "request": "x"}, "run:60")
        assert done["outcome"] == "completed"
        assert len(fleet.log.permits) == 1
        assert not fleet.log.rows("deploy:receipt:").keys() & fleet.log.permits.keys()

    holds(story)


@every(L2, L3, L5)
def test_a_keyed_row_is_read_and_ended_by_its_exact_hash(level: CodeLevel) -> None:
    """Begin, exact read, wrong hash refused, exact end with a receipt."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        await keyed_permit(fleet)
        stub = fleet.registry("new")
        assert (await stub.read_admission(KEYED))["row"]["provenanceSha256"] == SHA
        wrong = await attempt(stub.end_keyed(KEYED, content_hash("other"), producer(fleet)))
        assert isinstance(wrong, Refused)
        assert wrong.code == "HASH_MISMATCH"
        assert KEYED in fleet.log.permits
        receipt = await stub.end_keyed(KEYED, SHA, producer(fleet))
        assert receipt == (await stub.read_receipt(KEYED))["receipt"]
        assert not fleet.log.permits

    holds(story)


@every(L2, L3, L5)
def test_a_keyed_end_leaves_a_legacy_row(level: CodeLevel) -> None:
    """LEGACY_RECORD, and it is kept."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=level)
        permit = await legacy_permit(fleet)
        said = await attempt(fleet.registry("new").end_keyed(permit, SHA, producer(fleet)))
        assert isinstance(said, Refused)
        assert said.code == "LEGACY_RECORD"
        assert permit in fleet.log.permits

    holds(story)


def test_without_permits_only_the_attach_gate_and_no_fence() -> None:
    """L0: a drain refuses new runs at attach; there is nothing else."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L0)
        await fleet.ask("runner", "POST", "/drain", {"minutes": 60}, scope="drain")
        said = await begun(fleet, RUN)
        assert isinstance(said, Refused)
        assert said.code == "DRAINING"
        fenced = await fleet.ask("runner", "POST", "/deploy-fence", {}, scope="drain")
        assert fenced == Refused("NOT_FOUND")

    holds(story)


LOST_BEGIN = "reply 1 of Registry/registry.begin_keyed to Resident/repo:o/a"


def test_a_stack_that_survives_a_swap_uses_its_one_read_at_the_new_code() -> None:
    """Its begin was committed by old code, its read is answered by new code, and it works."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L2)

        async def swap() -> None:
            await trio.sleep(10)
            fleet.upload(fleet.artifact(L5), machines=["registry"])

        world.spawn("swap", swap)
        assert isinstance(await begun(fleet, RUN), Granted)
        assert not fleet.log.permits

    holds(story, faults=(LoseReply(),), deviations=((LOST_BEGIN, "lost"),))


def test_a_stack_that_the_swap_ends_does_not_use_its_permit() -> None:
    """The call is uncertain for whoever asked, and the row is debt."""

    async def story(world: World) -> None:
        fleet = set_fleet(world, level=L2)

        async def swap() -> None:
            await trio.sleep(10)
            fleet.upload(fleet.artifact(L5))

        world.spawn("swap", swap)
        assert isinstance(await begun(fleet, RUN), Uncertain)
        await trio.sleep(60)
        assert len(fleet.log.permits) == 1
        assert "reg:t" not in fleet.log.resident(RUN.resource)

    holds(story, faults=(LoseReply(),), deviations=((LOST_BEGIN, "lost"),))
