"""What goes wrong between values and bytes, told apart by whose mistake it is.

WireError
├── UnsendableValue      our own: a value that has no bytes; nothing left
└── MalformedBytes       the peer's: bytes that have no value; one class for each way
    ├── Truncated            fewer bytes than declared
    ├── TrailingBytes        more bytes than one value
    ├── TooLarge             a message or frame over its bound
    ├── TooDeep              nested deeper than WIRE_DEPTH_MAX
    ├── ReservedByte         the one byte that msgpack gives no meaning
    ├── InvalidText          a string that is not UTF-8
    ├── UnknownExtension     an extension type that is not ours
    ├── MalformedValue       a payload that is no value of its extension type
    ├── MisplacedMark        a constructor mark that does not begin an array
    ├── DuplicateKey         equal keys in a dict, equal elements in a set
    ├── UnhashableKey        a key that no dict can hold
    ├── CollidingKeys        keys chosen to make a dict slow
    ├── UnknownName          a class or enum that is not registered here
    ├── MalformedRecord      wrong arity, type or range in a record
    └── BadFrame             a header that is not ours
"""


class WireError(Exception):
    """A value and bytes could not be turned into each other."""


class UnsendableValue(WireError):
    """The value cannot be written; this is the sender's own mistake.

    Nothing has left: no call was made, and another may be made with another value.

    Attributes:
        path: Where the value stands, from the root ``$``, such as ``$.args[0]["key"].field``.
        reason: Why it cannot be written.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class MalformedBytes(WireError):
    """The bytes are not a message of ours; this is the peer's mistake.

    Nothing of the message was used. The same bytes fail again, always.
    """


class Truncated(MalformedBytes):
    """The bytes end before the value that they declare."""


class TrailingBytes(MalformedBytes):
    """A whole value is followed by more bytes."""


class TooLarge(MalformedBytes):
    """The message or frame is, or declares itself, larger than its bound."""


class TooDeep(MalformedBytes):
    """Arrays and maps are nested deeper than ``WIRE_DEPTH_MAX``."""


class ReservedByte(MalformedBytes):
    """The byte 0xC1, to which msgpack gives no meaning, stands where a value begins."""


class InvalidText(MalformedBytes):
    """A string is not valid UTF-8."""


class UnknownExtension(MalformedBytes):
    """An extension type is none of ours."""


class MalformedValue(MalformedBytes):
    """The payload of one of our extension types is no value of that type."""


class MisplacedMark(MalformedBytes):
    """The mark of a tuple, set or object stands elsewhere than at the head of its array."""


class DuplicateKey(MalformedBytes):
    """A dict has two equal keys, or a set two equal elements."""


class UnhashableKey(MalformedBytes):
    """A key of a dict or an element of a set is a value that cannot be one."""


class CollidingKeys(MalformedBytes):
    """More keys share one hash than honest data ever has: building the dict would be quadratic."""


class UnknownName(MalformedBytes):
    """The bytes name a class or an enum member that is not registered in this process."""


class MalformedRecord(MalformedBytes):
    """A record has the wrong length, or a field of the wrong type or outside of its range."""


class BadFrame(MalformedBytes):
    """The header of a frame has another magic, version or kind than ours."""
