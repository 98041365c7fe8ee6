"""`make demo`: drains a deployment and opens it again, with wrong code and with right code.

Status 0 if the wrong code strands every key over objects and over agents and none in process, and
right code strands none, as it must be.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent

WRONG = "durasim run drain_reopen --set design=router --mutant instanceof_only"
FINAL = """--set keys=3 --trace | grep -o "final: ('key-.', ...\""""


def final(status: int) -> str:
    """Return what `FINAL` prints if each of three keys ends with *status*."""
    return "".join(f"final: ('key-{key}', {status}\n" for key in (1, 2, 3))


STEPS = (
    (
        """\
Three callers start runs, each under a key. An operator drains the deployment, so all starts are
refused; then opens it again, and every caller tries again. The code is wrong on purpose: it knows
a refusal by the class of the error. In one process that works, and every key ends with 200:""",
        f"{WRONG} --topology process {FINAL}",
        final(200),
    ),
    (
        """\
Where each run is an object of its own, an error arrives as status and reason, without its class.
Nobody gives the keys back, and not one of the retries ever runs:""",
        f"{WRONG} --topology objects {FINAL}",
        final(409),
    ),
    (
        "The same where runs live in the threads of agents:",
        f"{WRONG} --topology agents {FINAL}",
        final(409),
    ),
    (
        "One of these keys, from its first call to the verdict:",
        f"{WRONG} --topology objects --set keys=1 --trace",
        "It happens in the ordinary run: nothing has to go wrong.",
    ),
    (
        "Right code, in all three and under every way of giving a key back:",
        "durasim explore drain_reopen --runs 60",
        "✓ drain_reopen held",
    ),
)


def say(text: str) -> None:
    """Print *text* now."""
    print(text, flush=True)  # noqa: T201


def main() -> int:
    """Take the steps, and judge what each has printed."""
    path = os.pathsep.join((str(PROGRAMS), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    wrong: list[str] = []
    for why, command, expected in STEPS:
        say(f"{why}\n\n$ {command}")
        ran = subprocess.run(
            command, shell=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True,
            encoding="utf-8",
        )  # fmt: skip
        say(ran.stdout)
        if expected not in ran.stdout:
            wrong.append(f"This is wrong: `{command}` did not print:\n{expected}")
    if wrong:
        say("\n".join(wrong))
        return 1
    say("As it must be: what one process hides, a wire shows; right code strands no key.")
    say("`. .venv/bin/activate` puts durasim on the path; README.md goes on from here.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
