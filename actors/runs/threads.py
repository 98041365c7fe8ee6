"""The topology of agents: each run in the object of its thread.

A key of an agent's start records its thread, since that is where the run can be found: a retry
that names no thread, or another one, is asked, probed and started where the first one was
(case 12). Keys come from trusted callers only. Source: spec/run-claims.md 3.6.
"""

from typing import Any, cast

import attrs

from ..worker import WebRequest, WebResponse
from .claims import KeyedStart, begin_idempotent_start
from .errors import (
    StartIdempotencyUnsupportedError,
    StartReservationUnreadableError,
)
from .http import do_summary, error_from, is_ok, json_bytes
from .identity import IDENTITY_HEADER
from .names import is_path_safe
from .requests import PRINCIPAL_HEADER, body_of_order, body_of_resumption, principal_header
from .reservations import Owner, Reservation, StartRequest, Target, rollback_fenced_start
from .run_errors import InvalidRunRequestError, UnknownWorkflowError
from .runtime import RunOrder
from .thread_object import ThreadObject
from .topology import Summary, clear_answer, result_of
from .wiring import Services

__all__ = ["AgentStart", "AgentTopology"]


@attrs.frozen(kw_only=True)
class AgentStart:
    """What a start of an agent asks for.

    Attributes:
        thread_id: where; None for a new thread.
        key: from trusted callers only; None for a start without one.
    """

    agent_id: str
    owner: Owner
    prompt: Any = None
    thread_id: str | None = None
    key: str | None = None


