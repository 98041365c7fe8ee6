"""Routes of bots and of onboarding: handed on as they are."""

from durasim.sim import World

from .told import told
from .whole import MEMBER, WORK, attach, code_of, end_run, granted, whole_fleet


def test_a_bot_works_in_its_workspace_from_attach_to_detach() -> None:
    """Each step is under a permit of its own, and none is left behind."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        assert (await attach(fleet))["attached"]
        body = {"resource": MEMBER, **WORK}
        for path, more in (("/exec", {"work": "write"}), ("/op", {"work": "save"})):
            said = granted(await fleet.ask("bot", "POST", path, {**body, **more}, scope="operator"))
            assert said["outcome"] == "completed"
        later = {**body, "deadlineAt": 5}
        said = granted(await fleet.ask("bot", "POST", "/deadline", later, scope="operator"))
        assert said["deadlineAt"] == 5
        await end_run(fleet)
        assert granted(await fleet.ask("bot", "POST", "/detach", body, scope="operator"))[
            "released"
        ]
        assert not fleet.log.permits

    assert told(story).ok


def test_what_a_request_lacks_is_a_bad_request() -> None:
    """The member is not asked."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        body = {"resource": MEMBER, "user": "ann", **WORK}
        for name in ("resource", "thread", "runId", "ownerGen", "ownerFence", "origin", "user"):
            lacking = {key: value for key, value in body.items() if key != name}
            outcome = await fleet.ask("bot", "POST", "/attach", lacking, scope="operator")
            assert code_of(outcome) == "BAD_REQUEST"
        assert not fleet.machines["members-1"].host.incarnations

    assert told(story).ok


def test_what_a_member_refuses_is_refused() -> None:
    """By its code."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world)
        body = {"resource": MEMBER, "work": "write", **WORK}
        outcome = await fleet.ask("bot", "POST", "/exec", body, scope="operator")
        assert code_of(outcome) == "NOT_FOUND"

    assert told(story).ok


def test_a_member_is_added_once_it_is_whole_and_taken_off() -> None:
    """Both under a permit."""

    async def story(world: World) -> None:
        fleet = whole_fleet(world, resources=("repo:o/a",))
        fleet.ground.containers["member-9"] = fleet.ground.containers["member-1"]
        body = {"resource": "repo:o/z", "physicalMember": "member-9", "origin": {"request": "1"}}
        granted(await fleet.ask("adm", "POST", "/onboard", body, scope="admin"))
        assert fleet.log.rows("resident:")["repo:o/z"]["activation"] == "active"
        said = granted(await fleet.ask("adm", "POST", "/offboard", body, scope="admin"))
        assert said["member"]["physicalMember"] == "member-9"
        assert "repo:o/z" not in fleet.log.rows("resident:")
        again = await fleet.ask("adm", "POST", "/offboard", body, scope="admin")
        assert code_of(again) == "NOT_FOUND"
        assert not fleet.log.permits

    assert told(story).ok
