"""Ending a task of trio's by force: the other place that touches what trio keeps to itself.

A task is either *scheduled* (it will run, and holds what it is resumed with) or it waits and has an
abort function that takes its waiting back. `interrupt` raises an exception where it stands and
leaves it in one of these two states, or ended: trio never sees a task it could not make.

The exception is no `GeneratorExit`: Python gives that one to the inner coroutines as `close()`,
which forbids them to wait in a `finally`.
"""

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

import ctypes
import math
from typing import Any, NoReturn

from outcome import Value
from trio import lowlevel
from trio._core import _run, _traps

from ..wire import IncarnationGone

__all__ = [
    "abandon",
    "age",
    "children",
    "interrupt",
    "is_scheduled",
    "keep_for_ever",
    "steps",
    "take_back",
]

Task = lowlevel.Task


def age(task: Task) -> int:
    """Return the number of *task* in the order of creation, in which trio sorts a batch."""
    return task._counter


def is_scheduled(task: Task) -> bool:
    """Whether *task* is to run: now, or when its wake is no longer held back."""
    return task._next_send_fn is not None


def steps(task: Task) -> int:
    """Return how often *task* has run and stopped again."""
    return task._schedule_points


def children(task: Task) -> list[Task]:
    """Return the tasks in the nurseries that *task* has open, in the order of creation."""
    found = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return sorted(found, key=age)


def interrupt(task: Task) -> bool:
    """Raise `IncarnationGone` where *task* stands; returns whether that ended it.

    It must not be in trio's queue. Whatever it raises is dropped, unless it ends the process.
    """
    _unpark(task)
    current = _run.GLOBAL_RUN_CONTEXT
    before = getattr(current, "task", None)
    current.task = task
    trap: Any = None
    try:
        trap = task.context.run(task.coro.throw, IncarnationGone(task.name))
    except (KeyboardInterrupt, SystemExit):
        _leave(task)
        raise
    except BaseException:
        _leave(task)
        return True
    finally:
        if before is None:
            del current.task
        else:
            current.task = before
    _park(task, trap)
    return False


def abandon(task: Task) -> None:
    """Let trio forget a task that no exception ends. It never runs again, and is never collected.

    Python would raise `GeneratorExit` in its coroutine once more when it is collected, when the
    interpreter ends at the latest, and that would not come back.
    """
    _unpark(task)
    _leave(task)
    keep_for_ever(task.coro)


def keep_for_ever(suspended: object) -> None:
    """Let *suspended* code never be collected."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(suspended))


def take_back(trap: object) -> None:
    """Take back a waiting that trio has never heard of."""
    if type(trap) is _traps.WaitTaskRescheduled:
        trap.abort_func(_gone)


def _leave(task: Task) -> None:
    # Scopes and nurseries that its code has not left would move the clock, and cancel its nursery.
    nursery = task.parent_nursery
    assert nursery is not None
    for opened in task.child_nurseries:
        opened._closed = True
    task._child_nurseries.clear()
    outer = nursery._cancel_status
    status: Any = task._cancel_status
    task._activate_cancel_status(outer)
    while status is not None and status is not outer:
        status._scope.deadline = math.inf
        status.parent, status = None, status.parent
    task._runner.task_exited(task, Value(None))


def _unpark(task: Task) -> None:
    task._next_send_fn = task._next_send = None
    task.custom_sleep_data = None
    abort, task._abort_func = task._abort_func, None
    if abort is not None:
        abort(_gone)


def _park(task: Task, trap: Any) -> None:
    # As trio's loop does with what a step of a task gives.
    task._schedule_points += 1
    if type(trap) is _traps.WaitTaskRescheduled:
        task._cancel_points += 1
        task._abort_func = trap.abort_func
        task._attempt_delivery_of_any_pending_cancel()
    else:
        task._runner.reschedule(task)


def _gone() -> NoReturn:
    raise IncarnationGone("a task that was ended")
