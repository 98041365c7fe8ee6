"""The fence: what is different in every run cannot be reached from inside a world.

While worlds run, the wall clock, the sources of entropy, threads, sockets and processes of Python's
own modules look first who asks. Tasks of a world are refused; everybody else (the test around it,
other threads, logging) gets what is asked for. Whatever gets past, such as `id()`, shows when a
failure is run twice, the second time in a process with other hashes.
"""

import ctypes
import gc
import os.path
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context
from functools import partial, wraps
from importlib import import_module
from threading import RLock
from types import FrameType
from typing import Any

import trio

from ..actors import INCARNATION
from .kernel import ACTOR, Kernel

__all__ = ["NotDeterministic", "fence"]


class NotDeterministic(RuntimeError):
    """Code of a world reached for what is different in every run. Nothing was done.

    Attributes:
        what: it reached for.
        place: file, line and function.
        instead: what a world offers.
    """

    def __init__(self, what: str, place: str, instead: str) -> None:
        super().__init__(
            f"{what} in {place}: {WHY.get(what, EVERY_RUN)}, so a world has none; use {instead}"
        )
        self.what = what
        self.place = place
        self.instead = instead


EVERY_RUN = "it is different in every run"
NOBODYS = "what it starts is nobody's and outlives every crash"
WHY = {"trio.lowlevel.spawn_system_task()": NOBODYS, "TrioToken.run_sync_soon()": NOBODYS}
"""Why a world has no such thing, if it is not that it is different in every run."""

NOW = "self.now(), or in a scenario world.now_s"
SPAN = "trio.current_time(), which is virtual, or self.now()"
SLEEP = "await self.sleep(seconds), or in a scenario await trio.sleep(seconds)"
CHANCE = "self.random() or self.token_bytes(), or in a scenario a random.Random with a seed"
UUID = "self.uuid(), or in a scenario uuid.UUID(int=…)"
TASKS = "self.wait_until(…), or a nursery"
CALLS = "a call of an object, and in the real host a socket"
PROCESS = "a Program started by world.start(…)"
FILES = "self.storage, or a path of your own"

FUNCTIONS: tuple[tuple[str, str, str], ...] = (
    ("time", "time time_ns clock_gettime clock_gettime_ns", NOW),
    ("time", "monotonic monotonic_ns perf_counter perf_counter_ns", SPAN),
    ("time", "process_time process_time_ns thread_time thread_time_ns", SPAN),
    ("time", "sleep", SLEEP),
    ("os", "urandom getrandom", CHANCE),
    ("random", "_urandom", CHANCE),
    ("tempfile", "_get_candidate_names", FILES),
    ("uuid", "uuid1 uuid4 uuid6 uuid7 getnode", UUID),
    ("os", "fork forkpty posix_spawn posix_spawnp system popen", PROCESS),
    ("subprocess", "Popen.__init__", PROCESS),
    ("threading", "Thread.start", TASKS),
    ("_thread", "start_new_thread start_joinable_thread", TASKS),
    ("concurrent.futures.thread", "ThreadPoolExecutor.submit", TASKS),
    ("trio._threads", "start_thread_soon", TASKS),
    ("trio._core._run", "Runner.spawn_system_task", TASKS),
    ("trio.lowlevel", "TrioToken.run_sync_soon", TASKS),
    ("socket", "socket.__init__ getaddrinfo gethostbyname", CALLS),
)
"""Module, names in it, and what to use instead. What a Python does not have is left out."""

LABELS = {
    "random._urandom": "the entropy of the system",
    "concurrent.futures.thread.ThreadPoolExecutor.submit": "ThreadPoolExecutor.submit()",
    "tempfile._get_candidate_names": "the name of a temporary file",
    "trio._core._run.Runner.spawn_system_task": "trio.lowlevel.spawn_system_task()",
    "trio._threads.start_thread_soon": "a thread of trio",
    "trio.lowlevel.TrioToken.run_sync_soon": "TrioToken.run_sync_soon()",
}
"""How those of them are called that nobody names."""

WITHOUT_TIME: tuple[tuple[str, int], ...] = (
    ("localtime", 0), ("gmtime", 0), ("ctime", 0), ("asctime", 0), ("strftime", 1),
)  # fmt: skip
"""Functions of `time` that read the clock if they are given that many arguments only."""

TYPES: tuple[tuple[str, str, str], ...] = (
    ("datetime", "now utcnow", NOW),
    ("date", "today", NOW),
)
"""Types of `datetime`, written in C, and their class methods that read the clock."""

