"""What a deployment consists of, and what the code of one actor makes of it.

`RunsDeployment` is what the host gives to its actors as `env["runs"]`; `Services` is made by each
of them over its own ports.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Literal, cast

import attrs

from ..context import Context
from ..storage import microseconds
from .callers import Caller
from .engine import Effects, Engine, NoEffects, Workflow
from .fence import ExecutionFence, FenceState, FenceWiring
from .giveback import Design, GiveBack, give_back_of
from .identity import DeploymentIdentity
from .notifications import Notification, NotificationDispatch, Notifications
from .poll import Provider as ItemSource, ProviderPoll
from .reservations import Log, StartReservations
from .retention import RUN_RETENTION_DAYS, Retention
from .runtime import Provider, RunnerRuntime
from .snapshots import Snapshots
from .tasks import BackgroundTasks, Task
from .webhooks import Delivery

__all__ = [
    "RunsDeployment",
    "Secrets",
    "Services",
    "deployment_of",
    "provision",
]

BeforeStart = Callable[[Caller, Workflow, Any], Awaitable[None]]
"""The host's policy for a start; it raises what the caller is to see."""


@attrs.frozen(kw_only=True)
class Secrets:
    """What only the deployment knows.

    Attributes:
        identity: tells requests from inside from all others.
        maintenance_admin: the credential of operators; None if there is no administration.
    """

    identity: str = attrs.field(repr=False)
    maintenance_admin: str | None = attrs.field(default=None, repr=False)


def by_id(workflows: Iterable[Workflow] | Mapping[str, Workflow]) -> Mapping[str, Workflow]:
    """Return *workflows* by id."""
    if isinstance(workflows, Mapping):
        return cast(Mapping[str, Workflow], workflows)
    return {workflow.id: workflow for workflow in workflows}


OnDelivery = Callable[["Services", Delivery], Awaitable[None]]
"""What a deployment does with a webhook's delivery."""


async def undelivered(services: "Services", delivery: Delivery) -> None:
    """Refuse: the deployment does nothing with deliveries."""
    del services
    raise LookupError(f"nobody handles the deliveries of {delivery.provider}")


OnNotification = Callable[["Services", Notification], Awaitable[None]]
"""How a deployment sends a notification."""
OnTask = Callable[["Services", Task], Awaitable[Any]]
"""How a deployment does a background task of one kind."""
OnItem = Callable[["Services", str, Any], Awaitable[None]]
"""What a deployment does with an item of a provider."""


async def unsent(services: "Services", notification: Notification) -> None:
    """Refuse: the deployment sends no notifications."""
    del services
    raise LookupError(f"nobody sends notifications, nor this one to {notification.recipient}")


async def unhandled(services: "Services", provider: str, item: Any) -> None:
    """Refuse: the deployment does nothing with items."""
    del services, item
    raise LookupError(f"nobody handles the items of {provider}")


def quiet(kind: str, fields: dict[str, Any]) -> None:
    """Tell nobody."""
    del kind, fields


@attrs.frozen(kw_only=True)
class RunsDeployment:
    """One deployment.

    Attributes:
        workflows: what can be run; given as workflows, kept by id.
        agents: the workflows that agents run, one for each agent, by its id.
        secrets: of the deployment.
        fence, reservations: "database", or the written word that there is none.
        authenticate: from a bearer token to whoever it belongs to.
        design: who gives a claim back.
        topology: where runs live: each in an object, or all in the one process of the router.
        before_start: the host's policy, asked before a key is reserved.
        request_context: the host's policy, asked before a run is persisted.
        run_retention_days: RUN_RETENTION_DAYS, for runs that have ended.
        key_retention_days: START_IDEMPOTENCY_RETENTION_DAYS, for keys that are spent: as long as
            runs at least, and exactly so long for None.
        webhook_secrets: by provider; who is not in it delivers nothing.
        on_delivery: does what a webhook's delivery asks for; it may get one twice.
        send: sends a notification; it may get one twice.
        tasks: what does background tasks, by kind; it may get one twice.
        providers: asked by passes for what is new, by name.
        on_item: does what an item of a provider asks for; it may get one twice.
        log: told what went on beside an answer.
    """

    workflows: Mapping[str, Workflow] = attrs.field(converter=by_id)
    agents: Mapping[str, Workflow] = attrs.field(factory=dict[str, Workflow], converter=by_id)
    secrets: Secrets
    fence: Literal["database", "none"]
    reservations: Literal["database", "none"]
    authenticate: Callable[[str], Caller | None]
    design: Design = "router"
    topology: Literal["objects", "process"] = "objects"
    before_start: BeforeStart | None = None
    request_context: Provider | None = None
    run_retention_days: int = RUN_RETENTION_DAYS
    key_retention_days: int | None = None
    webhook_secrets: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    on_delivery: OnDelivery = attrs.field(default=undelivered)
    send: OnNotification = attrs.field(default=unsent)
    tasks: Mapping[str, OnTask] = attrs.field(factory=dict[str, OnTask])
    providers: Mapping[str, ItemSource] = attrs.field(factory=dict[str, ItemSource])
    on_item: OnItem = attrs.field(default=unhandled)
    log: Log = quiet


