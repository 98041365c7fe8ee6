"""How values, times and names are written where people read them: short, on one line, harmless."""

from collections.abc import Iterable

__all__ = ["cut", "listed", "moment", "seconds", "shown", "visible"]

VALUE_CHARACTERS_MAX = 32
"""Characters of one value in a chart."""


def seconds(time_us: int) -> str:
    """Write virtual microseconds as seconds, exactly: `0.01 s`."""
    whole, rest = divmod(time_us, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " s"


def moment(time_us: int) -> str:
    """Write virtual microseconds as seconds, to the millisecond: what a reader tells apart."""
    return seconds((time_us + 500) // 1000 * 1000)


def visible(text: str) -> str:
    """Return *text* with whatever would move a terminal's cursor written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def cut(text: str, characters: int) -> str:
    """Return *text*, or as much of its beginning as fits, with an ellipsis."""
    if len(text) <= characters:
        return text
    return text[: max(characters - 1, 0)] + "…" if characters > 0 else ""


def shown(value: object, characters: int = VALUE_CHARACTERS_MAX) -> str:
    """Write *value* as Python does, shortened; a value that cannot say what it is is named."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return cut(visible(text), characters)


def listed(words: Iterable[str]) -> str:
    """Join *words* as a sentence does: `a, b and c`."""
    found = list(words)
    if len(found) < 2:
        return "".join(found)
    return f"{', '.join(found[:-1])} and {found[-1]}"
