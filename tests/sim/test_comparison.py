"""A comparison: what it says, and of what it is made."""

from durasim.sim import Comparison, World, always, scenario


@always
def all_is_well(world: World) -> None:
    """Nothing is wrong."""
    del world


@scenario(parameters={"design": ("right",)})
async def story(world: World, design: str = "right") -> None:
    """Nothing happens."""
    del world, design


def test_properties_are_expected_by_name_or_themselves() -> None:
    """As those of mutants are."""
    compared = Comparison(story, "design", ["wrong"], ["right"], [all_is_well, "scenario"])

    assert compared.expected == ("all_is_well", "scenario")
    assert (compared.fails, compared.holds) == (("wrong",), ("right",))
