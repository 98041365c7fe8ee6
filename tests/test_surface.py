"""What each layer promises is there, in order, documented, and in the glossary."""

import inspect
from functools import cached_property
from types import ModuleType

import pytest

from . import surface

each_package = pytest.mark.parametrize("module", surface.modules(), ids=lambda each: each.__name__)


@each_package
def test_names_are_sorted_and_there(module: ModuleType) -> None:
    """`__all__` is sorted, free of doubles, and true."""
    names = surface.promised(module)

    assert names == sorted(set(names), key=surface.order)
    assert [name for name in names if not hasattr(module, name)] == []


@each_package
def test_nothing_public_is_left_out(module: ModuleType) -> None:
    """What a package imports for its users stands in `__all__`."""
    held = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert sorted(held - set(surface.promised(module))) == []


@each_package
def test_names_are_documented(module: ModuleType) -> None:
    """Each public class, function and constant says what it is, and so does each public method."""
    silent = [each.name for each in surface.public_names(module) if not each.words]
    for name in surface.promised(module):
        value: object = getattr(module, name)
        if inspect.isclass(value):
            silent += silent_methods(value)

    assert silent == []


def silent_methods(cls: type) -> list[str]:
    """Return the public methods and properties of *cls* that have no docstring."""
    return [
        f"{cls.__name__}.{name}"
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and isinstance(value, property | cached_property | classmethod | staticmethod)
        | inspect.isfunction(value)
        and not inspect.getdoc(getattr(cls, name))
    ]


def test_glossary_is_up_to_date() -> None:
    """Its table of public names is the one that `make glossary` would write now."""
    written = surface.GLOSSARY.read_text().partition(surface.HEADING)[2]
    wanted = surface.table().partition(surface.HEADING)[2]

    assert written.splitlines() == wanted.splitlines(), "run `make glossary`"


def test_a_silent_method_is_found() -> None:
    """The rule can fail."""

    class Silent:
        """Says something, its method does not."""

        def method(self) -> None: ...

    assert silent_methods(Silent) == ["Silent.method"]


def test_constants_come_before_classes_before_functions() -> None:
    """The order that the formatter keeps as well."""
    names = ["is_x", "isX", "a10", "a2", "Zebra", "Absent", "A_B", "ABSENT"]

    assert sorted(names, key=surface.order) == names[::-1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("A thing. It does.", "A thing."),
        ("A long\nthing: more\n\nMore.", "A long thing: more"),
        ("Either a | b.", "Either a \\| b."),
        ("wire 1.5 times", "wire 1.5 times"),
    ],
)
def test_the_first_sentence_fits_a_table(words: str, sentence: str) -> None:
    """It ends where a sentence ends, and not in a number."""
    assert surface.first_sentence(words) == sentence
