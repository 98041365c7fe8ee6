"""The public names of the layers and what they are; `python -m tests.surface` writes the glossary.

A name belongs to the layer that defines it. What it is, is the first sentence of its docstring; for
a constant, the string after its assignment or the comment before it.
"""

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Iterator
from types import ModuleType

import attrs

from .tidy import ROOT

PACKAGES: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
    "packages"
]
GLOSSARY = ROOT / "docs" / "glossary.md"
HEADING = "## Public names"


@attrs.frozen(kw_only=True)
class PublicName:
    """One entry of an `__all__`."""

    package: str
    name: str
    words: str | None


def modules() -> list[ModuleType]:
    """Return every package that is a surface, in order of its name."""
    return [importlib.import_module(package) for package in PACKAGES]


def order(name: str) -> tuple[int, list[tuple[int, str, int]]]:
    """Return the place of *name* among others: constants, classes, the rest; numbers by value."""
    kind = 0 if name.isupper() else 1 if name[:1].isupper() else 2
    parts = re.findall(r"\d+|\D+", name)
    return kind, [(1, "", int(part)) if part.isdigit() else (0, part, 0) for part in parts]


def constants(package: str) -> dict[str, str]:
    """Return what the constants of *package* are, by name, as their modules say."""
    folder = ROOT / package.removeprefix("durasim.").replace(".", "/")
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        source = path.read_text()
        lines = source.splitlines()
        body = ast.parse(source).body
        for node, following in zip(body, [*body[1:], None], strict=True):
            for name in assigned(node):
                words = spoken(following) or commented(lines, node.lineno)
                if words:
                    found.setdefault(name, words)
    return found


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement at the top of a module assigns."""
    match node:
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def spoken(node: ast.stmt | None) -> str | None:
    """Return the string that the statement is, if it is one."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return words
        case _:
            return None


def commented(lines: list[str], number: int) -> str:
    """Return the comment that ends just before line *number*."""
    first = number - 1
    while first > 0 and lines[first - 1].startswith("# "):
        first -= 1
    return " ".join(line.removeprefix("# ") for line in lines[first : number - 1])


def defined_in(value: object) -> str | None:
    """Return the module that a class or function comes from."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__module__
    return None


def promised(module: ModuleType) -> list[str]:
    """Return `__all__` of *module*."""
    names: list[str] = getattr(module, "__all__", [])
    return names


def public_names(module: ModuleType) -> Iterator[PublicName]:
    """Yield the names that *module* promises and that its own files define."""
    package = module.__name__
    own = constants(package)
    for name in promised(module):
        value: object = getattr(module, name)
        source = defined_in(value)
        if source is None:
            elsewhere = next((each for each in PACKAGES if name in constants(each)), package)
            if elsewhere == package:
                yield PublicName(package=package, name=name, words=own.get(name))
        elif source.rpartition(".")[0] == package:
            yield PublicName(package=package, name=name, words=inspect.getdoc(value))


def first_sentence(words: str) -> str:
    """Return the first sentence, on one line, fit for a table."""
    line = " ".join(words.partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", line, maxsplit=1)[0].replace("|", "\\|")


def table() -> str:
    """Return the part of the glossary that is made from the code."""
    parts = [HEADING, "", "Made from the docstrings by `make glossary`.", ""]
    for module in modules():
        names = list(public_names(module))
        if not names:
            continue
        parts += [f"### {module.__name__}", "", "| name | is |", "|---|---|"]
        parts += [f"| `{each.name}` | {first_sentence(each.words or '')} |" for each in names]
        parts.append("")
    return "\n".join(parts)


def main() -> None:
    """Write the table into the glossary."""
    words = GLOSSARY.read_text().partition(HEADING)[0]
    GLOSSARY.write_text(words + table())


if __name__ == "__main__":
    main()
