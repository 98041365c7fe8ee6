"""What the documents show is what happens."""

import re
import shutil
from pathlib import Path

import pytest

from .tidy import LAYERS, ROOT, named
from .transcript import Command, fences, mismatches, steps

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)
RUN = [
    path for path in DOCUMENTS if any(isinstance(step, Command) for step in steps(path.read_text()))
]

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(named(path)))


@pytest.mark.parametrize("path", RUN, ids=lambda path: str(named(path)))
def test_commands_print_what_the_document_says(path: Path, tmp_path: Path) -> None:
    """Each command of the document, in a directory that holds the examples and nothing else."""
    folder = tmp_path / "document"
    folder.mkdir()
    shutil.copytree(ROOT / "examples", folder / "examples")

    wrong = mismatches(str(named(path)), path.read_text(), folder)

    assert not wrong, "\n\n".join(map(str, wrong))


@each_document
def test_python_is_python(path: Path) -> None:
    """Fragments that are not run at least compile."""
    for line, language, block in fences(path.read_text()):
        if language == "python":
            compiled = compile("\n".join(block), f"{path}:{line}", "exec", ASYNC_AT_THE_TOP)
            assert compiled is not None


ASYNC_AT_THE_TOP = 0x2000
"""`ast.PyCF_ALLOW_TOP_LEVEL_AWAIT`: a fragment may be the inside of a coroutine."""


@each_document
def test_links_lead_to_files(path: Path) -> None:
    """A link within the repository names something that is there."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text())
    inner = [link for link in links if "://" not in link]

    assert [link for link in inner if not (path.parent / link).exists()] == []


@each_document
def test_named_files_exist(path: Path) -> None:
    """A file of the repository in backticks is one; `X` stands for whatever the reader adds."""
    folders = "|".join((*LAYERS, "tests", "examples", "docs"))
    shown = re.findall(rf"`((?:{folders})/[\w/.-]+\.\w+)`", path.read_text())
    named_here = [name for name in shown if not re.search(r"[/_]X\.", name)]

    assert [name for name in named_here if not (ROOT / name).exists()] == []


@each_document
def test_make_targets_exist(path: Path) -> None:
    """A target that a document names is a target."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = set(re.findall(r"(?:`|^|\$ |PYTHON=\S+ )make ([a-z]+)", path.read_text(), re.MULTILINE))

    assert shown <= targets
