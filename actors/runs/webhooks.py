"""Webhooks: deliveries of providers, signed, kept once each and handed on.

Signature, fence, parsing: in this order, so that a stranger learns nothing and a closed deployment
parses nothing. A delivery that was received and not handled is outstanding work; the provider's
next try of it hands it on again. Source: spec/run-claims.md 1.10.
"""

import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs

from ..ports import Database
from ..worker import Route, WebRequest, WebResponse
from .fence import FenceWiring
from .gates import pass_gate
from .http import (
    BodyTooLargeError,
    json_response,
    message_of,
    no_store,
    read_object,
    router_error_response,
)
from .names import is_path_safe
from .reservations import Log
from .run_errors import InvalidRunRequestError, RunError
from .surface import BODY_BYTES_MAX
from .tables import Tables

__all__ = ["Delivery", "SignatureError", "WebhookIngress", "signature_of"]

TABLE: Final = "flowsafe_webhook_deliveries"
CREATE: Final = (
    f"""CREATE TABLE IF NOT EXISTS {TABLE} (
    provider TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('received', 'handled')),
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (provider, delivery_id)
)""",
    f"CREATE INDEX IF NOT EXISTS {TABLE}_state ON {TABLE} (state)",
)
INSERT: Final = f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?, 'received', ?)"
STATE: Final = f"SELECT state FROM {TABLE} WHERE provider = ? AND delivery_id = ?"
HANDLED: Final = (
    f"UPDATE {TABLE} SET state = 'handled', updated_at = ? WHERE provider = ? AND delivery_id = ?"
)
ROUTE: Final = Route("POST", "/webhooks/{provider}", "")
SIGNATURE: Final = "x-flowsafe-signature"
DELIVERY: Final = "x-flowsafe-delivery"


class SignatureError(RunError):
    """The delivery is not signed with the provider's secret. Nothing of it was looked at."""

    status = 401


@attrs.frozen
class Delivery:
    """One delivery of a provider.

    Attributes:
        id: the provider's own; it delivers under the same one again.
    """

    provider: str
    id: str
    body: Mapping[str, Any]


def signature_of(secret: str, body: bytes) -> str:
    """Return what a provider with *secret* puts into the header of the signature."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


class WebhookIngress:
    """Takes deliveries in."""

    def __init__(
        self,
        database: Database,
        fence: FenceWiring,
        secrets: Mapping[str, str],
        handle: Callable[[Delivery], Awaitable[None]],
        now_ms: Callable[[], int],
        audit: Log,
    ) -> None:
        """Keep deliveries in *database* and hand them to *handle*, which may get one twice.

        Args:
            database: shared by everybody.
            fence: asked for each delivery.
            secrets: by provider; who is not in it delivers nothing.
            handle: does what a delivery asks for.
            now_ms: stamps rows.
            audit: told of each delivery, with its outcome.
        """
        self._tables = Tables(database, (TABLE,), CREATE)
        self._fence: FenceWiring = fence
        self._secrets = secrets
        self._handle = handle
        self._now_ms = now_ms
        self._audit = audit

    async def serve(self, request: WebRequest) -> WebResponse | None:
        """Answer *request*; None if its path is no webhook's. No caller is authenticated here."""
        parameters = ROUTE.match(request.path)
        if parameters is None:
            return None
        if request.method != ROUTE.method:
            return no_store(json_response(405, {"error": "a delivery is posted"}))
        provider = parameters["provider"]
        try:
            outcome = await self._deliver(provider, request)
        except Exception as error:
            self._audit(
                "webhook-delivery",
                {"provider": provider, "outcome": f"refused: {message_of(error)}"},
            )
            return router_error_response(error)
        self._audit("webhook-delivery", {"provider": provider, "outcome": outcome})
        return no_store(json_response(200, {"outcome": outcome}))

    async def _deliver(self, provider: str, request: WebRequest) -> str:
        self._check_signature(provider, request)
        await pass_gate(self._fence, "webhook-ingress")
        return await self._receive(parsed(provider, request))

    def _check_signature(self, provider: str, request: WebRequest) -> None:
        secret = self._secrets.get(provider)
        body = request.body if isinstance(request.body, bytes) else b""
        if len(body) > BODY_BYTES_MAX:
            raise BodyTooLargeError(f"the body has more than {BODY_BYTES_MAX} bytes")
        given = request.headers.get(SIGNATURE, "").encode()
        # A provider that nobody knows costs as much time as a wrong signature.
        wanted = signature_of("" if secret is None else secret, body).encode()
        if not hmac.compare_digest(given, wanted) or not secret:
            raise SignatureError("the delivery is not signed by a known provider")

    async def _receive(self, delivery: Delivery) -> str:
        kept = json.dumps(dict(delivery.body))
        name = (delivery.provider, delivery.id)
        _, (row,) = [
            each.rows
            for each in await self._tables.insert(
                (INSERT, (*name, kept, self._now_ms())), (STATE, name)
            )
        ]
        if row[0] == "handled":
            return "known"
        await self._handle(delivery)
        await self._tables.change(HANDLED, self._now_ms(), *name)
        return "handled"


def parsed(provider: str, request: WebRequest) -> Delivery:
    """Return the delivery that *request* brings."""
    name = request.headers.get(DELIVERY)
    if not is_path_safe(name):
        raise InvalidRunRequestError(f"{DELIVERY}: a path-safe id is needed")
    return Delivery(provider, name, read_object(request, BODY_BYTES_MAX))
