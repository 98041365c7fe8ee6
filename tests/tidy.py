"""The rules of the tree, as functions from a source text to complaints.

A complaint is a line for people. `test_tree.py` asks each rule about every file, and asks it about
a planted offence as well, so that each rule is known to be able to fail.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("wire", "actors", "hosts", "sim")
SYSTEMS = ("runs", "fleet")
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

VAGUE = frozenset("base common core helper helpers manager misc util utils".split())
IN_WORDS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|farm|tmp|root|home)/\w+")

PURE = frozenset(
    """asyncio concurrent ctypes ftplib glob http io mmap multiprocessing os pathlib platform
    random secrets select selectors shutil signal socket socketserver sqlite3 ssl subprocess sys
    tempfile threading time tracemalloc trio urllib""".split()
)
"""Modules that `wire` cannot use: anything that acts, waits or knows the machine."""

ACTING = PURE - {"trio"}
"""The same for `actors`, which may use trio, but not trio's way to files, sockets and threads."""

NOWHERE = frozenset({"asyncio", "random", "secrets"})
"""Modules that `hosts` cannot use."""

ALLOWED_IN_SIM = {
    "batch.py": "time",
    "bench.py": "os platform",
    "conform/corpus.py": "pathlib",
    "database.py": "sqlite3",
    "errors.py": "pathlib",
    "explore.py": "concurrent time",
    "exploring.py": "pathlib",
    "fence.py": "ctypes os threading",
    "functions.py": "sqlite3",
    "output.py": "io os",
    "pytest_plugin.py": "os pathlib",
    "replay.py": "os pathlib platform",
    "run.py": "time",
    "second_process.py": "os subprocess",
    "soaking.py": "pathlib",
    "sqldata.py": "sqlite3",
    "strategies.py": "random",
    "systems.py": "os pathlib",
    "trio_tasks.py": "ctypes",
    "workers.py": "concurrent multiprocessing os signal threading",
    "workloads.py": "time tracemalloc",
}
"""What single files of `sim` may use of what the layer cannot: real time to measure runs, files
for the command line, processes to explore in."""

TRIO_OUTSIDE = re.compile(
    r"trio\.(?:socket|Path|open_(?:file|process|tcp\w*|ssl\w*|unix\w*)|serve_\w+|to_thread"
    r"|from_thread|run_process|lowlevel\.open_\w+)"
)
"""The part of trio that reaches files, sockets, threads and processes."""

AMBIENT = re.compile(
    r"(?:datetime\.)?datetime\.(?:now|utcnow|today)|date\.today|(?:uuid\.)?uuid[14]|os\.urandom"
    r"|time\.(?:time|monotonic|perf_counter|sleep)(?:_ns)?|breakpoint|print|input"
)
"""Calls that read the wall clock or entropy, or talk past every port."""

PRIVATE_TRIO = re.compile(r"sim/trio_\w+\.py")
"""The files that touch what trio keeps to itself: order, steps, the dead (docs/adr/0002)."""


def shipped() -> list[Path]:
    """Return every module of the four layers, in order of path."""
    return sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))


def python_files() -> list[Path]:
    """Return every Python file of the repository, in order of path."""
    folders = (*LAYERS, "tests", "examples", ".ci")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def texts() -> list[Path]:
    """Return every file that people write, in order of path."""
    endings = {".py", ".md", ".toml", ".in", ".yaml", ".json", ".txt", ""}
    folders = (*LAYERS, "tests", "examples", "docs", ".ci")
    inner = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    found = [*inner, *ROOT.glob("*"), ROOT / ".gitignore"]
    return sorted(
        path
        for path in found
        if path.is_file()
        and not path.name.startswith(".coverage")
        and path.suffix in endings
        and "__pycache__" not in path.parts
    )


def named(path: Path) -> PurePosixPath:
    """Return *path* from the root of the repository."""
    return PurePosixPath(path.relative_to(ROOT).as_posix())


