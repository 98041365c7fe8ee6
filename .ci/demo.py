"""`make demo`: explores the lost-reply example. Status 0 if the naive client fails and the repaired
one holds, as they must."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/lost_reply.py"
PROGRAM = [sys.executable, "-m", "durasim.sim.cli"]


def explore(scenario: str, folder: str) -> int:
    """Explore one scenario of the example, showing the command; returns its status."""
    name = f"{EXAMPLE}:{scenario}"
    print(f"$ durasim explore {name}", flush=True)  # noqa: T201
    out = str(Path(folder) / f"{scenario}.json")
    status = subprocess.run([*PROGRAM, "explore", name, "--out", out], cwd=ROOT).returncode
    print(flush=True)  # noqa: T201
    return status


def main() -> int:
    """Explore both and judge."""
    with tempfile.TemporaryDirectory() as folder:
        naive, repaired = explore("naive", folder), explore("repaired", folder)
    if (naive, repaired) == (1, 0):
        print("As it must be: the naive client counts twice, the repaired one does not.")  # noqa: T201
        return 0
    print(f"This is wrong: naive ended with {naive} (not 1), repaired with {repaired} (not 0).")  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
