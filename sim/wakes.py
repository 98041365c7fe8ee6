"""Several tasks wake together: one runs now, every other wake is an event with a name."""

from collections import deque
from typing import TYPE_CHECKING, Any

from ..actors import INCARNATION, ProgramRun
from .agenda import Event
from .choices import Option, Site, literal
from .faults import Subject
from .kernel import ACTOR, Kernel
from .trio_order import runner
from .trio_tasks import is_scheduled, steps

if TYPE_CHECKING:
    from .world import World

__all__ = ["Wake", "Wakes", "actor_of", "outside_steps"]


def actor_of(task: Any) -> str | None:
    """Return the name of whoever's code *task* runs; None if it is no part of a world."""
    context = task.context
    actor = context.get(INCARNATION)
    if actor is not None:
        name: str = actor.name
        return name
    outside: str | None = context.get(ACTOR)
    return outside


def outside_steps() -> tuple[int, int]:
    """Return how many tasks stand outside of all hosts, and how many steps they have taken."""
    taken: list[int] = []
    for task in runner().tasks:
        actor = task.context.get(INCARNATION)
        outside = actor is None and task.context.get(ACTOR) is not None
        if outside or isinstance(actor, ProgramRun):
            taken.append(steps(task))
    return len(taken), sum(taken)


class Wake:
    """A task that woke together with others: its turn is an event of its own."""

    __slots__ = ("kernel", "task")

    def __init__(self, kernel: Kernel, task: Any) -> None:
        self.kernel = kernel
        self.task = task

    def fire(self) -> None:
        """Let it run, unless it died and has been run to its end."""
        if is_scheduled(self.task):
            self.kernel.run_task(self.task)


class Wakes:
    """The wakes of one world, and the sites of their choices."""

    __slots__ = ("_sites", "_world")

    def __init__(self, world: "World") -> None:
        self._world = world
        self._sites: dict[str, Site] = {}

    def split(self, batch: list[Any]) -> None:
        """Leave one task of the world in *batch*; others follow in order, or behind all else."""
        agenda, choose = self._world.kernel.agenda, self._world.choices.choose
        now, later = self._parted(batch)
        if len(now) + len(later) < 2:
            return
        queue: deque[Event] = deque()
        for task in later:
            if choose(self._site(task)) is not None:
                agenda.behind(Wake(self._world.kernel, task))
            elif now:
                queue.append(Wake(self._world.kernel, task))
            else:
                now.append(task)
        if queue:
            agenda.push(queue)
        self._leave(batch, now)

    def put_behind(self, batch: list[Any]) -> None:
        """Leave no task of the world in *batch* that can wait: each wakes behind all else."""
        now, later = self._parted(batch)
        for task in later:
            self._world.kernel.agenda.behind(Wake(self._world.kernel, task))
        self._leave(batch, now)

    def _parted(self, batch: list[Any]) -> tuple[list[Any], list[Any]]:
        # A turn that is about to end must have been taken: whom an input gate has let in runs now.
        ending = self._world.kernel.ending
        now: list[Any] = []
        later: list[Any] = []
        for task in batch:
            if ending and task.context.get(INCARNATION) in ending:
                now.append(task)
            elif actor_of(task) is not None:
                later.append(task)
        return now, later

    def _leave(self, batch: list[Any], now: list[Any]) -> None:
        # trio takes tasks from the end of a batch.
        batch[:] = [task for task in batch if actor_of(task) is None] + now[::-1]

    def _site(self, task: Any) -> Site:
        actor = actor_of(task)
        assert actor is not None
        site = self._sites.get(actor)
        if site is None:
            sentence = f"wake {{n}} of {literal(actor)} comes after all else of that moment"
            behind = Option("behind", sentence)
            site = self._world.site(actor, Subject("wake", actor), (behind,))
            self._sites[actor] = site
        return site
