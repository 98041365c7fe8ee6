"""Objects and a program that run a shape, and die of much."""

from durasim.actors import DurableObject, Program

from .dying import Dying, Stage
from .shapes import SHAPES


class Mortal(DurableObject):
    """Runs a shape, and dies of much."""

    async def work(self) -> int:
        """Write something, and run the shape."""
        await self.storage.put("begun", 1)
        await self.storage.sync()
        await self._run()
        return 1

    async def leave(self) -> None:
        """Leave the shape running."""
        self.wait_until(self._run)

    async def write(self) -> int:
        """Write, so that there is a commit to die at."""
        count = int(await self.storage.get("count", 0)) + 1
        await self.storage.put("count", count)
        return count

    async def ping(self) -> str:
        """Answer with chance, so that a draw of somebody dead would show."""
        return f"{await self.storage.get('count', 0)} {self.uuid()}"

    async def die(self) -> None:
        """Abort."""
        self.abort("enough")

    async def fail_in_section(self) -> None:
        """Fail in a critical section, which resets the object."""

        async def section() -> None:
            raise ValueError("no")

        await self.block_concurrency_while(section)

    async def alarm(self, info: object) -> None:
        """Nothing."""

    async def _run(self) -> None:
        stage = self.env["stage"]
        assert isinstance(stage, Stage)
        await SHAPES[stage.shape](Dying(self, stage))


class Serial(Mortal):
    """The same, one request at a time."""

    delivery = "serial"


class Working(Program):
    """A program that runs a shape."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def run(self) -> None:
        """Run it."""
        await SHAPES[self._stage.shape](Dying(self, self._stage))
