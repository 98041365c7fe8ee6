"""A try of the built distributions, outside of the repository: `python -m tests.wheel dist`.

The wheel must hold every file of the four layers and nothing else; installed in an environment of
its own it must import, show its command line, and carry its types to a foreign checker.
"""

import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from .tidy import LAYERS, ROOT

FOREIGN = """\
from durasim.hosts import EmbeddedHost

host: int = EmbeddedHost
"""
"""A user's file with one mistake that only a checker that sees our types can find."""


def shipped_files() -> set[str]:
    """Return what the wheel must hold, by its path there."""
    return {
        "durasim/" + path.relative_to(ROOT).as_posix()
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def check_wheel(wheel: Path) -> None:
    """Compare the files of *wheel* with the tree."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = shipped_files()
    assert held == wanted, f"missing {sorted(wanted - held)}, too many {sorted(held - wanted)}"


def check_sdist(sdist: Path) -> None:
    """Look whether *sdist* holds what its tests need."""
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "Makefile", "README.md", "pyproject.toml", "tests/test_tree.py"}
    assert wanted <= held, f"missing {sorted(wanted - held)}"


def check_installed(wheel: Path, folder: Path) -> None:
    """Install *wheel* in a new environment in *folder*, and use it from there."""
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    run([*pip, "install", "--quiet", str(wheel)], folder)
    packages = sorted(name.replace("/", ".") for name in packages_of(wheel))
    run([str(python), "-I", "-W", "error", "-c", f"import {', '.join(packages)}"], folder)
    shown = run([str(folder / "env" / "bin" / "durasim"), "--help"], folder)
    assert "explore" in shown, shown
    (folder / "foreign.py").write_text(FOREIGN)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    found = run([*mypy, "--cache-dir", str(folder / "cache"), "foreign.py"], folder, status=1)
    assert "Found 1 error in 1 file" in found, found


def packages_of(wheel: Path) -> list[str]:
    """Return the folders of *wheel* that are packages."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return [name.removesuffix("/__init__.py") for name in names if name.endswith("/__init__.py")]


def run(command: list[str], folder: Path, *, status: int = 0) -> str:
    """Run *command* in *folder* and return what it says.

    Raises:
        AssertionError: it ended with another status than *status*.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, f"{' '.join(command)}: {done.returncode}\n{done.stdout}"
    return done.stdout


def main() -> None:
    """Check the one wheel and the one sdist in the folder that is named."""
    dist = Path(sys.argv[1]).resolve()
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    with tempfile.TemporaryDirectory() as folder:
        check_installed(wheel, Path(folder))
    sys.stdout.write(f"{wheel.name} installs, imports, runs and is typed\n")


if __name__ == "__main__":
    main()
