"""Streams: one document, odd encodings, readers that leave."""

import io
import json
import sys

import pytest
from rich.text import Text

from durasim.sim.output import Output, Unprintable
from durasim.sim.tables import sometimes_table


class Broken(io.TextIOBase):
    """A stream that raises *error* at every write."""

    encoding = "utf-8"

    def __init__(self, error: OSError | ValueError) -> None:
        self.error = error
        self.tries = 0

    def write(self, text: str) -> int:
        """Raise."""
        del text
        self.tries += 1
        raise self.error


def test_text_goes_to_stdout_and_complaints_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """A complaint is one line, whatever it holds."""
    output = Output(is_json=False)
    output.say(Text("fine"))
    output.say("a [bold]b[/bold]")
    output.complain("not\nfine")

    assert capsys.readouterr() == ("fine\na [bold]b[/bold]\n", "not fine\n")


def test_with_json_only_the_document_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    """Text and raw text move over to stderr."""
    output = Output(is_json=True)
    output.say("text")
    output.raw("raw\n")
    with output.guarded():
        print("a print")  # noqa: T201
    output.document({"a": "ü", "b": object})
    captured = capsys.readouterr()

    assert json.loads(captured.out) == {"a": "ü", "b": "<class 'object'>"}
    assert captured.out.isascii()
    assert captured.err == "text\nraw\na print\n"


def test_a_long_sentence_is_neither_cut_nor_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terminal breaks lines; a file keeps them."""
    monkeypatch.setenv("COLUMNS", "40")
    Output(is_json=False).say(Text("word " * 40))

    assert capsys.readouterr().out.strip() == ("word " * 40).strip()


def test_a_reader_that_left_is_not_written_to_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first failure, everything is dropped in silence."""
    stream = Broken(BrokenPipeError())
    monkeypatch.setattr(sys, "stdout", stream)
    output = Output(is_json=False)
    output.say("one")
    output.say("two")
    output.document({})

    assert stream.tries == 1


def test_a_full_disk_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what happened, and no more is written."""
    monkeypatch.setattr(sys, "stdout", Broken(OSError(28, "No space left on device")))
    output = Output(is_json=False)

    with pytest.raises(Unprintable, match="cannot print: No space left on device"):
        output.say("one")
    output.say("two")


def test_a_missing_stream_takes_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python gives None for a descriptor that is closed at its start."""
    monkeypatch.setattr(sys, "stdout", None)
    output = Output(is_json=False)
    output.say("one")
    output.document({})

    assert output.width > 0


def test_unknown_characters_have_plain_ones_in_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for one, so that columns stay; others are written out."""
    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding="ascii"))
    output = Output(is_json=False)
    output.lines([Text("│ ┃ ── ▶ ✗ … 日")])
    sys.stdout.flush()

    assert kept.getvalue() == b"| # -- > x ~ \\u65e5\n"


def test_hints_are_for_terminals(capsys: pytest.CaptureFixture[str]) -> None:
    """A file gets none."""
    Output(is_json=False).hint("half way")

    assert capsys.readouterr() == ("", "")


def test_tables_have_no_blanks_at_the_end_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """The last column is as wide as what stands in it, line by line."""
    Output(is_json=False).say(sometimes_table({"a long name": True, "b": False}))

    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == lines
    assert lines[-2:] == ["a long name   yes", "b             never"]
