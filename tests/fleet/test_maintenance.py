"""The maintenance hold as admission reads it."""

from durasim.actors.fleet.maintenance import held_records, is_closed

from .registry_stage import HASH, ID, OLD, Stage, staged


def test_a_held_record_closes_to_everything_but_its_own_reconcile() -> None:
    """Of several, each has to select the source."""
    held = held_records([{"state": "held", "source": "c"}, {"state": "released"}, None])
    assert held == [{"state": "held", "source": "c"}]
    assert is_closed(held, "exec", "c")
    assert is_closed(held, None, "c")
    assert is_closed(held, "reconcile", "d")
    assert not is_closed(held, "reconcile", "c")
    assert is_closed([*held, {"state": "held", "source": "d"}], "reconcile", "c")
    assert not is_closed([], "exec", "c")


def test_a_held_maintenance_closes_admission_but_to_its_own_reconcile() -> None:
    """Of whatever generation it is; a released one does nothing (L, 3)."""

    async def story(stage: Stage) -> None:
        stage.store(
            {
                "deploy:maintenance:1": {"state": "released", "source": "d" * 40},
                "deploy:maintenance:2": {"state": "held", "source": OLD["commit"]},
            }
        )
        registry = stage.registry
        held = registry.begin_keyed(ID, HASH, "exec", OLD)
        assert await stage.code(held) == "MAINTENANCE_HELD"
        assert await stage.code(registry.begin_deploy_admission()) == "MAINTENANCE_HELD"
        other = registry.begin_keyed(ID, HASH, "reconcile", {**OLD, "commit": "d" * 40})
        assert await stage.code(other) == "MAINTENANCE_HELD"
        assert (await registry.begin_keyed(ID, HASH, "reconcile", OLD))["granted"]
        await registry.drain(60)
        assert (await registry.undrain(OLD))["maintenance"] == "held"

    staged(story)
