"""What a statement of SQL gave."""

from collections.abc import Iterator

import attrs

__all__ = ["Rows"]


@attrs.frozen
class Rows:
    """What a statement gave: the names of its columns, and all its rows."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def dicts(self) -> list[dict[str, object]]:
        """Return each row by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def one(self) -> tuple[object, ...]:
        """Return the only row.

        Raises:
            LookupError: there is none, or more than one.
        """
        if len(self.rows) != 1:
            raise LookupError(f"expected exactly one row, there are {len(self.rows)}")
        return self.rows[0]
