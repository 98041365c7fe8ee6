"""Where runs live, behind one interface: in the process of whoever asks, or each in an object.

What a start that was refused raises differs: in process the error itself, from an object a
`RunRouteError` made of its response (spec/run-claims.md 4.4). The agents' topology is in
`threads.py`.
"""

from typing import Any, Protocol, cast

from ...wire import RunRouteError
from ..worker import WebRequest, WebResponse
from .errors import StartReservationUnreadableError
from .giveback import is_sealed
from .http import do_summary, json_bytes
from .identity import IDENTITY_HEADER
from .requests import PRINCIPAL_HEADER, body_of_order, body_of_resumption, principal_header
from .reservations import Owner, Reservation
from .run_errors import RunAdmissionConflictError, UnknownRunError
from .run_object import RunObject
from .runtime import RunnerRuntime, RunOrder, name_of
from .snapshots import is_result
from .wiring import Services

__all__ = ["InProcess", "ObjectBacked", "RunTopology", "Summary"]

Summary = dict[str, Any]
"""What a run is shown as, JSON: `workflowId`, `runId`, `status`, and what it gave or waits for."""


class RunTopology(Protocol):
    """Where runs live. It is a `StartSurface`, too."""

    async def start(self, order: RunOrder) -> Summary:
        """Start a run, and return it when its first leg has ended.

        Raises:
            Exception: whatever went wrong, bare; a refusal of the fence is one by the predicate.
        """
        ...

    async def persisted(self, reservation: Reservation) -> Summary | None:
        """Return what the run of a reservation can be shown as again."""
        ...

    async def live(self, reservation: Reservation) -> bool:
        """Return whether the run of a reservation executes now."""
        ...

    async def seal(self, reservation: Reservation) -> bool:
        """Refuse a claim for good, if its run is not live and never began."""
        ...

    async def status(self, workflow_id: str, run_id: str) -> Summary | None:
        """Return the run as it was last persisted; None if there is none."""
        ...

    async def dispatched(self, workflow_id: str, run_id: str) -> Summary | None:
        """Return the run once what an interrupted start has left is settled; None if nothing."""
        ...

    async def resume(
        self,
        workflow_id: str,
        run_id: str,
        data: Any,
        owner: Owner,
        suspension: int | None = None,
    ) -> Summary:
        """Go on with a parked run, if it is parked at *suspension* or that is None."""
        ...

    async def terminate(self, workflow_id: str, run_id: str, owner: Owner) -> Summary:
        """End a run from outside."""
        ...


class InProcess:
    """Runs in the memory of the actor that asks."""

    def __init__(self, services: Services, runtime: RunnerRuntime) -> None:
        """Start runs in *runtime*, which lives as long as this."""
        self._services = services
        self._runtime = runtime
        self._in_flight: set[str] = set()
        self._sealed: dict[str, int] = {}

    async def start(self, order: RunOrder) -> Summary:
        """As `RunTopology.start`; the class of an error arrives."""
        if is_sealed(order.claim, self._sealed.get(order.run_id)):
            raise RunAdmissionConflictError(order.run_id, "claim-sealed")
        token = self._services.mint()
        name = name_of(order.workflow_id, order.run_id)
        is_first = name not in self._in_flight
        self._in_flight.add(name)
        try:
            return (await self._runtime.start(order, token)).summary()
        except Exception as error:
            return await self._recover(order, token, error)
        finally:
            if is_first:
                self._in_flight.discard(name)

    async def _recover(self, order: RunOrder, token: str, error: Exception) -> Summary:
        try:
            found = await self._runtime.recover_start_attempt(
                order.workflow_id, order.run_id, token
            )
        except Exception as failure:
            self._services.log(
                "run-recovery-failed", {"runId": order.run_id, "error": str(failure)}
            )
            found = None
        if found is None or not found.is_result:
            raise error
        return found.summary()

    async def persisted(self, reservation: Reservation) -> Summary | None:
        """As `RunTopology.persisted`."""
        found = await self.status(reservation.target.id, reservation.run_id)
        return result_of(found)

    async def live(self, reservation: Reservation) -> bool:
        """As `RunTopology.live`: what this memory knows."""
        workflow_id, run_id = reservation.target.id, reservation.run_id
        return name_of(workflow_id, run_id) in self._in_flight or self._runtime.is_active(
            workflow_id, run_id
        )

    async def seal(self, reservation: Reservation) -> bool:
        """As `RunTopology.seal`: what could still start it lives and dies with this memory."""
        run_id = reservation.run_id
        found = await self.status(reservation.target.id, run_id)
        if found is not None or await self.live(reservation):
            return False
        self._sealed[run_id] = max(reservation.updated_at, self._sealed.get(run_id, 0))
        return True

    async def status(self, workflow_id: str, run_id: str) -> Summary | None:
        """As `RunTopology.status`."""
        try:
            return (await self._runtime.status(workflow_id, run_id)).summary()
        except UnknownRunError:
            return None

    async def dispatched(self, workflow_id: str, run_id: str) -> Summary | None:
        """As `RunTopology.dispatched`: a start that was interrupted here died with this memory."""
        return await self.status(workflow_id, run_id)

    async def resume(
        self,
        workflow_id: str,
        run_id: str,
        data: Any,
        owner: Owner,
        suspension: int | None = None,
    ) -> Summary:
        """As `RunTopology.resume`."""
        del owner
        return (await self._runtime.resume(workflow_id, run_id, data, suspension)).summary()

    async def terminate(self, workflow_id: str, run_id: str, owner: Owner) -> Summary:
        """As `RunTopology.terminate`."""
        del owner
        return (await self._runtime.terminate(workflow_id, run_id, "cancelled")).summary()


