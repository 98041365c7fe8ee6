"""A host that is made to be killed: `python -m tests.hosts.killed FILE`.

Reads round numbers from standard input. For each it forks a child that opens the file and lets
clients call objects as fast as they can. What the child says on standard output, a line at a time:

    pid N               the child is N
    s OBJECT REQUEST    a client is about to send REQUEST
    a OBJECT REQUEST    the reply has arrived
    dead                (from the parent) the child is gone, all that it said stands before this
"""

import os
import sys

import trio

from durasim.hosts import EmbeddedHost

from .objects import Counter, SerialCounter

CLIENTS = 6


def say(*words: object) -> None:
    """Write one line, in one system call: a kill leaves whole lines."""
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


async def client(host: EmbeddedHost, number: int, prefix: str) -> None:
    """Call two objects in turn without end, each request once."""
    classes = (Counter, SerialCounter)
    count = 0
    while True:
        cls = classes[count % 2]
        name = f"{number % 3}"
        request = f"{prefix}-{number}-{count}"
        stub = host.get(cls, name)
        say("s", f"{cls.__name__}/{name}", request)
        await stub.once(request)
        say("a", f"{cls.__name__}/{name}", request)
        count += 1


async def serve(path: str, prefix: str) -> None:
    """Be a host with clients until killed."""
    async with EmbeddedHost(path) as host, trio.open_nursery() as nursery:
        for number in range(CLIENTS):
            nursery.start_soon(client, host, number, prefix)


def main() -> None:
    """Fork a child for each line of standard input."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            say("pid", os.getpid())
            trio.run(serve, sys.argv[1], line.strip())
            os._exit(1)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
