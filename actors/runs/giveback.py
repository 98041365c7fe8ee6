"""Who gives a claim back that the fence refused: three designs, one of which is wired.

`router`: the side that claimed gives back when it is told of a refusal. It assumes that a start is
delivered at most once, and that a release takes effect at most once and not late.
`holder`: only whoever has refused by itself gives back, and the exact row; before the first step
the row is bound to its execution, in the batch of the first snapshot.
`sealer`: as `holder`; and a claim that never began is taken back when somebody asks about it, once
the object has refused it for good.
Nothing else in the system knows which is wired (spec/run-claims.md 8.2).
"""

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from .reservations import Claim, Log, Releasing, Reservation, StartReservations
from .snapshots import Binding

__all__ = ["Design", "GiveBack", "Holder", "RouterSide", "Sealer", "give_back_of", "is_sealed"]

Design = Literal["router", "holder", "sealer"]
Seal = Callable[[Reservation], Awaitable[bool]]


class GiveBack(Protocol):
    """One design.

    Attributes:
        releasing: what the router side asks to release after a refusal.
    """

    @property
    def releasing(self) -> Releasing:
        """What the router side asks to release after a refusal."""
        ...

    def carried(self, claimed: Reservation) -> Claim | None:
        """Return what of a claim goes along to whoever is to start it."""
        ...

    def binding(self, claim: Claim | None, start_token: str) -> Binding | None:
        """Return what the first snapshot of a start is bound to; None if to nothing."""
        ...

    async def refused(self, claim: Claim | None) -> None:
        """Whoever is to start *claim* has itself refused it at its gate. Never raises."""
        ...

    async def take_back(self, row: Reservation, seal: Seal) -> bool:
        """Get back a claim that left nothing and is not live, if it provably never began.

        Returns:
            Whether the row is `reserved` again, by this very call.
        """
        ...


class RouterSide:
    """The router side gives back, by key and run id."""

    def __init__(self, store: StartReservations) -> None:
        """Release in *store*."""
        self.releasing: Releasing = store

    def carried(self, claimed: Reservation) -> Claim | None:
        """Nothing: the object does not give back."""
        del claimed
        return None

    def binding(self, claim: Claim | None, start_token: str) -> Binding | None:
        """Nothing."""
        del claim, start_token
        return None

    async def refused(self, claim: Claim | None) -> None:
        """Leave it to the router side, which is told of the refusal."""

    async def take_back(self, row: Reservation, seal: Seal) -> bool:
        """Never: nobody knows whether it began."""
        del row, seal
        return False


class NotHere:
    """The router side of the other designs: a status that it sees proves nothing."""

    async def release(self, key: str, run_id: str) -> bool:
        """Leave the claim alone."""
        del key, run_id
        return False


class Holder:
    """Whoever refuses by itself gives back, exactly the claim that it refused."""

    def __init__(self, store: StartReservations, log: Log) -> None:
        """Release in *store*; *log* is told of a release that failed."""
        self.releasing: Releasing = NotHere()
        self._store = store
        self._log = log

    def carried(self, claimed: Reservation) -> Claim | None:
        """Return the claim as it is: who starts it has to name it exactly."""
        return claimed.claim

    def binding(self, claim: Claim | None, start_token: str) -> Binding | None:
        """Return the binding of the claim; a start without a key has none."""
        return None if claim is None else self._store.binding(claim, start_token)

    async def refused(self, claim: Claim | None) -> None:
        """Give the claim back, if it still is the row."""
        if claim is None:
            return
        try:
            await self._store.release_exact(claim)
        except Exception as failure:
            self._log(
                "start-reservation-rollback-failed",
                {"key": claim.key, "runId": claim.run_id, "error": str(failure)},
            )

    async def take_back(self, row: Reservation, seal: Seal) -> bool:
        """Never: whether it began is not known here."""
        del row, seal
        return False


class Sealer(Holder):
    """As the holder; and what never began can be sealed, and then goes back."""

    async def take_back(self, row: Reservation, seal: Seal) -> bool:
        """Have the claim refused for good where its run would live, then give it back."""
        if row.start_token is not None or not await seal(row):
            return False
        self._log("claim-sealed", {"key": row.key, "runId": row.run_id, "stamp": row.updated_at})
        return await self._store.release_exact(row.claim)


def give_back_of(design: Design, store: StartReservations, log: Log) -> GiveBack:
    """Return the design of that name over *store*."""
    if design == "router":
        return RouterSide(store)
    return Holder(store, log) if design == "holder" else Sealer(store, log)


def is_sealed(claim: Claim | None, sealed: int | None) -> bool:
    """Whether *claim* has been refused for good: *sealed* is the newest stamp that was."""
    return claim is not None and sealed is not None and claim.stamp <= sealed
