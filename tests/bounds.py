"""The lower bounds of the dependencies, as exact requirements: `python -m tests.bounds`."""

import re
import sys
import tomllib

from .tidy import ROOT

BOUND = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)")


def lower_bounds(requirements: list[str]) -> list[str]:
    """Return each requirement with its lower bound as the only version.

    Raises:
        ValueError: a requirement has another form than `name>=version`.
    """
    exact: list[str] = []
    for requirement in requirements:
        match = BOUND.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement!r} is not of the form name>=version")
        exact.append(f"{match[1]}=={match[2]}")
    return exact


def main() -> None:
    """Print what `pip install` must be told."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    sys.stdout.write("\n".join(lower_bounds(project["dependencies"])) + "\n")


if __name__ == "__main__":
    main()
