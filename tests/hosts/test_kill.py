"""A kill at a random moment: acknowledged <= stored <= acknowledged + in flight, nothing twice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from durasim.hosts import inspect_file

from ..tidy import ROOT


class Victim:
    """The program that is killed, with what it has said so far."""

    def __init__(self, path: Path) -> None:
        self.sent: set[tuple[str, str]] = set()
        self.acknowledged: set[tuple[str, str]] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hosts.killed", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            bufsize=0,
        )

    def kill_once(self, number: int, chance: random.Random) -> None:
        """Start the child, kill it at a random moment, and hear all that it said."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{number}\n".encode())
        output = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")
        words = output.readline().split()
        assert words[0] == b"pid"
        pid = int(words[1])
        # One in five dies while it opens and recovers the file, the others at work.
        wanted = 0 if chance.random() < 0.2 else chance.randrange(1, 80)
        heard = 0
        while heard < wanted:
            heard += self.hear(output.readline())
        time.sleep(chance.random() * 0.004 if wanted else chance.random() * 0.02)
        os.kill(pid, signal.SIGKILL)
        while (line := output.readline()) != b"dead\n":
            self.hear(line)
        output.close()

    def hear(self, line: bytes) -> bool:
        """Note what *line* says; returns whether it acknowledges."""
        kind, name, request = line.decode().split()
        (self.sent if kind == "s" else self.acknowledged).add((name, request))
        return kind == "a"

    def end(self) -> None:
        """Stop the program."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def stored(path: Path) -> tuple[set[tuple[str, str]], dict[str, int]]:
    """The requests that the file holds, and the total of each object."""
    requests: set[tuple[str, str]] = set()
    totals: dict[str, int] = {}
    for one in inspect_file(path).objects:
        for entry in one.keys:
            if entry.key == "total":
                totals[str(one.address)] = int(entry.text)
            else:
                requests.add((str(one.address), entry.key.removeprefix("request/")))
    return requests, totals


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    """After each: what was acknowledged is stored, what is stored was sent, counted once."""
    path = tmp_path / "objects.db"
    chance = random.Random(9)
    victim = Victim(path)
    kept: set[tuple[str, str]] = set()
    in_flight_and_stored = 0
    try:
        for number in range(200):
            victim.kill_once(number, chance)
            if not path.exists() or path.stat().st_size == 0:
                assert victim.acknowledged == set()
                continue
            requests, totals = stored(path)
            assert victim.acknowledged <= requests, f"lost in round {number}"
            assert requests <= victim.sent, f"never sent, round {number}"
            assert kept <= requests, f"went away in round {number}"
            for name, total in totals.items():
                counted = sum(1 for owner, _ in requests if owner == name)
                assert total == counted, f"{name} counted twice in round {number}"
            in_flight_and_stored += len(requests - kept - victim.acknowledged)
            kept = requests
    finally:
        victim.end()
    # The kills were at interesting moments: some took a reply whose commit was durable.
    assert len(victim.acknowledged) > 2000
    assert in_flight_and_stored > 20
