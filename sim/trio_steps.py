"""Steps of tasks without a round of trio's loop, and its check.

Going around trio's loop costs as much as the step of a task: a poll for I/O, a look at deadlines, a
batch. When nothing of that can matter (no deadline is due, no instrument watches, no Ctrl-C waits)
the kernel lets the tasks of a batch take their steps itself. `step` does to a task what the body of
trio's loop does; `trio_order` checks that this body is the one that is copied here.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

from typing import Any

from outcome import Error, Value
from trio._core import _run, _traps

__all__ = ["RELIED_ON", "may_step", "step"]

RELIED_ON = (
    "GLOBAL_RUN_CONTEXT.task = task",
    "next_send_fn = task._next_send_fn",
    "next_send = task._next_send",
    "task._next_send_fn = task._next_send = None",
    "msg = task.context.run(next_send_fn, next_send)",
    "final_outcome = Value(stop_iteration.value)",
    "final_outcome = Error(task_exc.with_traceback(tb))",
    "runner.task_exited(task, final_outcome)",
    "task._schedule_points += 1",
    "if msg is CancelShieldedCheckpoint:",
    "runner.reschedule(task)",
    "elif type(msg) is WaitTaskRescheduled:",
    "task._cancel_points += 1",
    "task._abort_func = msg.abort_func",
    "if runner.ki_pending and task is runner.main_task:",
    "task._attempt_delivery_of_any_pending_cancel()",
    "elif type(msg) is PermanentlyDetachCoroutineObject:",
    "runner.task_exited(task, msg.final_outcome)",
    "runner.reschedule(task, exc)",
    "task._next_send_fn = task.coro.throw",
    "del GLOBAL_RUN_CONTEXT.task",
)
"""Lines of trio's run loop that `step` stands for, in this order."""


def may_step(runner: Any, now: float) -> bool:
    """Whether a round of trio's loop would do nothing but let the batch run."""
    deadlines = runner.deadlines._heap
    if deadlines and deadlines[0][0] <= now:
        return False
    return not (runner.ki_pending or runner.instruments.data["_all"])


def step(runner: Any, task: Any) -> None:
    """Let *task*, which is scheduled, take its next step."""
    context: Any = _run.GLOBAL_RUN_CONTEXT
    context.task = task
    send, value = task._next_send_fn, task._next_send
    task._next_send_fn = task._next_send = None
    final: Any = None
    message: Any = None
    try:
        message = task.context.run(send, value)
    except StopIteration as stop:
        final = Value(stop.value)
    except BaseException as error:
        traceback = error.__traceback__
        for _ in range(1 + _run.CONTEXT_RUN_TB_FRAMES):
            if traceback is not None:
                traceback = traceback.tb_next
        final = Error(error.with_traceback(traceback))
        del traceback
    if final is not None:
        runner.task_exited(task, final)
    else:
        _wait(runner, task, message)
    del context.task


def _wait(runner: Any, task: Any, message: Any) -> None:
    task._schedule_points += 1
    if type(message) is _traps.WaitTaskRescheduled:
        task._cancel_points += 1
        task._abort_func = message.abort_func
        if runner.ki_pending and task is runner.main_task:
            task._attempt_delivery_of_pending_ki()
        task._attempt_delivery_of_any_pending_cancel()
    elif message is _traps.CancelShieldedCheckpoint:
        runner.reschedule(task)
    elif type(message) is _traps.PermanentlyDetachCoroutineObject:
        runner.task_exited(task, message.final_outcome)
    else:
        error = TypeError(
            f"trio.run received unrecognized yield message {message!r}. "
            "Are you trying to use a library written for some other framework like asyncio? "
            "That won't work without some kind of compatibility shim."
        )
        runner.reschedule(task, error)
        task._next_send_fn = task.coro.throw
