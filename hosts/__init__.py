"""Where objects live for real: real time, files and processes."""

from .alarms import Alarms
from .client import Client
from .clock import RealClock
from .counters import Counters, HostStatistics
from .database import SqliteDatabase
from .embedded import EmbeddedHost
from .entropy import SystemEntropy
from .errors import (
    CommitFailed,
    CommitUncertain,
    HostCrashed,
    HostFileBusy,
    HostFileCorrupt,
    HostFileFailed,
    HostFileForeign,
    HostFileFull,
    HostFileMissing,
    HostFileReadOnly,
    HostFileVersion,
    SqlUnavailable,
    StoreError,
)
from .host import Host
from .inspect import InspectedKey, InspectedObject, Inspection, inspect_file
from .loopback import Loopback
from .sockets import RemoteHost, connect, serve
from .sqlite import SqliteStore, StoreStatistics
from .transactions import Transactions
from .turns import StepTurns
from .waits import wait_cycle

__all__ = [
    "Alarms",
    "Client",
    "CommitFailed",
    "CommitUncertain",
    "Counters",
    "EmbeddedHost",
    "Host",
    "HostCrashed",
    "HostFileBusy",
    "HostFileCorrupt",
    "HostFileFailed",
    "HostFileForeign",
    "HostFileFull",
    "HostFileMissing",
    "HostFileReadOnly",
    "HostFileVersion",
    "HostStatistics",
    "InspectedKey",
    "InspectedObject",
    "Inspection",
    "Loopback",
    "RealClock",
    "RemoteHost",
    "SqlUnavailable",
    "SqliteDatabase",
    "SqliteStore",
    "StepTurns",
    "StoreError",
    "StoreStatistics",
    "SystemEntropy",
    "Transactions",
    "connect",
    "inspect_file",
    "serve",
    "wait_cycle",
]
