"""`make demo`: explores the lost-reply example. Status 0 if the naive client fails and the repaired
one holds, as they must."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/lost_reply.py"
PROGRAM = [sys.executable, "-m", "durasim.sim.cli"]


def explore(scenario: str) -> int:
    """Explore one scenario of the example, showing the command; returns its status."""
    name = f"{EXAMPLE}:{scenario}"
    out = f".venv/{scenario}.json"  # where no commit sees it, and `replay` finds it afterwards
    print(f"$ durasim explore {name} --out {out}", flush=True)  # noqa: T201
    status = subprocess.run([*PROGRAM, "explore", name, "--out", out], cwd=ROOT).returncode
    print(flush=True)  # noqa: T201
    return status


def main() -> int:
    """Explore both and judge."""
    naive, repaired = explore("naive"), explore("repaired")
    if (naive, repaired) == (1, 0):
        print("As it must be: the naive client counts twice, the repaired one does not.")  # noqa: T201
        print("`. .venv/bin/activate` puts durasim on the path; README.md goes on from here.")  # noqa: T201
        return 0
    print(f"This is wrong: naive ended with {naive} (not 1), repaired with {repaired} (not 0).")  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