class ObjectBacked:
    """Each run in its own `RunObject`."""

    def __init__(self, services: Services) -> None:
        """Reach the objects by the stubs of the actor that *services* serve."""
        self._services = services

    async def ask(
        self, method: str, workflow_id: str, run_id: str, path: str, owner: Owner, body: Any = None
    ) -> WebResponse:
        """Send one request to the object of a run, from inside of the deployment."""
        headers = {
            IDENTITY_HEADER: self._services.deployment.secrets.identity,
            PRINCIPAL_HEADER: principal_header(owner),
        }
        stub = self._services.context.objects.get(RunObject, name_of(workflow_id, run_id))
        payload = b"" if body is None else json_bytes(body)
        return await stub.serve(WebRequest(method, path, payload, headers))

    async def start(self, order: RunOrder) -> Summary:
        """As `RunTopology.start`; an error of the object arrives as `RunRouteError`."""
        body = body_of_order(order)
        response = await self.ask(
            "POST", order.workflow_id, order.run_id, "/runs", order.owner, body
        )
        return cast(Summary, do_summary(response))

    async def persisted(self, reservation: Reservation) -> Summary | None:
        """As `RunTopology.persisted`."""
        try:
            found = await self.status(reservation.target.id, reservation.run_id)
        except RunRouteError:
            raise
        except Exception as error:
            raise StartReservationUnreadableError(
                "the run cannot be asked for its state"
            ) from error
        return result_of(found)

    async def live(self, reservation: Reservation) -> bool:
        """As `RunTopology.live`: only a clear answer counts."""
        return await self._asked(reservation, "GET", "start-liveness", "live")

    async def seal(self, reservation: Reservation) -> bool:
        """As `RunTopology.seal`: only a clear answer counts."""
        body = {"stamp": reservation.updated_at}
        return await self._asked(reservation, "POST", "seal", "sealed", body)

    async def _asked(
        self, reservation: Reservation, method: str, verb: str, field: str, body: Any = None
    ) -> bool:
        workflow_id, run_id = reservation.target.id, reservation.run_id
        path = f"/runs/{workflow_id}/{run_id}/{verb}"
        try:
            response = await self.ask(method, workflow_id, run_id, path, reservation.owner, body)
            return clear_answer(response, field)
        except Exception as error:
            raise StartReservationUnreadableError(f"the run does not answer: {verb}") from error

    async def status(self, workflow_id: str, run_id: str) -> Summary | None:
        """As `RunTopology.status`."""
        return await self._shown(workflow_id, run_id, f"/runs/{workflow_id}/{run_id}")

    async def dispatched(self, workflow_id: str, run_id: str) -> Summary | None:
        """As `RunTopology.dispatched`."""
        path = f"/runs/{workflow_id}/{run_id}/dispatch-status"
        return await self._shown(workflow_id, run_id, path)

    async def _shown(self, workflow_id: str, run_id: str, path: str) -> Summary | None:
        response = await self.ask("GET", workflow_id, run_id, path, Owner("system", "router"))
        return None if response.status == 404 else cast(Summary, do_summary(response))

    async def resume(
        self,
        workflow_id: str,
        run_id: str,
        data: Any,
        owner: Owner,
        suspension: int | None = None,
    ) -> Summary:
        """As `RunTopology.resume`."""
        path = f"/runs/{workflow_id}/{run_id}/resume"
        body = body_of_resumption(data, suspension)
        response = await self.ask("POST", workflow_id, run_id, path, owner, body)
        return cast(Summary, do_summary(response))

    async def terminate(self, workflow_id: str, run_id: str, owner: Owner) -> Summary:
        """As `RunTopology.terminate`."""
        path = f"/runs/{workflow_id}/{run_id}/terminate"
        response = await self.ask("POST", workflow_id, run_id, path, owner, {})
        return cast(Summary, do_summary(response))


def result_of(summary: Summary | None) -> Summary | None:
    """Return *summary* if it can be shown again; a run that is on its way cannot (case 18)."""
    return summary if summary is not None and is_result(summary) else None


def clear_answer(response: WebResponse, field: str) -> bool:
    """Return the yes or no of a response.

    Raises:
        ValueError: it says neither.
    """
    body = do_summary(response)
    answer: object = cast(dict[str, Any], body).get(field) if isinstance(body, dict) else None
    if response.status != 200 or not isinstance(answer, bool):
        raise ValueError(f"status {response.status} without {field!r}")
    return answer
