"""What can go wrong inside an object, as its own code sees it.

What its callers see is in `wire`: an error with a code, or `OutcomeUnknown`.
"""

from ..wire import Address

__all__ = [
    "ConstraintsViolated",
    "DatabaseFailed",
    "SqlFailed",
    "StorageFailed",
    "TransactionByStatement",
    "TransactionOver",
]


class StorageFailed(Exception):
    """The storage of an object could not be read or written.

    After a read: nothing changed, and reading again may work. After a write: the incarnation is
    discarded, its callers get `ObjectReset`, and the stored state is that before the turn, unless
    the message says that nobody can tell.
    """

    def __init__(self, address: Address, reason: str) -> None:
        super().__init__(address, reason)
        self.address = address
        self.reason = reason

    def __str__(self) -> str:
        return f"the storage of {self.address} failed: {self.reason}"


class TransactionOver(Exception):
    """A transaction was used after its end or its rollback. Nothing was read or written."""


class DatabaseFailed(Exception):
    """The shared database could not be asked, refused, or did not answer. The cause is chained.

    Attributes:
        nothing_ran: True if it is certain that nothing was written: the same may be sent again.
            False if nobody can tell; reading may.
    """

    def __init__(self, reason: str, *, nothing_ran: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.nothing_ran = nothing_ran

    def __str__(self) -> str:
        fact = "nothing ran" if self.nothing_ran else "nobody can tell whether it ran"
        return f"{self.reason}; {fact}"


class SqlFailed(Exception):
    """A statement could not be executed. It changed nothing; what was executed before it stands."""


class TransactionByStatement(SqlFailed):
    """A statement would begin or end a transaction. It was not executed; nothing changed (TX-8).

    Use `storage.transaction()` or `storage.transaction_sync()`: they know of the turn's commit.
    """


class ConstraintsViolated(Exception):
    """A turn ended with a constraint of its SQL data violated: none of its writes is stored.

    The object is reset (OG-4, OG-5); the stored state is that before the turn.
    """
