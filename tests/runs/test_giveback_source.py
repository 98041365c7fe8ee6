"""Where a router gives back, on the source (spec/run-claims.md 8.3), and sources that break it."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from durasim.actors.runs import giveback

SOURCES = {path.name: path.read_text() for path in Path(giveback.__file__).parent.glob("*.py")}
ROLLBACK = "rollback_fenced_start"
PREDICATE = "is_execution_fence_refusal"
HOME = "reservations.py"
CALLERS = ("router.py", "threads.py")
STARTS = {"router.py": "start", "threads.py": "_dispatch"}
"""What each caller calls to start a run."""


@cache
def functions(text: str) -> tuple[ast.AsyncFunctionDef, ...]:
    """Return the coroutine functions of a source."""
    found = ast.walk(ast.parse(text))
    return tuple(node for node in found if isinstance(node, ast.AsyncFunctionDef))


def called(function: ast.AST, name: str) -> list[ast.Call]:
    """Return the calls of *name*, or of a method of that name, in a function."""
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name
    ]


def where(sources: Mapping[str, str], name: str) -> list[tuple[str, str]]:
    """Return file and function of every call of *name*, but for releases of owners."""
    return [
        (file, function.name)
        for file, text in sorted(sources.items())
        for function in functions(text)
        for call in called(function, name)
        if "owners" not in ast.unparse(call.func)
    ]


def complaints(sources: Mapping[str, str]) -> list[str]:
    """Return what of 8.3 does not hold of these sources."""
    return [*placed(sources), *closed(sources), *(c for f in CALLERS for c in whole(sources, f))]


def placed(sources: Mapping[str, str]) -> Iterator[str]:
    """Predicate and release stand in one function, which has two callers."""
    home = (HOME, ROLLBACK)
    if where(sources, "release") != [home]:
        yield f"release is called in {where(sources, 'release')}"
    if home not in where(sources, PREDICATE):
        yield "the release does not ask the predicate"
    if tuple(file for file, _ in where(sources, ROLLBACK)) != CALLERS:
        yield f"{ROLLBACK} is called in {where(sources, ROLLBACK)}"


def closed(sources: Mapping[str, str]) -> Iterator[str]:
    """That function swallows exceptions of the release alone, and raises what it was given."""
    for function in functions(sources[HOME]):
        if function.name != ROLLBACK:
            continue
        handlers = [node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)]
        if [each.type and ast.unparse(each.type) for each in handlers] != ["Exception"]:
            yield "it swallows something else than exceptions"
        raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise)]
        last = function.body[-1]
        if raised != [last] or ast.unparse(last) != "raise error":
            yield "it does not raise the error that it was given, whatever happens"


def whole(sources: Mapping[str, str], file: str) -> Iterator[str]:
    """A caller hands on every error of the start, and of nothing but the start."""
    tries = [
        node
        for function in functions(sources[file])
        for node in ast.walk(function)
        if isinstance(node, ast.Try) and called(node, ROLLBACK)
    ]
    for node in tries:
        if len(node.handlers) != 1 or len(node.body) != 1 or node.orelse or node.finalbody:
            yield f"{file}: there is more than a start and what it raises"
            continue
        (handler,), (body,) = node.handlers, node.body
        if handler.type is None or ast.unparse(handler.type) != "Exception":
            yield f"{file}: not every error of the start is handed on"
        if not called(body, STARTS[file]):
            yield f"{file}: what is tried is no start"
        statement = handler.body[0]
        bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Await)
        if len(handler.body) != 1 or not bare:
            yield f"{file}: errors are chosen before they are handed on"
    if len(tries) != 1:
        yield f"{file}: {len(tries)} places hand errors on"


def test_a_router_gives_back_in_one_function_that_is_told_everything() -> None:
    """The shipped source keeps every rule."""
    assert complaints(SOURCES) == []


RAISES = "    raise error\n\n\ndef parse"
SWALLOWS = "        except Exception as failure:\n            log("
HANDS_ON = f"        except Exception as error:\n            await {ROLLBACK}("
STARTED = (
    "            return Started(await self._topology.start(order), is_replay=False)\n        except"
)
DISPATCHED = "return await self._dispatch(order)\n        except"
ANSWERED = "            return await self._tenant(request)"

PLANTED = (
    ("threads.py", "return shown(", "await store.release('k', 'r')\n        return shown(",
     "release is called in"),
    (HOME, f"if {PREDICATE}(error):", "if error.status == 503:", "does not ask the predicate"),
    ("process.py", ANSWERED, f"            await {ROLLBACK}()\n{ANSWERED}", "is called in"),
    (HOME, SWALLOWS, SWALLOWS.replace("Exception", "BaseException"), "swallows something else"),
    (HOME, SWALLOWS, SWALLOWS.replace("Exception", "OSError"), "swallows something else"),
    (HOME, RAISES, RAISES.replace("raise", "raise ValueError from"), "does not raise the error"),
    (HOME, RAISES, RAISES.replace("raise error", "return None"), "does not raise the error"),
    ("router.py", HANDS_ON, HANDS_ON.replace("Exception", "OSError"), "router.py: not every"),
    ("threads.py", HANDS_ON, HANDS_ON.replace("await", "check(error)\n            await"),
     "threads.py: errors are chosen"),
    ("threads.py", DISPATCHED, DISPATCHED.replace("_dispatch", "_ask"), "what is tried is no"),
    ("router.py", STARTED, f"            check(order)\n{STARTED}", "router.py: there is more"),
    ("router.py", ROLLBACK, "give_back", "router.py: 0 places"),
)  # fmt: skip
"""A file, what stands in it, what shall stand there, and what is said of it then."""


@pytest.mark.parametrize(("file", "right", "wrong", "said"), PLANTED)
def test_a_source_that_breaks_a_rule_is_told(file: str, right: str, wrong: str, said: str) -> None:
    """Each rule is seen to fail."""
    text = SOURCES[file]
    assert right in text
    found = complaints({**SOURCES, file: text.replace(right, wrong)})

    assert any(said in each for each in found), found
