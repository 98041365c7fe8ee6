"""The operator's routes: the execution fence, and the inventory of outstanding work.

They stand behind the check of the deployment's identity and ahead of every tenant's route. Who has
no secret configured answers 503, never open. Source: spec/run-claims.md 1.12.
"""

import hmac
import re
from collections.abc import Callable
from typing import Any, Final, cast

import attrs

from ...wire import DoStatusError
from ..worker import WebRequest, WebResponse
from .fence import FenceWiring
from .http import (
    BodyTooLargeError,
    do_error_response,
    json_response,
    message_of,
    no_store,
    read_object,
)
from .inventory import Inventory
from .reservations import Log
from .run_errors import InvalidRunRequestError

__all__ = ["FENCE_PATH", "INVENTORY_PATH", "AdminRoutes"]

FENCE_PATH: Final = "/admin/execution-fence"
INVENTORY_PATH: Final = "/admin/inventory"

METHODS: Final = {FENCE_PATH: ("GET", "POST"), INVENTORY_PATH: ("GET",)}

BODY_BYTES_MAX: Final = 4096
TOKEN_MAX: Final = 256
SECRET: Final = re.compile(r"[\x21-\x7e]{32,256}\Z")
"""Printable ASCII without spaces: nothing that a header or a shell would change."""

BEARER: Final = "bearer "


@attrs.frozen
class AdminRoutes:
    """What an operator can ask.

    Attributes:
        secret: MAINTENANCE_ADMIN_SECRET; None if it is not configured.
        identity_secret: of the deployment, which must be another one.
    """

    fence: FenceWiring
    inventory: Inventory
    log: Log
    secret: str | None = attrs.field(default=None, repr=False)
    identity_secret: str | None = attrs.field(default=None, repr=False)

    async def serve(self, request: WebRequest) -> WebResponse | None:
        """Answer *request*; None if its path is none of these.

        Path, method, credential, body, store: in this order, so that nobody without the secret
        learns more than that the path is there.
        """
        methods = METHODS.get(request.path)
        if methods is None:
            return None
        if request.method not in methods:
            return refused(405, f"{request.method} is not answered here")
        return self._unauthorized(request) or await self._answer(request)

    def _unauthorized(self, request: WebRequest) -> WebResponse | None:
        """Return what to answer instead, or None for whoever has the secret."""
        if not is_configured(self.secret, self.identity_secret):
            return refused(503, "execution fence administration unavailable")
        if not is_bearer(request.headers.get("authorization", ""), cast(str, self.secret)):
            return refused(401, "authentication required")
        return None

    async def _answer(self, request: WebRequest) -> WebResponse:
        try:
            return no_store(json_response(200, await self._handler(request)(request)))
        except (DoStatusError, InvalidRunRequestError, BodyTooLargeError) as error:
            return no_store(do_error_response(error))
        except Exception as error:
            self.log("admin-route-failed", {"path": request.path, "error": message_of(error)})
            return refused(500, "the request failed")

    def _handler(self, request: WebRequest) -> Callable[[WebRequest], Any]:
        if request.path == INVENTORY_PATH:
            return self._sweep
        return self._read if request.method == "GET" else self._transition

    async def _read(self, request: WebRequest) -> dict[str, str]:
        del request
        if self.fence == "none":
            return {"state": "open"}
        return (await self.fence.read()).json()

    async def _transition(self, request: WebRequest) -> dict[str, str]:
        body = read_object(request, BODY_BYTES_MAX)
        proof_key = body.get("proofKey")
        if proof_key is not None and not isinstance(proof_key, str):
            raise InvalidRunRequestError("proofKey: a text is needed")
        if self.fence == "none":
            raise InvalidRunRequestError("this deployment has no execution fence")
        expected, following = text(body, "expected"), text(body, "next")
        reading = await self.fence.transition(expected, following, proof_key)
        self.log("execution-fence-moved", {"from": expected, "to": str(reading.state)})
        return {"state": str(reading.state)}

    async def _sweep(self, request: WebRequest) -> dict[str, Any]:
        del request
        return (await self.inventory.sweep()).json()


def refused(status: int, message: str) -> WebResponse:
    """Return an answer with no reason."""
    return no_store(json_response(status, {"error": message}))


def is_configured(secret: str | None, identity_secret: str | None) -> bool:
    """Whether there is a secret that can be one, and is no other's."""
    return secret is not None and SECRET.match(secret) is not None and secret != identity_secret


def is_bearer(header: str, secret: str) -> bool:
    """Whether *header* bears *secret*; how long the answer takes says nothing about how nearly."""
    token = header[len(BEARER) :] if header[: len(BEARER)].lower() == BEARER else ""
    if not token or len(token) > TOKEN_MAX:
        return False
    return hmac.compare_digest(token.encode(), secret.encode())


def text(body: dict[str, Any], field: str) -> str:
    """Return a field that must be a text."""
    value = body.get(field)
    if not isinstance(value, str):
        raise InvalidRunRequestError(f"{field}: a text is needed")
    return value
