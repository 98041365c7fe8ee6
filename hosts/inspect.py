"""Reading a host's file without being its host, and without changing a byte beside it.

A file that a host has open is read through SQLite, as of one moment. One that was closed is read as
immutable. One whose host was killed still has a write-ahead log: reading that in place would write,
so the two files are copied and the copy is read.
"""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

import attrs

from ..wire import Address, WireError, decode
from .errors import DATABASE_ERRORS, HostFileCorrupt, HostFileForeign, HostFileMissing, file_error
from .fileformat import alarm_sum, check_format, check_path, entry_sum, seed_sum
from .filelock import is_held

VALUE_CHARACTERS_MAX = 200
"""Characters of a value that are shown; the rest is counted."""


@attrs.frozen(kw_only=True)
class InspectedKey:
    """One stored value.

    Attributes:
        key: its key.
        size: bytes of the encoded value.
        text: the value as Python writes it, shortened; why not, if it cannot be decoded here.
        is_readable: whether `text` is the value.
    """

    key: str
    size: int
    text: str
    is_readable: bool


@attrs.frozen(kw_only=True)
class InspectedObject:
    """One object: its keys in order, and its alarm in microseconds since 1970 UTC or None."""

    address: Address
    keys: tuple[InspectedKey, ...]
    alarm: int | None


@attrs.frozen(kw_only=True)
class Inspection:
    """What a host's file holds, objects in order of address.

    Attributes:
        path: of the file.
        is_open: whether a host had the file open.
        objects: those that keep anything.
    """

    path: str
    is_open: bool
    objects: tuple[InspectedObject, ...]

    def as_json(self) -> dict[str, object]:
        """Return the same as plain values for JSON."""
        return {
            "path": self.path,
            "open": self.is_open,
            "objects": [
                {
                    "class": found.address.kind,
                    "name": found.address.name,
                    "alarm": found.alarm,
                    "keys": [
                        {
                            "key": entry.key,
                            "size": entry.size,
                            "value": entry.text,
                            "readable": entry.is_readable,
                        }
                        for entry in found.keys
                    ],
                }
                for found in self.objects
            ],
        }


def inspect_file(path: Path | str) -> Inspection:
    """Read the whole file of a host.

    Raises:
        StoreError: it does not exist, is no host's file, or is damaged. It was left as it is.
    """
    file = Path(path).resolve()
    check_path(file)
    if not file.exists():
        raise HostFileMissing(f"{file}: does not exist")
    is_open = is_held(file)
    try:
        with _opened(file, is_open=is_open) as connection:
            if not check_format(connection, file):
                raise HostFileForeign(f"{file}: holds nothing; it is no host's file, or not yet")
            return Inspection(path=str(path), is_open=is_open, objects=_objects(connection, file))
    except DATABASE_ERRORS as error:
        raise file_error(str(file), error) from error


@contextlib.contextmanager
def _opened(file: Path, *, is_open: bool) -> Generator[sqlite3.Connection]:
    log = Path(f"{file}-wal")
    if is_open:
        with _connected(file, "mode=ro") as connection:
            yield connection
    elif log.exists() and log.stat().st_size:
        with tempfile.TemporaryDirectory(prefix="durasim-inspect-") as folder:
            copy = Path(folder) / "objects.db"
            shutil.copyfile(file, copy)
            shutil.copyfile(log, f"{copy}-wal")
            with _connected(copy, "mode=rw") as connection:
                yield connection
    else:
        with _connected(file, "mode=ro&immutable=1") as connection:
            yield connection


@contextlib.contextmanager
def _connected(file: Path, mode: str) -> Generator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{quote(str(file))}?{mode}", uri=True, isolation_level=None)
    try:
        # One read transaction: everything is shown as of one moment.
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def _objects(connection: sqlite3.Connection, file: Path) -> tuple[InspectedObject, ...]:
    keys: dict[Address, list[InspectedKey]] = {}
    for kind, name, key, value, stored in connection.execute(
        "SELECT kind, name, key, value, sum FROM entries ORDER BY kind, name, key"
    ):
        if entry_sum(seed_sum(kind, name), key, value) != stored:
            raise HostFileCorrupt(f"{file}: the value {key!r} of {kind}/{name} is damaged")
        keys.setdefault(Address(kind, name), []).append(_shown(key, value))
    alarms: dict[Address, int] = {}
    for kind, name, time, stored in connection.execute("SELECT kind, name, time, sum FROM alarms"):
        if alarm_sum(seed_sum(kind, name), time) != stored:
            raise HostFileCorrupt(f"{file}: the alarm of {kind}/{name} is damaged")
        alarms[Address(kind, name)] = time
    return tuple(
        InspectedObject(
            address=address, keys=tuple(keys.get(address, ())), alarm=alarms.get(address)
        )
        for address in sorted(keys.keys() | alarms.keys())
    )


def _shown(key: str, data: bytes) -> InspectedKey:
    try:
        text, is_readable = repr(decode(data)), True
    except WireError as error:
        # Mostly a class that the object's own program registers and this one does not.
        text, is_readable = str(error), False
    if len(text) > VALUE_CHARACTERS_MAX:
        more = len(text) - VALUE_CHARACTERS_MAX
        text = f"{text[:VALUE_CHARACTERS_MAX]}… ({more} more characters)"
    return InspectedKey(key=key, size=len(data), text=text, is_readable=is_readable)