def deployment_of(context: Context) -> RunsDeployment:
    """Return the deployment that the host gives to its actors.

    Raises:
        LookupError: it gives none.
    """
    found = context.env.get("runs")
    if not isinstance(found, RunsDeployment):
        raise LookupError("the host gives no RunsDeployment as env['runs']")
    return found


class Services:
    """What one actor uses of its deployment: everything over the ports of this actor."""

    def __init__(self, context: Context) -> None:
        """Serve the actor whose code is *context*."""
        self.context = context
        self.deployment = deployment_of(context)
        self.log: Log = self.deployment.log
        self.identity = DeploymentIdentity(context.database, self.deployment.secrets.identity)

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970."""
        return microseconds(self.context.now()) // 1000

    def mint(self) -> str:
        """Return a new id."""
        return self.context.token_bytes(16).hex()

    @cached_property
    def fence(self) -> FenceWiring:
        """The fence, or "none"."""
        if self.deployment.fence == "none":
            return "none"
        return ExecutionFence(self.context.database, self.now_ms)

    @cached_property
    def store(self) -> StartReservations:
        """The rows of reservations, whether keys are taken here or not."""
        return StartReservations(self.context.database, self.now_ms)

    @property
    def reservations(self) -> StartReservations | Literal["none"]:
        """The reservations, or "none"."""
        return "none" if self.deployment.reservations == "none" else self.store

    @cached_property
    def give_back(self) -> GiveBack:
        """The wired design."""
        return give_back_of(self.deployment.design, self.store, self.log)

    @cached_property
    def snapshots(self) -> Snapshots:
        """The snapshots of runs."""
        return Snapshots(self.context.database)

    def retention(self) -> Retention:
        """Return what purges the deployment of what is old."""
        return Retention(
            self.context.database,
            self.now_ms,
            self.log,
            run_days=self.deployment.run_retention_days,
            key_days=self.deployment.key_retention_days,
        )

    @cached_property
    def notifications(self) -> Notifications:
        """The notifications: whoever has something to say adds one."""
        return Notifications(self.context.database, self.now_ms)

    def notification_dispatch(self) -> NotificationDispatch:
        """Return what sends the notifications that are due."""
        send = partial(self.deployment.send, self)
        return NotificationDispatch(self.notifications, send, self.fence, self.now_ms, self.log)

    @cached_property
    def tasks(self) -> BackgroundTasks:
        """The background tasks: whoever leaves something for later queues one."""
        bodies = {kind: partial(body, self) for kind, body in self.deployment.tasks.items()}
        return BackgroundTasks(self.context.database, self.fence, bodies, self.now_ms, self.log)

    def provider_poll(self) -> ProviderPoll:
        """Return what asks the providers for what is new."""
        return ProviderPoll(
            self.context.database,
            self.fence,
            self.deployment.providers,
            partial(self.deployment.on_item, self),
            self.now_ms,
            self.log,
        )

    def runtime(self, workflows: Mapping[str, Workflow]) -> RunnerRuntime:
        """Return a new runtime for *workflows*, which lives in this actor."""
        context = self.context

        async def sleep(seconds: float) -> None:
            await context.sleep(seconds)

        engine = Engine(
            snapshots=self.snapshots,
            effects=cast(Effects, context.env.get("ledger", NoEffects())),
            sleep=sleep,
            now_ms=self.now_ms,
        )
        return RunnerRuntime(
            workflows=workflows,
            engine=engine,
            fence=self.fence,
            reservations=self.reservations,
            give_back=self.give_back,
            log=self.log,
            request_context=self.deployment.request_context,
        )


async def provision(context: Context, state: FenceState | str) -> None:
    """Make the database this deployment's, and seed its fence.

    Args:
        context: of whoever provisions.
        state: how the deployment is born; one that is there keeps its own.

    Raises:
        DoStatusError, RunError: it could not be done, or nobody can tell; doing it again is right.
    """
    services = Services(context)
    await services.identity.provision()
    if services.fence != "none":
        await services.fence.seed(state)
