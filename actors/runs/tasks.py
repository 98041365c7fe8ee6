"""Background tasks: work that is queued in the shared database and done by passes of a dispatcher.

Three gates: who queues, who dispatches, and each body right before it begins, since a fence may
close while tasks wait. A body that may not begin parks its task, so that it goes on by itself when
the deployment is open again; where nothing can be parked it raises. The host of the tasks boots in
every state. Source: spec/run-claims.md 1.10.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, NoReturn

import attrs

from ..ports import Database
from .engine import Step, StepContext
from .errors import ExecutionFencedError, ExecutionFenceUnreadableError
from .fence import FenceWiring
from .gates import pass_gate
from .http import message_of
from .names import is_path_safe
from .reservations import Log
from .run_errors import InvalidRunRequestError
from .tables import Tables, TablesUnreadableError

__all__ = [
    "FENCED",
    "BackgroundTasks",
    "Dispatched",
    "Task",
    "TaskBody",
    "TaskState",
    "admit_body",
    "task_step",
]

TABLE: Final = "flowsafe_tasks"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'parked', 'done', 'failed')),
    said TEXT,
    attempts INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_due ON {TABLE} (state, due_at)",
)
INSERT: Final = f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?, 'pending', NULL, 0, ?, ?)"
DUE: Final = (
    f"SELECT id, kind, payload, state, attempts, due_at FROM {TABLE} "
    "WHERE state IN ('pending', 'running', 'parked') AND due_at <= ? ORDER BY due_at, id LIMIT ?"
)
TAKE: Final = (
    f"UPDATE {TABLE} SET state = 'running', attempts = attempts + 1, due_at = ?, updated_at = ? "
    "WHERE id = ? AND state = ? AND attempts = ? AND due_at = ?"
)
MARK: Final = (
    f"UPDATE {TABLE} SET state = ?, said = ?, attempts = ?, due_at = ?, updated_at = ? "
    "WHERE id = ? AND state = 'running' AND attempts = ?"
)
ATTEMPTS_MAX: Final = 5
RETRY_MS: Final = 60_000
"""Milliseconds until a task that failed or was parked is due again."""
TAKEN_MS: Final = 900_000
"""Milliseconds for which a task is taken: a body that takes longer may run twice."""
PASS_MAX: Final = 100

FENCED: Final = "flowsafe.executionFenced"
"""What a parked task says, with the state of the fence."""

TaskState = Literal["pending", "running", "parked", "done", "failed"]


@attrs.frozen
class Task:
    """One task as it was found due.

    Attributes:
        id: the same at each try, so that a body can tell one that it has done.
        attempts: bodies that began before.
        due_at: milliseconds since 1970 UTC.
    """

    id: str
    kind: str
    payload: Any
    state: TaskState
    attempts: int
    due_at: int


TaskBody = Callable[[Task], Awaitable[Any]]
Suspend = Callable[[Any], NoReturn]


class Parked(Exception):
    """The task was parked before its body began. Nothing ran."""

    def __init__(self, payload: Any) -> None:
        super().__init__(payload)
        self.payload = payload


@attrs.frozen
class Dispatched:
    """What one pass did, in tasks."""

    done: int = 0
    parked: int = 0
    again: int = 0
    failed: int = 0


async def admit_body(fence: FenceWiring, suspend: Suspend | None = None) -> None:
    """Pass the gate of a task's body: the next thing to do is to begin it.

    Raises:
        ExecutionFencedError: the gate is shut, and nothing can be parked here. Nothing ran.
        ExecutionFenceUnreadableError: nobody can tell, which counts as shut. Nothing ran.
        BaseException: whatever *suspend* parks the task with.
    """
    try:
        await pass_gate(fence, "task-body")
    except ExecutionFencedError as refused:
        if suspend is None:
            raise
        state = None if refused.reason is None else refused.reason["state"]
        suspend({FENCED: {"state": state}})


def task_step(body: Callable[[StepContext], Awaitable[Any]], fence: FenceWiring) -> Step:
    """Return *body* as a step of a workflow that parks its run while the fence is shut."""

    async def step(run: StepContext) -> Any:
        await admit_body(fence, run.suspend)
        return await body(run)

    return step


class BackgroundTasks:
    """The tasks of one deployment, in its shared database."""

    def __init__(
        self,
        database: Database,
        fence: FenceWiring,
        bodies: Mapping[str, TaskBody],
        now_ms: Callable[[], int],
        log: Log,
    ) -> None:
        """Keep tasks in *database* and do them by *bodies*, by kind.

        A task is done at least once: a dispatcher that dies leaves what it had taken to the next.
        """
        self._tables = Tables(database, (TABLE,), CREATE)
        self._fence: FenceWiring = fence
        self._bodies = bodies
        self._now_ms = now_ms
        self._log = log

    async def enqueue(self, name: str, kind: str, payload: Any) -> None:
        """Queue a task; the same *name* again changes nothing.

        Raises:
            ExecutionFencedError, ExecutionFenceUnreadableError: the gate is shut. Nothing is
                queued.
            InvalidRunRequestError: the name or the kind makes no sense. Nothing is queued.
            TablesUnreadableError: nobody can tell whether it is queued; ask again.
        """
        await pass_gate(self._fence, "task-enqueue")
        if not is_path_safe(name):
            raise InvalidRunRequestError("task: not path-safe")
        if kind not in self._bodies:
            raise InvalidRunRequestError(f"task: no kind {kind}")
        now = self._now_ms()
        await self._tables.insert((INSERT, (name, kind, json.dumps(payload), now, now)))

    async def dispatch(self) -> Dispatched:
        """Do what is due.

        Raises:
            ExecutionFencedError, ExecutionFenceUnreadableError: the gate is shut. Nothing was
                taken.
            TablesUnreadableError: what is due cannot be read. Nothing was taken.
        """
        await pass_gate(self._fence, "task-dispatch")
        due = await self._due()
        ends = [await self._do(task) for task in due]
        return Dispatched(
            ends.count("done"), ends.count("parked"), ends.count("pending"), ends.count("failed")
        )

    async def _due(self) -> list[Task]:
        return [
            Task(name, kind, json.loads(payload), *rest)
            for name, kind, payload, *rest in await self._tables.read(DUE, self._now_ms(), PASS_MAX)
        ]

    async def _do(self, task: Task) -> str:
        try:
            if not await self._take(task):
                return "taken"
            state, said, charged = await self._run(task)
            await self._mark(task, state, said, charged)
        except TablesUnreadableError as error:
            # What was taken becomes due again by itself.
            self._log("background-task-unreadable", {"id": task.id, "error": str(error)})
            return "unknown"
        return state

    async def _take(self, task: Task) -> bool:
        now = self._now_ms()
        values = (now + TAKEN_MS, now, task.id, task.state, task.attempts, task.due_at)
        return (await self._tables.change(TAKE, *values)).changes > 0

    async def _run(self, task: Task) -> tuple[TaskState, Any, bool]:
        """Begin the body if it may; returns the next state, what is said of it, and if it began."""
        try:
            await admit_body(self._fence, park)
        except Parked as parked:
            return "parked", parked.payload, False
        except ExecutionFenceUnreadableError as error:
            self._log("background-task-fence-error", {"id": task.id, "error": str(error)})
            return "pending", None, False
        try:
            return "done", await self._bodies[task.kind](task), True
        except Exception as error:
            said = message_of(error)
            self._log("background-task-failed", {"id": task.id, "error": said})
            is_last = task.attempts + 1 >= ATTEMPTS_MAX
            return ("failed" if is_last else "pending"), said, True

    async def _mark(self, task: Task, state: TaskState, said: Any, charged: bool) -> None:
        now = self._now_ms()
        taken = task.attempts + 1
        values = (
            state, json.dumps(said), taken if charged else task.attempts, now + RETRY_MS, now,
            task.id, taken,
        )  # fmt: skip
        await self._tables.change(MARK, *values)


def park(payload: Any) -> NoReturn:
    """Park the task that is being dispatched."""
    raise Parked(payload)
