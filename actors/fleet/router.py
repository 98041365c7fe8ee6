"""`FleetRouter`: the stateless front of the fleet. One table says path, scope and handler.

It knows its own Worker version and build and compares credentials; it keeps nothing. A refusal by
code is a body of ours, everything unknown an answer without one. Source: spec/deploy-fence.md B.0
and C.
"""

from hmac import compare_digest
from typing import Any, Final, cast

from ..worker import Route, WebRequest, WebResponse, Worker
from . import fencing, fleet_reads, operating, reconciling, recovery
from .bounds import DRAIN_MINUTES_DEFAULT
from .codes import refused
from .documents import as_mapping
from .outcomes import attempt
from .registry import Registry
from .requests import answer_of, fields_of, text_field, value_of
from .wiring import REGISTRY, Bearers, Scope, fleet_of

__all__ = ["FleetRouter", "covers"]

BEARER: Final = "Bearer "


def covers(bearers: Bearers, scope: Scope, credential: str) -> bool:
    """Whether *credential* is the bearer of *scope*, or of an admin, who may do everything.

    Nothing else is looked at: no permit is a right (P26.2).
    """
    token = credential.removeprefix(BEARER).encode() if credential.startswith(BEARER) else b""
    able = (getattr(bearers, scope), bearers.admin)
    return any(compare_digest(token, each.encode()) for each in able if each)


class FleetRouter(Worker):
    """The routes of the fleet."""

    routes = (
        Route("GET", "/healthz", "healthz"),
        Route("POST", "/drain", "drain", scope="drain"),
        Route("POST", "/undrain", "undrain", scope="drain"),
        Route("POST", "/deploy-fence", "deploy_fence", scope="drain"),
        Route("POST", "/reconcile", "reconcile", scope="drain"),
        Route("GET", "/residents", "residents", scope="read"),
        Route("GET", "/deploy-admissions", "inventory", scope="admin"),
        Route("POST", "/recover-quoted-admission", "recover_quoted", scope="admin"),
        Route("POST", "/recover-admission", "recover_legacy", scope="admin"),
        Route("POST", "/onboard", "onboard", scope="admin"),
        Route("POST", "/offboard", "offboard", scope="admin"),
        Route("POST", "/attach", "attach", scope="operator"),
        Route("POST", "/detach", "detach", scope="operator"),
        Route("POST", "/exec", "exec", scope="operator"),
        Route("POST", "/op", "op", scope="operator"),
        Route("POST", "/deadline", "deadline", scope="operator"),
    )

    def allows(self, scope: str, request: WebRequest) -> int | None:
        """Return None if the credential of *request* covers *scope*, else 401."""
        credential = request.headers.get("authorization", "")
        bearers = fleet_of(self).bearers
        return None if covers(bearers, cast(Scope, scope), credential) else 401

    async def fetch(self, request: WebRequest) -> WebResponse:
        """Answer *request* by the table; a refusal has a body of ours."""
        try:
            return await super().fetch(request)
        except Exception as error:
            return answer_of(error)

    @property
    def _registry(self) -> Registry:
        return self.objects.get(Registry, REGISTRY)

    async def healthz(self, request: WebRequest) -> dict[str, Any]:
        """Say which build answers (OP-36)."""
        del request
        return fleet_reads.health(self)

    async def drain(self, request: WebRequest) -> dict[str, Any]:
        """Refuse new runs for a while (OP-01)."""
        fields = fields_of(request)
        minutes = fields.get("minutes", DRAIN_MINUTES_DEFAULT)
        if minutes is None:
            raise refused("BAD_REQUEST", "minutes: null is no number of them")
        by, reason = fields.get("by", ""), fields.get("reason", "")
        draining = value_of(await attempt(self._registry.drain(minutes, by, reason)))
        return {"ok": True, "draining": draining}

    async def undrain(self, request: WebRequest) -> dict[str, Any]:
        """Lift the drain, unless its fence, its holds or unsettled permits forbid it (OP-02).

        A body that names a `drainId` lifts that drain and no other.
        """
        fields = as_mapping(request.body) or {}
        producer = fleet_of(self).producer.wire()
        if "drainId" in fields:
            lift = self._registry.undrain_exactly(producer, text_field(fields, "drainId"))
        else:
            lift = self._registry.undrain(producer)
        said = as_mapping(value_of(await attempt(lift))) or {}
        return {"maintenance": None, **said, "ok": True}

    async def deploy_fence(self, request: WebRequest) -> dict[str, Any]:
        """Close the fleet and say whether it is quiet (OP-03)."""
        del request
        return await fencing.deploy_fence(self)

    async def reconcile(self, request: WebRequest) -> dict[str, Any]:
        """Drive every member to a target (OP-24)."""
        return await reconciling.reconcile(self, request)

    async def residents(self, request: WebRequest) -> dict[str, Any]:
        """List the members as they are (OP-28)."""
        del request
        return await fleet_reads.residents(self)

    async def inventory(self, request: WebRequest) -> dict[str, Any]:
        """List or quote permits (OP-13)."""
        return await recovery.inventory(self, request)

    async def recover_quoted(self, request: WebRequest) -> dict[str, Any]:
        """Retire one debt on an operator's word (OP-14)."""
        return await recovery.recover_quoted(self, request)

    async def recover_legacy(self, request: WebRequest) -> dict[str, Any]:
        """Refuse a recovery without a quote (OP-15)."""
        return await recovery.recover_legacy(self, request)

    async def onboard(self, request: WebRequest) -> dict[str, Any]:
        """Add a member (OP-32)."""
        return await operating.onboard(self, request)

    async def offboard(self, request: WebRequest) -> dict[str, Any]:
        """Take a member off the list (OP-32)."""
        return await operating.offboard(self, request)

    async def attach(self, request: WebRequest) -> dict[str, Any]:
        """Give a workspace to its owner (OP-29)."""
        return await operating.operate(self, "attach", request)

    async def detach(self, request: WebRequest) -> dict[str, Any]:
        """Release a registration (OP-30)."""
        return await operating.operate(self, "detach", request)

    async def exec(self, request: WebRequest) -> dict[str, Any]:
        """Run a command in a workspace (OP-30)."""
        return await operating.operate(self, "exec", request)

    async def op(self, request: WebRequest) -> dict[str, Any]:
        """Run an operation of the member in a workspace (OP-30)."""
        return await operating.operate(self, "op", request)

    async def deadline(self, request: WebRequest) -> dict[str, Any]:
        """Store when a run has to have ended (OP-30)."""
        return await operating.operate(self, "set_deadline", request)
