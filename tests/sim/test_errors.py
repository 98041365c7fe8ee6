"""An error of a scenario is one line that says what and where."""

import pytest

from durasim.sim.errors import describe, innermost


def raised(error: BaseException) -> BaseException:
    """Return *error* with the traceback of having been raised here."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_an_error_says_its_class_its_text_and_its_place() -> None:
    """The place is file and line; only the first line of the text is told."""
    assert describe(raised(KeyError("who"))).startswith("KeyError: 'who' (test_errors.py:")
    assert describe(raised(ValueError("one\ntwo"))).startswith("ValueError: one (test_errors.py:")
    assert describe(raised(ValueError())).startswith("ValueError (test_errors.py:")


def test_an_assertion_without_a_text_says_its_line() -> None:
    """The source is the best text there is."""
    assert describe(raised(AssertionError())).startswith("AssertionError: raise error (test_")


def test_an_error_that_was_never_raised_has_no_place() -> None:
    """Class and text are all there is."""
    assert describe(ValueError("far")) == "ValueError: far"
    assert describe(ValueError()) == "ValueError"


def test_a_group_of_one_is_told_as_what_it_holds() -> None:
    """However deep; a group of two stays a group."""
    inner = ValueError("in")
    two = ExceptionGroup("both", [inner, KeyError("b")])

    assert innermost(ExceptionGroup("a", [ExceptionGroup("b", [inner])])) is inner
    assert innermost(two) is two
