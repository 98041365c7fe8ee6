"""The workflow engine: steps that run one after another, park the run, and leave snapshots.

    async def charge(run: StepContext) -> dict[str, str]:
        run.effect("charged", run.run_id)
        return {"paid": run.run_id}

    async def approve(run: StepContext) -> Any:
        return run.resumed if run.is_resumed else run.suspend({"ask": "approve?"})

    order = Workflow("order", (charge, approve))

A step that raises ends its run as failed, whatever it raised: no error of a step is an error of the
start that ran it (spec/run-claims.md 8.5). A step that suspends is called again when the run is
resumed. What a step has done outside stays done.
"""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, NoReturn, Protocol, cast

import attrs

from ...wire import ABSENT
from .run_errors import RunAdmissionConflictError
from .snapshots import Binding, Snapshot, Snapshots

__all__ = ["Effects", "Engine", "Step", "StepContext", "Workflow"]

Step = Callable[["StepContext"], Awaitable[Any]]
"""One step of a workflow: it is given its run and returns JSON, parks the run, or fails it."""


class Effects(Protocol):
    """The outside, where nothing is taken back: what the host gives as `env["ledger"]`."""

    def note(self, kind: str, value: object = None) -> None:
        """Do *kind* outside, once for each call."""
        ...


class NoEffects:
    """The outside of a host that gives none."""

    def note(self, kind: str, value: object = None) -> None:
        """Refuse."""
        raise LookupError(f"the host gives no ledger: {kind} of {value!r} was not done")


def in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return *steps* as they are run."""
    return tuple(steps)


def each_once(roles: Iterable[str]) -> frozenset[str]:
    """Return *roles* as a set."""
    return frozenset(roles)


@attrs.frozen
class Workflow:
    """What can be run.

    Attributes:
        id: path-safe.
        steps: run in order.
        roles: who may start it through a router; empty for everybody who may start anything.
    """

    id: str
    steps: tuple[Step, ...] = attrs.field(converter=in_order)
    roles: frozenset[str] = attrs.field(default=frozenset(), converter=each_once)


class Suspended(BaseException):
    """The step parks its run. Not an error: code that handles errors does not take it for one."""

    def __init__(
        self, payload: Any, deadline_s: float | None, on_deadline: Literal["resume", "time-out"]
    ) -> None:
        super().__init__(payload)
        self.payload = payload
        self.deadline_s = deadline_s
        self.on_deadline: Literal["resume", "time-out"] = on_deadline


class StepContext:
    """What a step sees of its run.

    Attributes:
        workflow_id, run_id: which run.
        payload: what it was started with.
        requester: kind and id of whoever it runs for.
        request_context: what the host's policy gave for it.
        state: shared by the steps of the run, JSON; kept with each snapshot.
        results: what the steps before have returned.
        is_resumed: whether this step parked the run and has been called again.
        resumed: what it was resumed with.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        effects: Effects,
        sleep: Callable[[float], Awaitable[None]],
        resumed: Any,
    ) -> None:
        self.workflow_id = snapshot.workflow_id
        self.run_id = snapshot.run_id
        self.payload = snapshot.payload
        self.requester = snapshot.requester
        self.request_context = snapshot.request_context
        self.state: dict[str, Any] = dict(snapshot.state)
        self.results = snapshot.results
        self.is_resumed = resumed is not ABSENT
        self.resumed = resumed if self.is_resumed else None
        self._effects = effects
        self._sleep = sleep

    def effect(self, kind: str, value: object = None) -> None:
        """Do something outside that nothing takes back."""
        self._effects.note(kind, value)

    async def sleep(self, seconds: float) -> None:
        """Wait. A crash meanwhile ends the leg."""
        await self._sleep(seconds)

    def suspend(
        self,
        payload: Any = None,
        *,
        deadline_s: float | None = None,
        on_deadline: Literal["resume", "time-out"] = "resume",
    ) -> NoReturn:
        """Park the run until somebody resumes it, or until the deadline.

        In a nursery of the step, the other tasks are cut off.

        Args:
            payload: what is shown of the parked run, JSON.
            deadline_s: seconds until it ends by itself; None for never.
            on_deadline: "resume" calls this step again with ``{"deadline": true}``; "time-out" ends
                the run.
        """
        raise Suspended(payload, deadline_s, on_deadline)