def imports(path: PurePosixPath, tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield what *tree* imports: the line, and the parts of the module's full name.

    A relative import is resolved; the namespace itself, `durasim`, is left out of the answer, so
    that `..wire` in `actors/stub.py` is `("", "wire")`. Absolute names have no empty first part.
    """
    package = path.parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            inner = tuple(node.module.split(".")) if node.module else ()
            if node.level == 0:
                yield node.lineno, inner
                continue
            up = node.level - 1
            base = package[: len(package) - up] if up <= len(package) else ("above the top",)
            if inner:
                yield node.lineno, ("", *base, *inner)
            else:
                for alias in node.names:
                    yield node.lineno, ("", *base, alias.name)


def system(parts: tuple[str, ...]) -> str | None:
    """Return the system that a path or module name belongs to."""
    return parts[1] if len(parts) > 1 and parts[1] in SYSTEMS else None


def upward(path: PurePosixPath, tree: ast.Module) -> Iterator[str]:
    """Imports that do not follow the arrow wire <- actors <- hosts <- sim."""
    layer = path.parts[0]
    below = LAYERS[: LAYERS.index(layer)]
    mine = system(path.parts)
    for line, (first, *rest) in imports(path, tree):
        if first:
            if first in {"durasim", "tests", *LAYERS}:
                yield f"{path}:{line}: imports {first} absolutely; shipped code imports relatively"
            continue
        target = tuple(rest)
        theirs = system(target)
        if target[0] != layer and target[0] not in below:
            yield f"{path}:{line}: {layer}/ imports from {target[0]}/, which is not below it"
        elif target[0] != layer and len(target) > (1 if theirs is None else 2):
            yield f"{path}:{line}: imports {'.'.join(target)}; across layers only the layer itself"
        if theirs is not None and theirs != mine:
            yield f"{path}:{line}: imports the system {theirs} from outside of it"


def forbidden(path: PurePosixPath) -> frozenset[str]:
    """Return the modules that the file at *path* must not import."""
    inner = str(path.relative_to(path.parts[0]))
    return {
        "wire": PURE,
        "actors": ACTING,
        "hosts": NOWHERE,
        "sim": (PURE - {"sys", "trio"}) - frozenset(ALLOWED_IN_SIM.get(inner, "").split()),
    }[path.parts[0]]


def effects(path: PurePosixPath, tree: ast.Module) -> Iterator[str]:
    """Effects that belong to another layer: clocks, files, sockets, threads, entropy."""
    layer = path.parts[0]
    banned = forbidden(path)
    for line, parts in imports(path, tree):
        if parts[0] in banned:
            yield f"{path}:{line}: {layer}/ may not reach for {parts[0]}"
        if parts[:2] == ("trio", "_core") and PRIVATE_TRIO.fullmatch(str(path)) is None:
            yield f"{path}:{line}: the private part of trio belongs to sim/trio_*.py"
    if layer not in {"wire", "actors"}:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name == "open" or AMBIENT.fullmatch(name):
                yield f"{path}:{node.lineno}: {layer}/ may not call {name}"
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if TRIO_OUTSIDE.fullmatch(name):
                yield f"{path}:{node.lineno}: {layer}/ may not use {name}"


def size(path: PurePosixPath, source: str) -> Iterator[str]:
    """Files and functions that are longer than a reader can hold."""
    lines = len(source.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{path}: {lines} lines, {FILE_LINES_MAX} at most"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                yield (
                    f"{path}:{node.lineno}: {node.name} has {length} lines, "
                    f"{FUNCTION_LINES_MAX} at most"
                )


def vague(path: PurePosixPath) -> Iterator[str]:
    """Modules and folders whose name says nothing."""
    for part in (*path.parent.parts, path.stem):
        if part in VAGUE:
            yield f"{path}: {part} says nothing about what is in it"


def leftovers(path: PurePosixPath, source: str) -> Iterator[str]:
    """Markers of work left undone, and paths of somebody's machine."""
    for number, line in enumerate(source.splitlines(), 1):
        if IN_WORDS.search(line):
            yield f"{path}:{number}: a marker of work left undone"
        if MACHINE_PATH.search(line):
            yield f"{path}:{number}: a path of a machine"


ASSERTING = re.compile(
    r"(?:^|\.)(?:raises|warns|RaisesGroup)$|(?:^|[._])(?:assert|check|must)_\w+$"
)
SKIPPING = re.compile(r"(?:^|\.)(?:skip|skipif|xfail|importorskip|skipTest|SkipTest)$")


def asserts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether *function* can fail: it asserts, expects an error, or calls something that does."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call) and ASSERTING.search(ast.unparse(node.func)):
            return True
    return False


def weak_tests(path: PurePosixPath, tree: ast.Module) -> Iterator[str]:
    """Tests that cannot fail, are left out, or do not say what they show."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and SKIPPING.search(ast.unparse(node)):
            yield f"{path}:{node.lineno}: {ast.unparse(node)}: no test is left out here"
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not node.name.startswith("test_"):
            continue
        if not asserts(node):
            yield f"{path}:{node.lineno}: {node.name} asserts nothing"
        if ast.get_docstring(node) is None:
            yield f"{path}:{node.lineno}: {node.name} has no docstring"
