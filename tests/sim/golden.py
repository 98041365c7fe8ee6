"""The digests on record: `python -m tests.sim.golden` writes them anew, `--print` tells them."""

import json
import sys
from pathlib import Path

from durasim.sim import RunResult
from durasim.sim.run import Job, run_jobs

from .busy import jobs

PATH = Path(__file__).parent.parent / "golden" / "digests.json"


def results(order: list[str]) -> dict[str, RunResult]:
    """Run what is on record, all in one trio run, in this *order*; returns the results by name."""
    todo = jobs()
    names = iter(order)
    found: dict[str, RunResult] = {}
    running = ""

    def following(result: RunResult | None) -> Job | None:
        nonlocal running
        if result is not None:
            found[running] = result
        running = next(names, "")
        return todo[running] if running else None

    run_jobs(following)
    return found


def digests(order: list[str] | None = None) -> dict[str, str]:
    """Return the digests of all runs, or of those in *order*."""
    names = list(jobs()) if order is None else order
    return {name: result.digest for name, result in results(names).items()}


def main() -> None:
    """Write or print them."""
    text = json.dumps(digests(), indent=1) + "\n"
    if "--print" in sys.argv:
        sys.stdout.write(text)
    else:
        PATH.write_text(text)


if __name__ == "__main__":
    main()
