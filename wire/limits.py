"""Every bound of the wire, with its unit and its reason."""

from typing import Final

# bytes; the platform refuses an RPC message over 32 MiB (durable-objects.md, limits).
MESSAGE_BYTES_MAX: Final = 32 * 1024 * 1024

# bytes; a frame carries one message and its header stands outside of this bound.
FRAME_BYTES_MAX: Final = MESSAGE_BYTES_MAX

# levels of containers in one value; far above what people write, far below where a walk over it
# could exhaust Python's stack.
DEPTH_MAX: Final = 100

# levels of msgpack arrays and maps in one message: a registered object takes two for one level of
# its value, and an envelope, a reply and an error record put a few around it.
WIRE_DEPTH_MAX: Final = 2 * DEPTH_MAX + 32

# elements; msgpack allocates an array or map as long as it *says* it is, before it reads it. Up to
# this length that is harmless (8 bytes times this times the depth); longer ones are counted first.
TRUSTED_LENGTH_MAX: Final = 4096

# equal hashes among the keys of one dict or set; honest data has a handful, and more would make
# building it quadratic: hashes of ints, UUIDs and tuples are not secret.
HASH_COLLISIONS_MAX: Final = 16

# errors in a chain of `__cause__`; a longer one is cut.
CAUSES_MAX: Final = 8

# error records in each other: a chain of causes, the last of them a reset with a chain of its own.
RECORDS_NESTED_MAX: Final = 2 * CAUSES_MAX + 1

# characters of one error's message; what is longer is cut, so that an error always fits a reply.
ERROR_TEXT_MAX: Final = 16 * 1024

# bytes of everything else that one error record carries; if it is more, it is left out.
ERROR_DETAIL_BYTES_MAX: Final = 256 * 1024

# members of a group of errors that are told; the message of the group has their number.
ERROR_MEMBERS_MAX: Final = 32
