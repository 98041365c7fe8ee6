"""A document is brought up to date without touching what is still true."""

from pathlib import Path

from .retold import retold
from .transcript import mismatches

DOCUMENT = """\
# Title

```console
$ echo one
one
$ echo two; false
three
$ printf 'a\\nb\\n'
…
b
$ echo \\
> long
short
[3]
```

The end.
"""


def test_what_is_wrong_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    """Output and status are written anew; an ellipsis that agrees is left."""
    text = retold(DOCUMENT, mismatches("document", DOCUMENT, tmp_path))

    assert text == DOCUMENT.replace("three", "two\n[1]").replace("short\n[3]", "long")
    assert mismatches("document", text, tmp_path) == []
