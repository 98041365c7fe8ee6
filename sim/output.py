"""What the command line prints, and where: text or one JSON document, on streams that may be odd.

A closed stdout does not stop a run: what is left to say is dropped, and the exit status still tells
the verdict. A terminal that has no box characters gets plain ones.
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Generator, Iterable
from typing import IO, TextIO, cast

from rich.console import Console, RenderableType
from rich.text import Text

__all__ = ["Output", "Unprintable"]

PLAIN = str.maketrans(
    {
        "│": "|", "┃": "#", "┆": ":", "⋮": ":", "┬": "+", "─": "-", "━": "=", "┄": ".",
        "▶": ">", "◀": "<", "✗": "x", "✓": "v", "●": "*", "…": "~", "→": ">", "·": ".",
        "↺": "@", "↷": "@", "↶": "@", "⚑": "!",
    }
)  # fmt: skip
"""One plain character for each that only UTF-8 has, so that columns stay columns."""


class Unprintable(Exception):
    """Stdout took no more, for another reason than that its reader left: the disk is full."""


class Output:
    """The two streams of one command.

    With *is_json*, stdout holds one document and nothing else: everything said goes to stderr, and
    so does whatever the user's own code prints.
    """

    def __init__(self, *, is_json: bool) -> None:
        self.is_json = is_json
        self._out = _Stream(sys.stdout)
        self._err = _Stream(sys.stderr)
        self._text = _console(self._err if is_json else self._out)
        self._errors = _console(self._err)
        self.aside = self
        """Where text goes while stdout is kept for something else."""
        if not is_json:
            self.aside = Output(is_json=True)

    @property
    def width(self) -> int:
        """Cells of a line where text goes."""
        return self._text.width

    @property
    def errors(self) -> Console:
        """Where progress is shown."""
        return self._errors

    def say(self, *renderables: RenderableType) -> None:
        """Print text; each on lines of its own."""
        for each in renderables or (Text(""),):
            if isinstance(each, str | Text):
                self._text.print(each, soft_wrap=True)
                continue
            for segments in self._text.render_lines(each, pad=False):
                line = Text.assemble(*((part.text, part.style or "") for part in segments))
                # A column is filled with blanks, the last one as well.
                line.rstrip()
                self._text.print(line, soft_wrap=True)

    def lines(self, lines: Iterable[Text]) -> None:
        """Print *lines*, which have the width of the terminal already."""
        for line in lines:
            self._text.print(line, no_wrap=True, overflow="crop", crop=False)

    def raw(self, text: str) -> None:
        """Print *text* as it is: on stdout, or on stderr if that is kept for JSON."""
        stream = self._err if self.is_json else self._out
        stream.write(text)
        stream.flush()

    def document(self, value: object) -> None:
        """Print *value* as the JSON document."""
        self._out.write(json.dumps(value, indent=2, ensure_ascii=True, default=repr) + "\n")
        self._out.flush()

    def complain(self, line: str) -> None:
        """Print one line on stderr."""
        self._err.write(" ".join(line.split()) + "\n")
        self._err.flush()

    def hint(self, line: str) -> None:
        """Print *line* on stderr if somebody watches."""
        if self._err.isatty():
            self.complain(line)

    @contextlib.contextmanager
    def guarded(self) -> Generator[None]:
        """While user's code runs: with *is_json*, its prints go to stderr, in workers as well."""
        if not self.is_json:
            yield
            return
        with contextlib.redirect_stdout(cast(TextIO, self._err)), _descriptor_moved():
            yield


@contextlib.contextmanager
def _descriptor_moved() -> Generator[None]:
    """Let descriptor 1 be stderr for a while, if this process's stdout is descriptor 1."""
    try:
        is_real = sys.__stdout__ is not None and sys.__stdout__.fileno() == 1
        kept = os.dup(1) if is_real else -1
    except (OSError, ValueError):
        kept = -1
    if kept < 0:
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _console(stream: "_Stream") -> Console:
    return Console(
        file=cast(IO[str], stream),
        highlight=False,
        markup=False,
        emoji=False,
        no_color=True if "NO_COLOR" in os.environ else None,
    )


class _Stream:
    """A stream that its reader may leave, and that may not know every character."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.encoding = "utf-8" if stream is None else (stream.encoding or "utf-8")

    def write(self, text: str) -> int:
        """Write *text*, or what of it the stream can show.

        Raises:
            Unprintable: it takes nothing, though its reader is there.
        """
        stream = self._stream
        if stream is None:
            return len(text)
        try:
            try:
                stream.write(text)
            except UnicodeEncodeError:
                plain = text.translate(PLAIN).encode(self.encoding, "backslashreplace")
                stream.write(plain.decode(self.encoding))
        except (OSError, ValueError) as error:
            self._leave(error)
        return len(text)

    def flush(self) -> None:
        """Let everything written out."""
        try:
            if self._stream is not None:
                self._stream.flush()
        except (OSError, ValueError) as error:
            self._leave(error)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:
            return False

    def fileno(self) -> int:
        """The descriptor, for the size of a terminal."""
        if self._stream is None:
            raise io.UnsupportedOperation("closed")
        return self._stream.fileno()

    def _leave(self, error: Exception) -> None:
        stream, self._stream = self._stream, None
        # Python flushes once more at its end, and would complain about what is still buffered.
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, stream.fileno())
                os.close(null)
        if not isinstance(error, BrokenPipeError | ValueError):
            raise Unprintable(f"cannot print: {error.strerror}") from error  # type: ignore[attr-defined]
