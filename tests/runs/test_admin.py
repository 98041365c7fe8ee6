"""The operator's routes: path, method, credential, body, store, in this order."""

from typing import Any

import pytest

from durasim.actors.runs import FenceState, RunsDeployment, Secrets
from durasim.sim import FailQuery, World

from .stage import ADMIN, CALLERS, IDENTITY, WORKFLOWS, Stage, play, told

FENCE = "/admin/execution-fence"
INVENTORY = "/admin/inventory"


def the_state(stage: Stage) -> tuple[Any, Any, Any]:
    """Return what the fence has stored."""
    (row,) = stage.query("SELECT state, proof_key, proof_run_id FROM flowsafe_execution_fence")
    return row["state"], row["proof_key"], row["proof_run_id"]


def wired(world: World, secret: str | None) -> Stage:
    """Return a deployment whose operators have *secret*."""
    stage = Stage(world, "objects", "router")
    world.env["runs"] = RunsDeployment(
        workflows=WORKFLOWS,
        secrets=Secrets(identity=IDENTITY, maintenance_admin=secret),
        fence="database",
        reservations="database",
        authenticate=CALLERS.get,
        log=stage.log,
    )
    return stage


def test_the_reading_is_shown_and_moved() -> None:
    """What is absent is left out; the answer of a move is the new state; no cache keeps any."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        assert told(await stage.send("GET", FENCE, who=ADMIN)) == (200, {"state": "open"})
        body = {"expected": "open", "next": "proof-only", "proofKey": "proof"}
        answer = await stage.send("POST", FENCE, body, who=ADMIN)
        assert told(answer) == (200, {"state": "proof-only"})
        assert answer.headers["cache-control"] == "no-store"
        shown = told(await stage.send("GET", FENCE, who=ADMIN))
        assert shown == (200, {"state": "proof-only", "proofKey": "proof"})
        assert ("execution-fence-moved", {"from": "open", "to": "proof-only"}) in stage.log.lines

    play(story)


def test_case_31_two_operators_race_and_the_loser_learns_the_state() -> None:
    """409, and the fence is as the winner left it."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        draining = {"expected": "open", "next": "draining"}
        locked = {"expected": "open", "next": "migration-locked"}
        assert (await stage.send("POST", FENCE, draining, who=ADMIN)).status == 200
        status, answer = told(await stage.send("POST", FENCE, locked, who=ADMIN))
        assert (status, answer["reason"]) == (
            409, {"code": "FENCE_CAS_CONFLICT", "state": "draining"},
        )  # fmt: skip
        assert the_state(stage)[0] == "draining"

    play(story)


def test_case_39_leaving_proof_only_clears_key_and_run() -> None:
    """Entering it again with a new key drops the run of the old one."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        assert await stage.move("open", "proof-only", "p1") == 200
        stage.world.database.prepare("UPDATE flowsafe_execution_fence SET proof_run_id = 'r1'")
        assert await stage.move("proof-only", "proof-only", "p2") == 200
        assert the_state(stage) == ("proof-only", "p2", None)
        assert await stage.move("proof-only", "open") == 200
        assert the_state(stage) == ("open", None, None)

    play(story)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"expected": "open"}, 400),
        ({"next": "open"}, 400),
        ({"expected": "open", "next": 5}, 400),
        ({"expected": "open", "next": "ajar"}, 400),
        ({"expected": "ajar", "next": "open"}, 400),
        ({"expected": "open", "next": "proof-only"}, 400),
        ({"expected": "open", "next": "proof-only", "proofKey": "a/b"}, 400),
        ({"expected": "open", "next": "proof-only", "proofKey": 5}, 400),
        ({"expected": "open", "next": "draining", "proofKey": "p"}, 400),
        (["expected", "next"], 400),
        ("open", 400),
        (None, 400),
        ({"expected": "open", "next": "draining", "x": "x" * 4096}, 413),
    ],
)
def test_a_body_that_makes_no_sense_moves_nothing(body: Any, status: int) -> None:
    """Too large is 413, anything else 400."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        assert (await stage.send("POST", FENCE, body, who=ADMIN)).status == status
        assert the_state(stage) == ("open", None, None)

    play(story)


@pytest.mark.parametrize(
    "secret",
    [None, "", "short", "x" * 31, "x" * 257, "a space in it " * 4, "ü" * 40, IDENTITY],
)
def test_whoever_has_no_secret_configured_is_closed(secret: str | None) -> None:
    """503 for everybody, also for who sends that very secret, or nothing; never open."""

    async def story(world: World) -> None:
        stage = await wired(world, secret).open()
        for sent in ("", secret or "", ADMIN):
            for method, path in (("GET", FENCE), ("POST", FENCE), ("GET", INVENTORY)):
                headers = {"authorization": f"Bearer {sent}"}
                answer = told(await stage.send(method, path, {}, **headers))
                assert answer == (503, {"error": "execution fence administration unavailable"})
        assert the_state(stage)[0] == "open"

    play(story)


