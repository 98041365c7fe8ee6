"""The runner of documents can tell a true one from a false one."""

from pathlib import Path

import pytest

from . import transcript
from .transcript import agree, mismatches


def run(text: str, tmp_path: Path) -> list[transcript.Mismatch]:
    """Run a document in a folder of its own."""
    folder = tmp_path / "document"
    folder.mkdir()
    return mismatches("a.md", text, folder)


TRUE = """\
# Title

```python
# file: greet.py
print("hello")
```

```console
$ python greet.py
hello
$ mkdir inner && cd inner
$ basename "$PWD"
inner
$ cd ..
$ echo one; echo two >&2; exit_status() { return 3; }; exit_status
one
two
[3]
$ printf '%s\\n' \\
>     a b
a
b
```

```python
# file: greet.py
print("good bye")
```

```console
$ python greet.py
good bye
```

```sh
false, and not run
```
"""


def test_a_true_document_is_true(tmp_path: Path) -> None:
    """Files are written and replaced, the shell stays, streams come together, status counts."""
    assert run(TRUE, tmp_path) == []


@pytest.mark.parametrize(
    ("said", "false"),
    [
        ("\nhello\n", "\nhullo\n"),
        ("\ninner\n", "\n"),
        ("\n[3]\n", "\n"),
        ("\n[3]\n", "\n[2]\n"),
        ("\na\nb\n", "\na\n"),
        ("\ngood bye\n", "\ngood bye\nand more\n"),
    ],
)
def test_a_false_document_is_found(tmp_path: Path, said: str, false: str) -> None:
    """One wrong line, one line too few or too many, one wrong status: each is one mismatch."""
    assert TRUE.count(said) == 1

    assert len(run(TRUE.replace(said, false), tmp_path)) == 1


def test_a_mismatch_shows_both_sides(tmp_path: Path) -> None:
    """Whoever reads it needs neither the document nor another run."""
    (wrong,) = run("```console\n$ echo a\nb\n```\n", tmp_path)

    assert str(wrong) == (
        "a.md:2: $ echo a\nexpected, with status 0:\n    b\nit ended with status 0, after:\n    a"
    )


def test_a_shell_that_ends_early_is_found(tmp_path: Path) -> None:
    """What was not reached is not taken for true."""
    (wrong,) = run("```console\n$ exit 4\n$ echo a\na\n```\n", tmp_path)

    assert wrong.status is None
    assert "was not reached" in str(wrong)


def test_a_command_that_does_not_parse_ends_alone(tmp_path: Path) -> None:
    """An open quote does not swallow the commands after it."""
    text = "```console\n$ echo 'a\n$ echo b\nb\n```\n"

    (wrong,) = run(text, tmp_path)
    assert wrong.command.line == 2


def test_a_command_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is bounded for a document as a whole, and what was printed before is kept."""
    monkeypatch.setattr(transcript, "SECONDS_MAX", 0.5)

    (wrong,) = run("```console\n$ echo a\na\n$ echo b; sleep 600\n```\n", tmp_path)
    assert wrong.status is None
    assert wrong.printed == ("b",)


def test_a_console_block_begins_with_a_command() -> None:
    """Output without a command would never be compared."""
    with pytest.raises(ValueError, match="line 2"):
        transcript.steps("```console\nhello\n```\n")


@pytest.mark.parametrize(
    ("expected", "printed", "true"),
    [
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("a\n…\nz", "a\nz", True),
        ("a\n…\nz", "a\nb", False),
        ("…\nb\n…\nb", "a\nb\nc\nb", True),
        ("…\nb\n…\nb", "a\nb\nc", False),
        ("total … of 7", "total 3 of 7", True),
        ("total … of 7", "total 3 of 8", False),
        ("a  ", "a\n\n", True),
        ("a", "\na", False),
        ("1 passed in 0.12s", "1 passed in 3.4s", True),
        ("1 passed in 0.12s", "2 passed in 0.12s", False),
        ("wall 3 ms", "wall 0.4 s", True),
        ("at 0.12 s", "at 0.13 s", False),
        ("a.b", "axb", False),
        ("", "", True),
        ("…", "", True),
    ],
)
def test_only_what_is_elided_may_differ(expected: str, printed: str, true: bool) -> None:
    """`…` stands for lines or for text in a line; real time is not compared, virtual time is."""
    assert agree(expected.splitlines(), printed.splitlines()) is true
