"""The gate sites of spec/run-claims.md 1.10: how each is driven, and what a refusal is there."""

from collections.abc import Awaitable, Callable
from typing import Any

from durasim.actors import WebRequest
from durasim.actors.runs import RunObject, RunRouter, Services, ThreadObject
from durasim.actors.runs.errors import ExecutionFencedError
from durasim.actors.runs.fires import ScheduledRuns
from durasim.actors.runs.notifications import Notification, NotificationDispatch, Notifications
from durasim.actors.runs.poll import Page, ProviderPoll
from durasim.actors.runs.runtime import RunOrder
from durasim.actors.runs.schedules import Schedules
from durasim.actors.runs.tasks import BackgroundTasks, Task, admit_body
from durasim.actors.runs.tick import ScheduleTick
from durasim.actors.runs.topology import ObjectBacked
from durasim.actors.runs.webhooks import signature_of
from durasim.sim import Row, World
from durasim.wire import RunRouteError

from .agents import AgentStage
from .stage import ANN, told

KEY = "proof-key"
SECRET = "the provider's own secret"


class Site:
    """One place under test.

    Attributes:
        before: everything stored when the fence had been put into its state.
        written: commits of objects, and queries that changed something, since then.
    """

    def __init__(self, world: World, case: str) -> None:
        self.world = world
        self.case = case
        self.stage = AgentStage(world, webhook_secrets={"shop": SECRET}, on_delivery=self.handle)
        self.before: Any = None
        self.written: list[Row] = []
        world.trace.watchers.setdefault("commit", []).append(self.written.append)
        world.trace.watchers.setdefault("queried", []).append(self.queried)

    def queried(self, row: Row) -> None:
        """Note a query that changed something."""
        _, changes, _ = row.detail
        if changes:
            self.written.append(row)

    async def handle(self, services: Services, delivery: object) -> None:
        """Do something outside for a delivery, a task, a message or an item."""
        del services, delivery
        self.world.ledger.note("done")

    def put(self, run_id: str = "run-1") -> None:
        """Put the fence into the state of the case; nominated are `KEY` and *run_id*."""
        nomination = {"nominated": (KEY, run_id), "not nominated": ("another", "another")}
        key, run = nomination.get(self.case, (None, None))
        state = "proof-only" if key else self.case
        words = [f"'{word}'" if word else "NULL" for word in (state, key, run)]
        self.world.database.prepare(
            "UPDATE flowsafe_execution_fence SET state = {}, proof_key = {}, "
            "proof_run_id = {}".format(*words)
        )
        self.mark()

    def mark(self) -> None:
        """From here on nothing may be written, not even for a while."""
        self.before = self.dump()
        self.written.clear()

    def put_unbound(self) -> None:
        """As `put`, before any run has taken the slot."""
        self.put()
        self.world.database.prepare("UPDATE flowsafe_execution_fence SET proof_run_id = NULL")
        self.mark()

    def dump(self) -> Any:
        """Return everything that is stored: in the shared database and in objects."""
        names = self.stage.query("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {
            each["name"]: self.stage.query(f"SELECT * FROM {each['name']}")
            for each in sorted(names, key=str)
        }
        objects = {
            (cls.stored_name, name): self.world.stored(cls, name)
            for cls in (RunObject, ThreadObject)
            for name in ("order:run-1", "ask:run-1", "t1")
        }
        return tables, objects, len(self.world.ledger.entries)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written since the fence was put, not even to be undone."""
        return not self.written and bool(self.dump() == self.before)

    async def refused_by(self, work: Callable[[Services], Awaitable[Any]]) -> Exception | None:
        """Return what *work* raised."""

        async def tried(services: Services) -> Exception | None:
            try:
                await work(services)
            except Exception as error:
                return error
            return None

        found = await self.stage.work(tried)
        assert found is None or isinstance(found, Exception)
        return found

    async def parked(self) -> str:
        """Have a run wait for an answer; returns its approval."""
        order = RunOrder(workflow_id="ask", run_id="run-1", owner=ANN.owner)

        async def start(services: Services) -> Any:
            return await ObjectBacked(services).start(order)

        assert (await self.stage.work(start))["status"] == "suspended"
        return "ask:run-1"


def by_status(error: Exception | None) -> bool:
    """Whether nothing was refused; a refusal has to be one."""
    if error is None:
        return True
    assert isinstance(error, ExecutionFencedError | RunRouteError)
    assert error.status == 503
    assert error.reason is not None
    assert error.reason["code"] == "EXECUTION_FENCED"
    return False


async def runtime_start(site: Site) -> bool:
    """`RunnerRuntime.start`."""
    site.put_unbound()
    order = RunOrder(workflow_id="order", run_id="run-1", owner=ANN.owner, key=KEY)

    async def start(services: Services) -> Any:
        return await services.runtime(services.deployment.workflows).start(order, "token")

    return by_status(await site.refused_by(start))


async def runtime_resume(site: Site) -> bool:
    """`RunnerRuntime.resume`."""
    await site.parked()
    site.put()

    async def resume(services: Services) -> Any:
        return await services.runtime(services.deployment.workflows).resume("ask", "run-1", 1)

    return by_status(await site.refused_by(resume))


async def object_start(site: Site) -> bool:
    """`POST /runs` of the run object."""
    site.put_unbound()
    order = RunOrder(workflow_id="order", run_id="run-1", owner=ANN.owner, key=KEY)
    return by_status(await site.refused_by(lambda services: ObjectBacked(services).start(order)))


async def object_resume(site: Site) -> bool:
    """`POST …/resume` of the run object."""
    await site.parked()
    site.put()
    return by_status(
        await site.refused_by(
            lambda services: ObjectBacked(services).resume("ask", "run-1", 1, ANN.owner)
        )
    )


async def approval_decide(site: Site) -> bool:
    """`ApprovalService.decide`."""
    _, started = await site.stage.start("k1", "ask")
    site.put(started["runId"])
    path = f"/approvals/{started['approvals'][0]['id']}/decision"
    return answered(told(await site.stage.send("POST", path, {"decision": "approved"})))


def answered(answer: tuple[int, Any]) -> bool:
    """Whether an answer over HTTP refuses nothing."""
    status, body = answer
    if status != 503:
        assert status in (200, 202), body
        return True
    assert body["reason"]["code"] == "EXECUTION_FENCED"
    return False


async def thread(site: Site) -> None:
    """Have the run of a thread wait, and put the fence."""
    _, summary = await site.stage.ask(agent="chatter", thread="t1")
    site.put(summary["runId"])


async def thread_signal(site: Site) -> bool:
    """A signal route of the thread object."""
    await thread(site)
    status, answer = await site.stage.signal("t1", "message")
    return status == 202 or by_status(answer)


async def thread_wake(site: Site) -> bool:
    """The wake lane of the thread object."""
    await thread(site)
    status, answer = await site.stage.signal("t1", "wake")
    return status == 202 or by_status(answer)


async def schedule_authoring(site: Site) -> bool:
    """Making a schedule."""
    site.put()
    body = {"workflowId": "order", "everyMs": 60_000}
    return answered(told(await site.stage.send("POST", "/schedules", body)))


async def schedule_tick(site: Site) -> bool:
    """A pass of the tick."""
    site.put()

    async def owe(services: Services) -> None:
        schedules = Schedules(services.context.database, services.now_ms)
        await schedules.create("s", ANN.owner, "order", None, 60_000, 1)

    await site.stage.work(owe)
    site.mark()

    async def tick(services: Services) -> Any:
        return await ScheduleTick(
            Schedules(services.context.database, services.now_ms),
            ScheduledRuns(ObjectBacked(services)),
            services.fence,
            services.mint,
            services.log,
        ).tick()

    return bool((await site.stage.work(tick)).claimed)


async def objective_authoring(site: Site) -> bool:
    """Setting an objective; audited."""
    site.put()
    answer = told(await site.stage.send("PUT", "/threads/t1/objective", {"text": "a"}))
    assert site.stage.log.kinds.count("objective-set") == 1
    return answered(answer)


def the_tasks(site: Site, services: Services) -> BackgroundTasks:
    """Return the tasks of the deployment."""

    async def body(task: Task) -> None:
        await site.handle(services, task)

    return BackgroundTasks(
        services.context.database, services.fence, {"t": body}, services.now_ms, services.log
    )


async def task_enqueue(site: Site) -> bool:
    """Queueing a task."""
    site.put()
    return by_status(
        await site.refused_by(lambda services: the_tasks(site, services).enqueue("a", "t", 1))
    )


async def task_dispatch(site: Site) -> bool:
    """Dispatching a task that was queued before."""
    await site.stage.work(lambda services: the_tasks(site, services).enqueue("a", "t", 1))
    site.put()
    return by_status(await site.refused_by(lambda services: the_tasks(site, services).dispatch()))


async def task_body(site: Site) -> bool:
    """The body of a task, where nothing can be parked."""
    site.put()
    return by_status(await site.refused_by(lambda services: admit_body(services.fence)))


async def notification_dispatch(site: Site) -> bool:
    """A pass over what is due."""

    async def add(services: Services) -> None:
        notifications = Notifications(services.context.database, services.now_ms)
        await notifications.add("n", "ann", "hello", 1)

    await site.stage.work(add)
    site.put()

    async def tick(services: Services) -> Any:
        async def send(message: Notification) -> None:
            await site.handle(services, message)

        return await NotificationDispatch(
            Notifications(services.context.database, services.now_ms), send, services.fence,
            services.now_ms, services.log,
        ).tick()  # fmt: skip

    return bool((await site.stage.work(tick)).sent)


async def webhook_ingress(site: Site) -> bool:
    """A signed delivery."""
    site.put()
    headers = {"x-flowsafe-signature": signature_of(SECRET, b"{}"), "x-flowsafe-delivery": "d"}
    request = WebRequest("POST", "/webhooks/shop", b"{}", headers)
    answer = await site.world.client("shop").worker(RunRouter).fetch(request)
    assert site.stage.log.kinds.count("webhook-delivery") == 1
    return answered(told(answer))


class Feed:
    """A provider with one item."""

    async def poll(self, cursor: str | None) -> Page:
        """Return it."""
        return Page([1], cursor or "1")


async def provider_poll(site: Site) -> bool:
    """A pass over the providers."""
    site.put()

    async def poll(services: Services) -> Any:
        async def handle(provider: str, item: Any) -> None:
            await site.handle(services, (provider, item))

        return await ProviderPoll(
            services.context.database, services.fence, {"feed": Feed()}, handle,
            services.now_ms, services.log,
        ).poll()  # fmt: skip

    return bool((await site.stage.work(poll)).items)


SITES: dict[str, Callable[[Site], Awaitable[bool]]] = {
    "runtime-start": runtime_start,
    "runtime-resume": runtime_resume,
    "object-start": object_start,
    "object-resume": object_resume,
    "approval-decide": approval_decide,
    "thread-signal": thread_signal,
    "thread-wake": thread_wake,
    "schedule-authoring": schedule_authoring,
    "schedule-tick": schedule_tick,
    "objective-authoring": objective_authoring,
    "task-enqueue": task_enqueue,
    "task-dispatch": task_dispatch,
    "task-body": task_body,
    "notification-dispatch": notification_dispatch,
    "webhook-ingress": webhook_ingress,
    "provider-poll": provider_poll,
}