class AgentTopology:
    """Agents' runs, each in its thread. It is a `StartSurface`, too."""

    def __init__(self, services: Services) -> None:
        """Reach the threads by the stubs of the actor that *services* serve."""
        self._services = services

    async def start(self, asked: AgentStart) -> Summary:
        """Start an agent, under a key or not; returns its run when the first leg has ended.

        Raises:
            UnknownWorkflowError: there is no such agent. Nothing was done.
            RunRouteError: what the thread answered instead; a refusal of the fence is one by the
                predicate.
            DoStatusError: as `begin_idempotent_start`. Nothing was started.
        """
        if asked.agent_id not in self._services.deployment.agents:
            raise UnknownWorkflowError(asked.agent_id)
        thread_id = await self._thread(asked)
        if asked.key is not None:
            return await self._keyed(asked, thread_id, asked.key)
        return await self._dispatch(
            RunOrder(
                workflow_id=asked.agent_id,
                run_id=self._services.mint(),
                owner=asked.owner,
                payload=asked.prompt,
                thread_id=thread_id,
            )
        )

    async def _thread(self, asked: AgentStart) -> str:
        """Return the thread to start in, if it is open to whoever asks."""
        if asked.thread_id is None:
            return self._services.mint()
        if not is_path_safe(asked.thread_id):
            raise InvalidRunRequestError("threadId is not valid")
        response = await self.ask("GET", asked.thread_id, "/thread", asked.owner)
        if not is_ok(response):
            raise error_from(response)
        return asked.thread_id

    async def _keyed(self, asked: AgentStart, thread_id: str, key: str) -> Summary:
        services = self._services
        if services.reservations == "none":
            raise StartIdempotencyUnsupportedError
        start = KeyedStart(
            store=services.reservations,
            surface=self,
            fence=services.fence,
            take_back=services.give_back.take_back,
            log=services.log,
        )
        target = Target("agent", asked.agent_id)
        request = StartRequest(key, asked.owner, target, thread_id)
        decision = await begin_idempotent_start(start, request, services.mint)
        if decision.kind == "replay":
            return cast(Summary, decision.result)
        claimed = decision.reservation
        order = RunOrder(
            workflow_id=asked.agent_id,
            run_id=claimed.run_id,
            owner=asked.owner,
            payload=asked.prompt,
            key=key,
            claim=services.give_back.carried(claimed),
            thread_id=claimed.thread_id,
        )
        try:
            return await self._dispatch(order)
        except Exception as error:
            await rollback_fenced_start(
                services.give_back.releasing, claimed.key, claimed.run_id, error, services.log
            )

    async def _dispatch(self, order: RunOrder) -> Summary:
        assert order.thread_id is not None
        body = body_of_order(order)
        return shown(await self.ask("POST", order.thread_id, "/runs", order.owner, body))

    async def ask(
        self, method: str, thread_id: str, path: str, owner: Owner, body: Any = None
    ) -> WebResponse:
        """Send one request to a thread, from inside of the deployment."""
        headers = {
            IDENTITY_HEADER: self._services.deployment.secrets.identity,
            PRINCIPAL_HEADER: principal_header(owner),
        }
        stub = self._services.context.objects.get(ThreadObject, thread_id)
        payload = b"" if body is None else json_bytes(body)
        return await stub.serve(WebRequest(method, path, payload, headers))

    # ---- what a reservation asks

    async def persisted(self, reservation: Reservation) -> Summary | None:
        """As `StartSurface.persisted`: the recorded thread is asked, whoever owns it by now."""
        response = await self._of(reservation, "GET", "dispatch-status")
        if response.status == 404:
            return None
        return result_of(shown(response))

    async def live(self, reservation: Reservation) -> bool:
        """As `StartSurface.live`: only a clear answer counts."""
        return yes_or_no(await self._of(reservation, "GET", "start-liveness"), "live")

    async def seal(self, reservation: Reservation) -> bool:
        """As `StartSurface.seal`: only a clear answer counts."""
        body = {"stamp": reservation.updated_at}
        return yes_or_no(await self._of(reservation, "POST", "seal", body), "sealed")

    async def _of(
        self, reservation: Reservation, method: str, verb: str, body: Any = None
    ) -> WebResponse:
        thread_id = reservation.thread_id
        assert thread_id is not None
        path = f"/runs/{reservation.target.id}/{reservation.run_id}/{verb}"
        try:
            return await self.ask(method, thread_id, path, reservation.owner, body)
        except Exception as error:
            raise StartReservationUnreadableError(
                f"the thread of the run does not answer: {verb}"
            ) from error

    # ---- what callers ask

    async def status(
        self, thread_id: str, agent_id: str, run_id: str, owner: Owner
    ) -> Summary | None:
        """Return the run as it was last persisted; None if there is none."""
        response = await self.ask("GET", thread_id, f"/runs/{agent_id}/{run_id}", owner)
        return None if response.status == 404 else shown(response)

    async def resume(
        self,
        thread_id: str,
        agent_id: str,
        run_id: str,
        data: Any,
        owner: Owner,
        suspension: int | None = None,
    ) -> Summary:
        """Go on with a parked run, if it is parked at *suspension* or that is None."""
        path = f"/runs/{agent_id}/{run_id}/resume"
        body = body_of_resumption(data, suspension)
        return shown(await self.ask("POST", thread_id, path, owner, body))

    async def terminate(self, thread_id: str, agent_id: str, run_id: str, owner: Owner) -> Summary:
        """End a run from outside."""
        path = f"/runs/{agent_id}/{run_id}/terminate"
        return shown(await self.ask("POST", thread_id, path, owner, {}))

    async def signal(self, thread_id: str, kind: str, message: Any, owner: Owner) -> Summary:
        """Send a "message" to a thread, or "wake" it with one."""
        path = f"/signals/{kind}"
        return shown(await self.ask("POST", thread_id, path, owner, {"message": message}))


def shown(response: WebResponse) -> Summary:
    """Return what a thread answered.

    Raises:
        RunRouteError: it is an error; one whose body cannot be read has no reason.
    """
    if not is_ok(response):
        raise error_from(response)
    return cast(Summary, do_summary(response))


def yes_or_no(response: WebResponse, field: str) -> bool:
    """Return the yes or no of a thread.

    Raises:
        StartReservationUnreadableError: it says neither.
    """
    try:
        return clear_answer(response, field)
    except Exception as error:
        raise StartReservationUnreadableError(
            f"the thread of the run does not say clearly: {field}"
        ) from error
