"""Keys that are somebody else's, or start something else: nobody learns more than is theirs."""

from ..scenario import scenario
from ..world import World
from .bystanders import rewire, row_of
from .deployment import DESIGNS, Answer, Design, Stage, Topology, set_stage
from .properties import STRICTLY
from .setting import EACH

__all__ = ["STORIES", "derived_key", "other_payload", "strangers_key", "unsupported"]

OWNER = "IDEMPOTENT_START_OWNER_MISMATCH"
TARGET = "IDEMPOTENT_START_TARGET_MISMATCH"


def is_nobodys_business(answer: Answer) -> bool:
    """Whether *answer* says that a key is another's, and nothing else."""
    return answer.status == 403 and answer.body.get("reason") == {"code": OWNER}


@scenario(properties=STRICTLY, parameters={**EACH, "state": ("open", "draining")})
async def strangers_key(
    world: World, topology: Topology = "objects", design: Design = "router", state: str = "open"
) -> None:
    """Somebody else uses a key: told that it is not theirs, never what it starts (10).

    Its owner who starts something else by it is told what it starts.
    """
    stage = await set_stage(world, topology, design)
    if state != "open":
        await stage.surely_move("open", state)
    await stage.start("key-1")
    before = row_of(world, "key-1")
    for workflow in ("order", "quick"):
        answer = await stage.start("key-1", who="bob", workflow=workflow)
        assert is_nobodys_business(answer), f"bob was told {answer.status} {answer.body}"
    mine = await stage.start("key-1", workflow="quick")
    kind = "agent" if topology == "agents" else "workflow"
    reason = {"code": TARGET, "targetKind": kind, "targetId": "order"}
    assert (mine.status, mine.body.get("reason")) == (409, reason)
    assert row_of(world, "key-1") == before, "a mismatch has changed the row"


@scenario(
    properties=STRICTLY,
    parameters={
        "topology": ("process", "objects"),
        "design": DESIGNS,
        "is_agent_first": (False, True),
    },
)
async def derived_key(
    world: World,
    topology: Topology = "objects",
    design: Design = "router",
    is_agent_first: bool = False,
) -> None:
    """A human at the router and an agent's caller derive one key: the later one is refused (11)."""
    human = await set_stage(world, topology, design)
    agent = Stage(world, "agents", design)
    asked = [(human, "ann"), (agent, "the-agent")]
    (first, one), (second, other) = reversed(asked) if is_agent_first else asked
    started = await first.start("derived", who=one)
    assert started.status == 200
    answer = await second.start("derived", who=other)
    assert is_nobodys_business(answer), f"{other} was told {answer.status} {answer.body}"
    again = await first.start("derived", who=one)
    assert (again.status, again.run_id) == (200, started.run_id)


@scenario(properties=STRICTLY, parameters=EACH)
async def other_payload(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """Somebody asks again with another payload: a key names one request (2.6)."""
    stage = await set_stage(world, topology, design)
    first = await stage.start("key-1", payload="one")
    again = await stage.start("key-1", payload="another")
    assert (first.status, again.status) == (200, 200)
    assert again.body == first.body, "another payload has changed what is shown"


@scenario(properties=STRICTLY, parameters=EACH)
async def unsupported(
    world: World, topology: Topology = "objects", design: Design = "router"
) -> None:
    """A host without reservations is sent a key: it says so, and starts nothing (2.6)."""
    stage = await set_stage(world, topology, design)
    rewire(stage, reservations="none")
    answer = await stage.start("key-1")
    assert (answer.status, answer.code) == (503, "IDEMPOTENT_START_UNSUPPORTED")
    assert not world.ledger.count("began")
    assert row_of(world, "key-1") is None


STORIES = (derived_key, other_payload, strangers_key, unsupported)
"""Keys between strangers, and what a key does not say."""
