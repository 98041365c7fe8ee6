"""Webhooks: signature, fence, parsing, in this order; no delivery is lost."""

import json
from typing import Any

import pytest

from durasim.actors import WebRequest, WebResponse
from durasim.actors.runs import RunRouter, RunsDeployment, Secrets, Services
from durasim.actors.runs.fence import ExecutionFence, FenceState
from durasim.actors.runs.webhooks import Delivery, WebhookIngress, signature_of
from durasim.sim import World

from .local import LOCKED, Clock, LocalDatabase, Log, always_locked, move, never
from .stage import ADMIN, CALLERS, IDENTITY, WORKFLOWS, Stage, play, told

SECRET = "the provider's own secret"


class Handler:
    """Handles deliveries, or fails as told."""

    def __init__(self) -> None:
        self.handled: list[Delivery] = []
        self.error: Exception | None = None

    async def __call__(self, delivery: Delivery) -> None:
        """Handle one."""
        if self.error is not None:
            raise self.error
        self.handled.append(delivery)


@pytest.fixture
def handler() -> Handler:
    """Return a handler that works."""
    return Handler()


@pytest.fixture
def ingress(
    database: LocalDatabase, fence: ExecutionFence, handler: Handler, clock: Clock, log: Log
) -> WebhookIngress:
    """Return the ingress of a deployment with one provider."""
    return WebhookIngress(database, fence, {"shop": SECRET, "mute": ""}, handler, clock, log)


def delivery(
    body: bytes = b'{"n":1}',
    name: str | None = "d1",
    provider: str = "shop",
    signature: str | None = None,
    method: str = "POST",
) -> WebRequest:
    """Return a delivery as a provider sends it."""
    headers = {"x-flowsafe-signature": signature or signature_of(SECRET, body)}
    if name is not None:
        headers["x-flowsafe-delivery"] = name
    return WebRequest(method, f"/webhooks/{provider}", body, headers)


async def send(ingress: WebhookIngress, request: WebRequest) -> tuple[int, Any]:
    """Send a delivery; returns status and body of the answer."""
    response = await ingress.serve(request)
    assert isinstance(response, WebResponse)
    assert response.headers["cache-control"] == "no-store"
    return response.status, json.loads(response.body)


async def test_a_delivery_is_handled_once(
    ingress: WebhookIngress, handler: Handler, log: Log
) -> None:
    """The provider may send it again; each is audited with its outcome."""
    assert await send(ingress, delivery()) == (200, {"outcome": "handled"})
    assert await send(ingress, delivery()) == (200, {"outcome": "known"})
    assert await send(ingress, delivery(name="d2")) == (200, {"outcome": "handled"})

    assert [each.id for each in handler.handled] == ["d1", "d2"]
    assert handler.handled[0].body == {"n": 1}
    assert [fields["outcome"] for _, fields in log.lines] == ["handled", "known", "handled"]


@pytest.mark.parametrize(
    "request_",
    [
        delivery(signature="sha256=00"),
        delivery(signature=signature_of("another secret", b'{"n":1}')),
        delivery(signature=signature_of(SECRET, b'{"n":2}')),
        delivery(provider="stranger"),
        delivery(provider="stranger", signature=signature_of("", b'{"n":1}')),
        delivery(provider="mute", signature=signature_of("", b'{"n":1}')),
        delivery(signature="ü"),
    ],
)
async def test_a_delivery_that_is_not_signed_reaches_nothing(
    ingress: WebhookIngress,
    handler: Handler,
    fence: ExecutionFence,
    database: LocalDatabase,
    request_: WebRequest,
) -> None:
    """Not even the fence is read; the answer is the same in every state. Audited all the same."""
    await move(fence, FenceState.LOCKED)
    database.asked.clear()

    assert (await send(ingress, request_))[0] == 401
    assert database.asked == []
    assert handler.handled == []


