"""Ways out of a world: what Python's own modules offer that is different in every run."""

import datetime
import logging
import os
import random
import secrets
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures.thread import ThreadPoolExecutor
from datetime import date, datetime as imported_datetime
from functools import partial
from typing import Any

import trio

from durasim.actors import DurableObject

LEAKS: dict[str, Callable[[], Any]] = {
    "time.time()": lambda: time.time(),
    "time.time_ns()": lambda: time.time_ns(),
    "time.monotonic()": lambda: time.monotonic(),
    "time.perf_counter()": lambda: time.perf_counter(),
    "time.sleep()": lambda: time.sleep(0),
    "time.localtime()": lambda: time.localtime(),
    "time.gmtime()": lambda: time.gmtime(),
    "time.strftime()": lambda: time.strftime("%Y"),
    "datetime.now()": lambda: imported_datetime.now(),
    "datetime.now() ": lambda: datetime.datetime.now(datetime.UTC),
    "date.today()": lambda: date.today(),
    "date.today() ": lambda: imported_datetime.today(),
    "random.random()": lambda: random.random(),
    "random.randint()": lambda: random.randint(1, 6),
    "random.choice()": lambda: random.choice("ab"),
    "random.seed()": lambda: random.seed(1),
    "random.Random() without a seed": lambda: random.Random(),
    "the entropy of the system": lambda: random.SystemRandom().random(),
    "the entropy of the system ": lambda: secrets.token_hex(),
    "uuid.uuid1()": lambda: uuid.uuid1(),
    "uuid.uuid4()": lambda: uuid.uuid4(),
    "os.urandom()": lambda: os.urandom(1),
    "os.getrandom()": lambda: os.getrandom(1),
    "os.fork()": lambda: os.fork(),
    "os.system()": lambda: os.system("true"),  # pyright: ignore[reportDeprecated]
    "threading.Thread.start()": lambda: threading.Thread(target=int).start(),
    "threading.Thread.start() ": lambda: threading.Timer(0, int).start(),
    "ThreadPoolExecutor.submit()": lambda: ThreadPoolExecutor(1).submit(int),
    "a thread of trio": lambda: trio.to_thread.run_sync(int),
    "a thread of trio ": lambda: trio.Path(".").exists(),
    "a thread of trio  ": partial(trio.run_process, ["true"]),
    "socket.socket()": lambda: socket.socket(),
    "socket.socket() ": lambda: trio.socket.socket(),
    "socket.getaddrinfo()": lambda: socket.create_connection(("127.0.0.1", 1)),
    "socket.getaddrinfo() ": partial(trio.open_tcp_stream, "127.0.0.1", 1),
    "subprocess.Popen()": lambda: subprocess.run(["true"], check=False),
    "the name of a temporary file": lambda: tempfile.mkstemp(),
}
"""By what is said of each; blanks at the end keep them apart."""

HARMLESS: dict[str, Callable[[], Any]] = {
    "a time that is given": lambda: time.gmtime(0),
    "a form of a time that is given": lambda: time.strftime("%Y", time.gmtime(0)),
    "a date that is given": lambda: imported_datetime.fromtimestamp(0, datetime.UTC),
    "a seed": lambda: random.Random(3).random(),
    "another number of bits": lambda: random.Random(3).getrandbits(70),
    "a log line": lambda: logging.getLogger("nobody").warning("a line"),
    "virtual time": trio.current_time,
    "a uuid that is given": lambda: uuid.UUID(int=4),
    "a uuid of a name": lambda: uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"),
}
"""What is the same in every run, and what only the log sees."""


class Leaky(DurableObject):
    """Reaches out."""

    async def leak(self, name: str) -> str:
        """Reach out by the way *name*."""
        found = (LEAKS | HARMLESS)[name]()
        if hasattr(found, "__await__"):
            await found
        return "it came back"

    async def swallow(self, name: str) -> None:
        """Reach out, and go on as if nothing were."""
        try:
            LEAKS[name]()
        except Exception:
            return
