"""Member rows: listed once, pending until they can be used, read from any level."""

from typing import Any

import pytest

from durasim.actors.fleet.membership import MemberRow

from .registry_stage import PREFLIGHT, RECOVERY, START_MS, Stage, staged

ROW = {
    "resource": "repo:a", "physicalMember": "m", "activation": "active", "onboardedAt": 1,
    "config": {"size": 2},
}  # fmt: skip


def test_a_row_reads_as_what_was_written() -> None:
    """An older one has no config."""
    found = MemberRow.parse(ROW)
    assert found is not None
    assert found.wire() == ROW
    older = MemberRow.parse({key: ROW[key] for key in ROW if key != "config"})
    assert older is not None
    assert older.config == {}


@pytest.mark.parametrize(
    "changed",
    [{"resource": None}, {"physicalMember": 1}, {"activation": "gone"}, {"onboardedAt": "soon"}],
)
def test_what_has_not_the_form_is_no_member(changed: dict[str, Any]) -> None:
    """It stays in the list all the same: a gate has to see it."""
    assert MemberRow.parse({**ROW, **changed}) is None
    assert MemberRow.parse("m") is None


def test_a_member_is_listed_once_and_pending_until_it_can_be_used() -> None:
    """By resource and by physical name."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        row = await registry.add_member("repo:a", "m-1", {"size": 2})
        assert (row["activation"], row["onboardedAt"]) == ("pending", START_MS)
        for asked in (("repo:a", "m-2"), ("repo:b", "m-1"), ("", "m-3"), ("repo:c", "")):
            assert await stage.code(registry.add_member(*asked)) == "BAD_REQUEST"
        active = await registry.activate_member("repo:a")
        assert active == {**row, "activation": "active"}
        assert await registry.list_members() == [active]
        other = await registry.add_member("repo:b", "m-2")
        assert await registry.list_members() == [active, other]
        assert await stage.code(registry.add_member("repo:c", "m-2")) == "BAD_REQUEST"
        assert await registry.remove_member("repo:b") == other
        assert await stage.code(registry.activate_member("repo:b")) == "NOT_FOUND"
        assert await stage.code(registry.remove_member("repo:b")) == "NOT_FOUND"
        assert await registry.remove_member("repo:a") == active
        assert await registry.list_members() == []

    staged(story)


def test_the_list_stays_as_it_is_under_a_fence() -> None:
    """Of whatever owner: who set it may have read the list. An activation changes no list."""

    async def story(stage: Stage) -> None:
        registry = stage.registry
        await registry.add_member("repo:a", "m-1")
        for owner in (PREFLIGHT, RECOVERY):
            fence = await stage.fence(owner)
            assert await stage.code(registry.add_member("repo:b", "m-2")) == "FENCED"
            assert await stage.code(registry.remove_member("repo:a")) == "FENCED"
            assert (await registry.activate_member("repo:a"))["activation"] == "active"
            await registry.withdraw_fence(fence)
        await registry.add_member("repo:b", "m-2")
        assert len(await registry.list_members()) == 2

    staged(story)