@attrs.frozen(kw_only=True)
class Engine:
    """Runs workflows and persists how far they are."""

    snapshots: Snapshots
    effects: Effects
    sleep: Callable[[float], Awaitable[None]]
    now_ms: Callable[[], int]

    async def create_run(self, shell: Snapshot, binding: Binding | None) -> Snapshot:
        """Persist that a run is to begin, as a shell without a token.

        Raises:
            RunAlreadyExistsError: it is there already. Nothing was written.
            RunAdmissionConflictError: the claim that it is bound to is not the row any more.
                Nothing was written.
            RunStateUnreadableError: nobody can tell whether it was written; no step ran.
        """
        now = self.now_ms()
        shell = attrs.evolve(shell, created_at=now, updated_at=now)
        if not await self.snapshots.create(shell, binding):
            raise RunAdmissionConflictError(shell.run_id, "reservation-changed")
        return shell

    async def leg(self, workflow: Workflow, snapshot: Snapshot, resumed: Any = ABSENT) -> Snapshot:
        """Run steps until the run parks or ends; returns it as it stands then, persisted.

        Raises:
            RunStateUnreadableError: it could not be persisted. Steps may have run.
        """
        while snapshot.step < len(workflow.steps):
            snapshot = await self._step(workflow.steps[snapshot.step], snapshot, resumed)
            resumed = ABSENT
            if snapshot.status != "running":
                return await self.persist(snapshot)
            if snapshot.step < len(workflow.steps):
                snapshot = await self.persist(snapshot)
        return await self.persist(attrs.evolve(snapshot, status="success"))

    async def _step(self, step: Step, snapshot: Snapshot, resumed: Any) -> Snapshot:
        run = StepContext(snapshot, self.effects, self.sleep, resumed)
        try:
            result = plain_json(await step(run))
            return attrs.evolve(
                snapshot, status="running", step=snapshot.step + 1, state=plain_json(run.state),
                results=(*snapshot.results, result), suspended=None, deadline_ms=None,
            )  # fmt: skip
        except Suspended as parked:
            return self._parked(snapshot, run.state, parked)
        except Exception as error:
            return step_failed(snapshot, error)
        except BaseExceptionGroup as group:
            came_to = out_of(group)
            if isinstance(came_to, Suspended):
                return self._parked(snapshot, run.state, came_to)
            return step_failed(snapshot, came_to)

    def _parked(self, snapshot: Snapshot, state: Any, parked: Suspended) -> Snapshot:
        deadline = parked.deadline_s
        try:
            return attrs.evolve(
                snapshot, status="suspended", state=plain_json(state),
                suspended=plain_json(parked.payload), on_deadline=parked.on_deadline,
                deadline_ms=None if deadline is None else self.now_ms() + round(deadline * 1000),
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            return step_failed(snapshot, error)

    async def persist(self, snapshot: Snapshot) -> Snapshot:
        """Persist *snapshot* as the next revision, and return that.

        Raises:
            RunStateUnreadableError: nobody can tell whether it was.
        """
        following = attrs.evolve(snapshot, revision=snapshot.revision + 1, updated_at=self.now_ms())
        await self.snapshots.write(following)
        return following


def out_of(group: BaseExceptionGroup[BaseException]) -> Exception | Suspended:
    """Return what a step that has a nursery came to: an error, if one of its tasks has failed.

    Raises:
        BaseExceptionGroup: it was cut off, or its host has ended: neither is the step's own.
    """
    suspensions, rest = group.split(Suspended)
    if rest is None:
        assert suspensions is not None
        return first_of(suspensions)
    if isinstance(rest, ExceptionGroup):
        return cast(ExceptionGroup[Exception], rest)
    raise rest


def first_of(suspensions: BaseExceptionGroup[Suspended]) -> Suspended:
    """Return the first of what several tasks of one step were parked by."""
    first: Suspended | BaseExceptionGroup[Suspended] = suspensions
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first


def step_failed(snapshot: Snapshot, error: Exception) -> Snapshot:
    """Return the run as a step's error ends it: failed, whatever the error says of itself."""
    said = {"name": type(error).__name__, "message": str(error)}
    return attrs.evolve(snapshot, status="failed", error=said, suspended=None, deadline_ms=None)


def plain_json(value: Any) -> Any:
    """Return *value* as it will be read back.

    Raises:
        TypeError, ValueError: it is no JSON.
    """
    return json.loads(json.dumps(value, allow_nan=False))