@pytest.mark.parametrize("secret", ["x" * 32, "x" * 256, "!~" * 16])
def test_a_secret_of_printable_ascii_is_one(secret: str) -> None:
    """From 32 to 256 characters."""

    async def story(world: World) -> None:
        stage = await wired(world, secret).open()
        assert (await stage.send("GET", FENCE, authorization=f"Bearer {secret}")).status == 200

    play(story)


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", ADMIN, f"Basic {ADMIN}", f"Bearer {ADMIN}x", f"Bearer {ADMIN[:-1]}",
     "Bearer " + "x" * 257, "Bearer ü"],
)  # fmt: skip
def test_a_wrong_credential_is_told_nothing(header: str) -> None:
    """401 for every body and method that there is."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        body = {"expected": "open", "next": "draining"}
        for method, path in (("GET", FENCE), ("POST", FENCE), ("GET", INVENTORY)):
            answer = told(await stage.send(method, path, body, authorization=header))
            assert answer == (401, {"error": "authentication required"})
        assert the_state(stage)[0] == "open"

    play(story)


def test_a_method_that_is_not_there_is_said_before_the_credential() -> None:
    """405; a path that is not there is the tenants' business."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        for method, path in (("DELETE", FENCE), ("PUT", FENCE), ("POST", INVENTORY)):
            assert (await stage.send(method, path, authorization="")).status == 405
        assert (await stage.send("GET", "/admin", authorization="")).status == 401

    play(story)


def test_a_deployment_that_is_not_provisioned_answers_503_before_the_route() -> None:
    """Nobody reaches the fence of a database that is not the deployment's."""

    async def story(world: World) -> None:
        stage = Stage(world, "objects", "router")
        status, answer = told(await stage.send("GET", FENCE, who=ADMIN))
        assert (status, answer["error"]) == (503, "the deployment is not provisioned")

    play(story)


def test_a_fence_that_cannot_be_read_is_503_with_its_reason() -> None:
    """And one that cannot be written, too."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        status, answer = told(await stage.send("GET", FENCE, who=ADMIN))
        assert (status, answer["reason"]["code"]) == (503, "EXECUTION_FENCE_UNREADABLE")

    deviation = ("query 1 of SELECT flowsafe_execution_fence by RunRouter", "locked")
    faults = FailQuery("flowsafe_execution_fence", at_most=1)
    report = play(story, faults, deviations=[deviation])
    assert report.unused == ()


def test_an_error_that_nobody_expects_is_500_with_a_fixed_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it says goes to the log alone."""

    def broken(inventory: object) -> Any:
        raise KeyError(f"a secret thing of {inventory}")

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        monkeypatch.setattr("durasim.actors.runs.inventory.Inventory.sweep", broken)
        answer = told(await stage.send("GET", INVENTORY, who=ADMIN))
        assert answer == (500, {"error": "the request failed"})
        (line,) = [fields for kind, fields in stage.log.lines if kind == "admin-route-failed"]
        assert "a secret thing" in line["error"]

    play(story)


def test_a_deployment_without_a_fence_says_open_and_moves_nothing() -> None:
    """Opting out is written down, and is shown as what it means."""

    async def story(world: World) -> None:
        stage = await Stage(world, "process", "router", fence="none").open()
        assert told(await stage.send("GET", FENCE, who=ADMIN)) == (200, {"state": "open"})
        assert await stage.move("open", "draining") == 400

    play(story)


@pytest.mark.parametrize("state", [*FenceState])
def test_administration_is_open_in_every_state(state: FenceState) -> None:
    """Reading, moving and taking inventory; a tenant's request is not."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()
        stage.put_fence(state)
        assert (await stage.send("GET", FENCE, who=ADMIN)).status == 200
        status, sweep = told(await stage.send("GET", INVENTORY, who=ADMIN))
        assert (status, sweep["state"], sweep["empty"]) == (200, str(state), True)
        assert await stage.move(state, "open") == 200

    play(story)


def test_a_claim_that_was_refused_is_found_in_the_inventory() -> None:
    """By key and run id (8.6)."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open("migration-locked")
        assert (await stage.start("k1"))[0] == 503
        row = stage.row("k1")
        assert row is not None
        _, sweep = told(await stage.send("GET", INVENTORY, who=ADMIN))
        (item,) = sweep["categories"]["start-reservations"]["items"]
        assert (item["key"], item["run_id"], item["state"]) == ("k1", row["run_id"], "reserved")

    play(story)