async def test_a_shut_fence_parses_nothing(
    ingress: WebhookIngress, fence: ExecutionFence, database: LocalDatabase, log: Log
) -> None:
    """503 with the label of deliveries, also for what is no JSON; audited, nothing stored."""
    await move(fence, FenceState.LOCKED)
    before = database.dump()

    for request in (delivery(), delivery(b"no json"), delivery(name=None)):
        status, answer = await send(ingress, request)
        assert (status, answer["reason"]["code"]) == (503, "EXECUTION_FENCED")
        assert "webhook delivery is refused" in answer["error"]
    assert database.dump() == before
    assert [fields["outcome"].partition(":")[0] for _, fields in log.lines] == ["refused"] * 3


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (delivery(b"no json"), 400),
        (delivery(b"[1]"), 400),
        (delivery(name=None), 400),
        (delivery(name="a/b"), 400),
        (delivery(b"x" * (1 << 20) + b"y"), 413),
        (delivery(method="GET"), 405),
    ],
)
async def test_a_delivery_that_makes_no_sense_is_refused(
    ingress: WebhookIngress, handler: Handler, request_: WebRequest, status: int
) -> None:
    """Nothing is stored."""
    assert (await send(ingress, request_))[0] == status
    assert handler.handled == []


async def test_what_was_received_and_not_handled_is_handled_when_it_comes_again(
    ingress: WebhookIngress, handler: Handler, database: LocalDatabase
) -> None:
    """Until then it is outstanding work."""
    handler.error = ValueError("not now")
    assert (await send(ingress, delivery()))[0] == 500
    states = "SELECT state FROM flowsafe_webhook_deliveries"
    assert database.look(states) == [("received",)]

    handler.error = None
    assert await send(ingress, delivery()) == (200, {"outcome": "handled"})
    assert database.look(states) == [("handled",)]


async def test_what_cannot_be_stored_is_503(
    ingress: WebhookIngress, handler: Handler, database: LocalDatabase
) -> None:
    """The provider sends it again; a fence that cannot be read is 503 as well."""
    database.failing = lambda label: LOCKED if "webhook" in label else None
    status, answer = await send(ingress, delivery())
    assert (status, answer["reason"]["code"]) == (503, "STORAGE_UNREADABLE")
    database.failing = always_locked
    status, answer = await send(ingress, delivery())
    assert (status, answer["reason"]["code"]) == (503, "EXECUTION_FENCE_UNREADABLE")
    database.failing = never
    assert handler.handled == []


async def test_other_paths_are_not_its_own(ingress: WebhookIngress) -> None:
    """Somebody else answers them."""
    assert await ingress.serve(WebRequest("POST", "/webhooks")) is None


def test_a_deployment_serves_its_webhooks_without_a_caller() -> None:
    """Ahead of what takes a credential; what it does with them is wired."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router").open()

        async def handle(services: Services, delivered: Delivery) -> None:
            world.ledger.note("delivered", (delivered.provider, delivered.id))
            assert services.fence != "none"

        world.env["runs"] = RunsDeployment(
            workflows=WORKFLOWS,
            secrets=Secrets(identity=IDENTITY, maintenance_admin=ADMIN),
            fence="database",
            reservations="database",
            authenticate=CALLERS.get,
            webhook_secrets={"shop": SECRET},
            on_delivery=handle,
        )
        router = world.client("shop").worker(RunRouter)
        assert told(await router.fetch(delivery())) == (200, {"outcome": "handled"})
        assert world.ledger.count("delivered", ("shop", "d1")) == 1
        assert (await router.fetch(delivery(signature="sha256=00"))).status == 401
        assert stage.log.lines == []

    play(story)


def test_a_deployment_that_does_nothing_with_deliveries_says_so() -> None:
    """500, and the delivery stays outstanding."""

    async def story(world: World) -> None:
        stage = await Stage(world, "objects", "router", webhook_secrets={"shop": SECRET}).open()
        router = world.client("shop").worker(RunRouter)
        assert (await router.fetch(delivery())).status == 500
        assert stage.query("SELECT state FROM flowsafe_webhook_deliveries") == [
            {"state": "received"}
        ]

    play(story)
