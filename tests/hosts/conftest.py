"""Folders for the tests of hosts."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach: those of pytest are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="durasim-open-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)
