"""What an object is: its methods, storage, gates, turns and alarms, over ports."""

from ..wire import (
    Address,
    Deadlock,
    IncarnationGone,
    MethodNotFound,
    ObjectReset,
    OutcomeUnknown,
    Overloaded,
    RemoteError,
    RunRouteError,
)
from .actor import INCARNATION, Actor, is_unwinding
from .calls import Call, Calls, Stub
from .context import Context
from .database import Query, SharedDatabase
from .errors import (
    ConstraintsViolated,
    DatabaseFailed,
    SqlFailed,
    StorageFailed,
    TransactionByStatement,
    TransactionOver,
)
from .gate import SCOPE, InputGate, Section
from .incarnation import Incarnation
from .limits import (
    ALARM_BACKOFF_S,
    ALARM_RETRIES_MAX,
    CALL_DEADLINE_S,
    MAILBOX_REQUESTS_MAX,
    SECTION_S_MAX,
    SECTIONS_DEPTH_MAX,
)
from .object import AlarmInfo, DurableObject, has_alarm_handler
from .objects import Objects, ObjectsLike
from .pending import Owner, Pending, Waiter
from .placeholders import placed
from .ports import (
    Clock,
    Commit,
    Database,
    DatabaseLink,
    Entropy,
    ObjectStore,
    Origin,
    Ports,
    Probe,
    Queried,
    SqlSession,
    SqlStore,
    Store,
    Timer,
    Transport,
    Turns,
)
from .program import Program, ProgramEnd, ProgramRun
from .ready import Ready
from .request import AlarmEnd, MethodCall, Request
from .rows import Rows
from .sql import Sql
from .statements import QueryRows, SqlValue, Statement, batch_label
from .storage import Storage, Transaction, instant, microseconds
from .worker import Route, WebRequest, WebResponse, Worker, WorkerRun

__all__ = [
    "ALARM_BACKOFF_S",
    "ALARM_RETRIES_MAX",
    "CALL_DEADLINE_S",
    "INCARNATION",
    "MAILBOX_REQUESTS_MAX",
    "SCOPE",
    "SECTIONS_DEPTH_MAX",
    "SECTION_S_MAX",
    "Actor",
    "Address",
    "AlarmEnd",
    "AlarmInfo",
    "Call",
    "Calls",
    "Clock",
    "Commit",
    "ConstraintsViolated",
    "Context",
    "Database",
    "DatabaseFailed",
    "DatabaseLink",
    "Deadlock",
    "DurableObject",
    "Entropy",
    "Incarnation",
    "IncarnationGone",
    "InputGate",
    "MethodCall",
    "MethodNotFound",
    "ObjectReset",
    "ObjectStore",
    "Objects",
    "ObjectsLike",
    "Origin",
    "OutcomeUnknown",
    "Overloaded",
    "Owner",
    "Pending",
    "Ports",
    "Probe",
    "Program",
    "ProgramEnd",
    "ProgramRun",
    "Queried",
    "Query",
    "QueryRows",
    "Ready",
    "RemoteError",
    "Request",
    "Route",
    "Rows",
    "RunRouteError",
    "Section",
    "SharedDatabase",
    "Sql",
    "SqlFailed",
    "SqlSession",
    "SqlStore",
    "SqlValue",
    "Statement",
    "Storage",
    "StorageFailed",
    "Store",
    "Stub",
    "Timer",
    "Transaction",
    "TransactionByStatement",
    "TransactionOver",
    "Transport",
    "Turns",
    "Waiter",
    "WebRequest",
    "WebResponse",
    "Worker",
    "WorkerRun",
    "batch_label",
    "has_alarm_handler",
    "instant",
    "is_unwinding",
    "microseconds",
    "placed",
]
