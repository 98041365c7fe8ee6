"""What a fleet consists of: what the host gives to its actors as `env["fleet"]`."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, cast

import attrs

from ..context import Context
from ..objects import Objects
from .identities import Producer
from .native import Containers

__all__ = ["Bearers", "FleetDeployment", "Scope", "fleet_of"]

Scope = Literal["admin", "drain", "read", "operator"]

REGISTRY: Final = "registry"
"""Name of the one Registry."""
LEDGER: Final = "runs"
"""Name of the one run ledger."""


@attrs.frozen
class Bearers:
    """The credential of each scope; `admin` implies every other."""

    admin: str = attrs.field(repr=False)
    drain: str = attrs.field(repr=False)
    read: str = attrs.field(repr=False)
    operator: str = attrs.field(repr=False)


def unheard(code: str, fields: Mapping[str, Any]) -> None:
    """Tell nobody."""
    del code, fields


@attrs.frozen(kw_only=True)
class FleetDeployment:
    """One deployed version of the fleet's code with its bindings.

    Attributes:
        producer: the Worker that runs, by its read-only bindings.
        bearers: what the router compares credentials with.
        containers: from the stubs of an actor and the physical member's name to its container.
        policy: the staging policy that is bound; None on every default profile. Part two reads it.
        report: told what operators should see in their log and no caller is told: how each permit
            was settled, by code.
        legacy_elapsed_retained: whether an elapsed registration without an owner counts as
            retained (I-05); default no.
    """

    producer: Producer
    bearers: Bearers
    containers: Callable[[Objects, str], Containers]
    policy: Mapping[str, Any] | None = None
    report: Callable[[str, Mapping[str, Any]], None] = unheard
    legacy_elapsed_retained: bool = False


def fleet_of(context: Context) -> FleetDeployment:
    """Return the deployment in whose code *context* runs."""
    return cast(FleetDeployment, context.env["fleet"])