INNOCENT = frozenset("logging _pytest pytest hypothesis coverage pdb bdb importlib".split())
"""Packages that may look at the clock and at chance for themselves, whoever called them."""

LIBRARY = sys.stdlib_module_names | {"trio", "outcome", "durasim"}
"""Packages in which a call is not blamed on, but on who called them."""

_lock = RLock()
_depth = 0
_undo: list[Callable[[], None]] = []


@contextmanager
def fence() -> Generator[None, None, None]:
    """Put the fence up, unless it is up already; the last to leave puts everything back."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            try:
                _put_up()
            except BaseException:
                _depth = 0
                _take_down()
                raise
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _take_down()


def _put_up() -> None:
    for module_name, names, instead in FUNCTIONS:
        if module_name not in sys.modules and module_name != "uuid":
            continue
        module = import_module(module_name)
        for path in names.split():
            holder, _, name = path.rpartition(".")
            owner = getattr(module, holder, None) if holder else module
            what = f"{module_name}.{path.removesuffix('.__init__')}"
            _replace(owner, name, LABELS.get(what, f"{what}()"), instead)
    time = import_module("time")
    for name, arguments in WITHOUT_TIME:
        _replace(time, name, f"time.{name}()", NOW, partial(_are_few, arguments))
    _guard_random()
    _guard_datetime()


def _are_few(number: int, given: tuple[Any, ...]) -> bool:
    return len(given) <= number


def _take_down() -> None:
    while _undo:
        _undo.pop()()


def _guard_random() -> None:
    module: Any = import_module("random")
    for name in module.__all__:
        if getattr(getattr(module, name), "__self__", None) is module._inst:
            _replace(module, name, f"random.{name}()", CHANCE)
    _replace(
        module.Random,
        "seed",
        "random.Random() without a seed",
        "random.Random(seed)",
        lambda given: len(given) < 2 or given[1] is None,
    )


def _guard_datetime() -> None:
    # `from datetime import datetime` is what everybody writes, so the type itself has to know; it
    # is written in C, and the only way to its methods is its own dictionary.
    module = import_module("datetime")
    for type_name, names, instead in TYPES:
        cls = getattr(module, type_name)
        found: list[Any] = gc.get_referents(cls.__dict__)
        attributes: dict[str, Any] = found[0]
        for name in names.split():
            _replace_method(cls, attributes, name, f"{type_name}.{name}()", instead)


def _replace_method(
    cls: type, attributes: dict[str, Any], name: str, what: str, instead: str
) -> None:
    before = attributes[name]

    def guarded(owner: Any, *args: Any, **kwargs: Any) -> Any:
        _look(what, instead)
        return before.__get__(None, owner)(*args, **kwargs)

    def put(method: Any) -> None:
        attributes[name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))

    _undo.append(lambda: put(before))
    put(classmethod(guarded))


def _replace(
    owner: Any,
    name: str,
    what: str,
    instead: str,
    is_meant: Callable[[tuple[Any, ...]], bool] | None = None,
) -> None:
    before = getattr(owner, "__dict__", {}).get(name)
    if before is None:
        return

    @wraps(before)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if is_meant is None or (not kwargs and is_meant(args)):
            _look(what, instead)
        return before(*args, **kwargs)

    _undo.append(lambda: setattr(owner, name, before))
    setattr(owner, name, guarded)


def _look(what: str, instead: str) -> None:
    if _is_of_a_world():
        _refuse(what, instead, sys._getframe(2))  # pyright: ignore[reportPrivateUsage]


def _is_of_a_world() -> bool:
    """Whether code of a world runs, in its own context or in one that it made."""
    if INCARNATION.get() is not None or ACTOR.get() is not None:
        return True
    context = _task_context()
    return context.get(INCARNATION) is not None or context.get(ACTOR) is not None


def _task_context() -> Context:
    in_task = trio.lowlevel.in_trio_task()
    return trio.lowlevel.current_task().context if in_task else Context()


def _refuse(what: str, instead: str, frame: FrameType | None) -> None:
    nearest = frame
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in INNOCENT:
            return
        if package not in LIBRARY:
            break
        frame = frame.f_back
    culprit = nearest if frame is None else frame
    assert culprit is not None
    code = culprit.f_code
    place = f"{os.path.basename(code.co_filename)}:{culprit.f_lineno} ({code.co_qualname})"
    error = NotDeterministic(what, place, instead)
    actor = INCARNATION.get() or _task_context().get(INCARNATION)
    clock = trio.lowlevel.current_clock()
    if isinstance(clock, Kernel) and (actor is None or actor.alive):
        clock.leaked(str(error))
    raise error
