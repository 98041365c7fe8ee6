"""A call and its answer: values, and their bytes as positional arrays."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .codec import REFUSALS, pack, pack_plain, unpack
from .errors import MalformedRecord, UnsendableValue
from .limits import MESSAGE_BYTES_MAX
from .records import ErrorRecord, record_from
from .sendable import SCALARS, are_scalars, check, refusal

# Named tuples, not attrs classes: made once and again for every call, and 0.6 us cheaper each.


class Address(NamedTuple):
    """Which object: the stored name of its class, and its own name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Envelope(NamedTuple):
    """One call on its way.

    ``(caller, id)`` names the call; a duplicate on the wire has the same two.
    """

    id: int
    """Number of the call at its caller, from 1."""
    caller: str
    """Name of the calling participant, such as ``alice`` or ``Counter/cart-7``."""
    stub: int
    """Number of the stub at the caller, from 0."""
    order: int
    """Place among the calls of that stub, from 1: first deliveries keep it."""
    incarnation: int
    """The incarnation that this stub is bound to; 0 before its first reply."""
    kind: str
    """Stored class name of the object that is called."""
    name: str
    """Its own name."""
    method: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    deadline: int
    """Microseconds since 1970 UTC by the clock of the caller's host."""
    version: str
    """Code version of the caller."""

    @property
    def address(self) -> Address:
        """The object that is called."""
        return Address(self.kind, self.name)


class Reply(NamedTuple):
    """What came back: a value, or an error record and no value."""

    id: int
    """That of the call; 0 answers a request that could not be read."""
    incarnation: int
    """The incarnation that answered; 0 if none was reached."""
    value: Any
    error: ErrorRecord | None


_INT64_MAX: Final = 2**63 - 1

_HEAD: Final = (int, str, int, int, int, str, str, str, list)
# An empty dict of keywords is written as nil: cheaper, and the common case.
_ENVELOPE_SHAPES: Final = (
    (*_HEAD, type(None), int, str),
    (*_HEAD, dict, int, str),
)


def encode_envelope(envelope: Envelope) -> bytes:
    """The bytes of a call.

    Raises:
        UnsendableValue: an argument has no bytes, or all together are too many. Nothing has left;
            the path begins with ``$.args`` or ``$.kwargs``.
    """
    (id_, caller, stub, order, incarnation, kind, name, method, args, kwargs, deadline, version) = (
        envelope
    )
    fields = [
        id_, caller, stub, order, incarnation, kind, name, method,
        list(args), dict(kwargs) if kwargs else None, deadline, version,
    ]  # fmt: skip
    try:
        if (are_scalars(map(type, args)) or check(fields[8])) and (not kwargs or check(fields[9])):
            data = pack_plain(fields)
        else:
            check(fields[9])
            data = pack(fields)
    except REFUSALS as wrong:
        raise _envelope_refusal(wrong, envelope) from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise UnsendableValue("$", f"takes {len(data)} bytes, more than {MESSAGE_BYTES_MAX}")
    return data


def _envelope_refusal(error: Exception, envelope: Envelope) -> UnsendableValue:
    fields = envelope._asdict()
    return refusal(
        error,
        *((f"$.{field}", value) for field, value in fields.items() if type(value) is str),
        ("$.args", list(envelope.args)),
        ("$.kwargs", dict(envelope.kwargs)),
    )


def decode_envelope(data: bytes) -> Envelope:
    """The call that *data* is.

    Raises:
        MalformedBytes: it is none; the subclass tells why.
    """
    fields: list[Any] = unpack(data)
    if type(fields) is not list or tuple(map(type, fields)) not in _ENVELOPE_SHAPES:
        raise MalformedRecord("an envelope has another length, or a field of another type")
    (id_, caller, stub, order, incarnation, kind, name, method, args, kwargs, deadline, version) = (
        fields
    )
    if not (
        0 < id_ <= _INT64_MAX
        and 0 <= stub <= _INT64_MAX
        and 0 <= order <= _INT64_MAX
        and 0 <= incarnation <= _INT64_MAX
        and -_INT64_MAX <= deadline <= _INT64_MAX
    ):
        raise MalformedRecord("an envelope has a number out of range")
    if kwargs is None:
        kwargs = {}
    elif not {str}.issuperset(map(type, kwargs)):
        raise MalformedRecord("a keyword is no str")
    return Envelope(
        id_, caller, stub, order, incarnation, kind, name, method,
        tuple(args), kwargs, deadline, version,
    )  # fmt: skip


def encode_reply(reply: Reply) -> bytes:
    """The bytes of an answer.

    Raises:
        UnsendableValue: the value has no bytes, or too many. The handler ran all the same; what it
            cannot say, an error record can (`record_of` of this very error).
    """
    id_, incarnation, value, error = reply
    try:
        written = None if error is None else list(error)
        plain = type(value) in SCALARS or check(value)
        if plain and (error is None or check(written)):
            data = pack_plain([id_, incarnation, value, written])
        else:
            check(written)
            data = pack([id_, incarnation, value, written])
    except REFUSALS as wrong:
        written = None if error is None else list(error)
        raise refusal(wrong, ("$.value", value), ("$.error", written)) from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise UnsendableValue("$.value", f"takes {len(data)} bytes, more than {MESSAGE_BYTES_MAX}")
    return data


def decode_reply(data: bytes) -> Reply:
    """The answer that *data* is.

    Raises:
        MalformedBytes: it is none; the subclass tells why.
    """
    fields: list[Any] = unpack(data)
    if type(fields) is not list or len(fields) != 4:
        raise MalformedRecord("a reply is an array of 4")
    id_, incarnation, value, error = fields
    if type(id_) is not int or type(incarnation) is not int:
        raise MalformedRecord("a reply has a field of another type")
    if not (0 <= id_ <= _INT64_MAX and 0 <= incarnation <= _INT64_MAX):
        raise MalformedRecord("a reply has a number out of range")
    if error is None:
        return Reply(id_, incarnation, value, None)
    if value is not None:
        raise MalformedRecord("a reply has both a value and an error")
    return Reply(id_, incarnation, None, record_from(error))
