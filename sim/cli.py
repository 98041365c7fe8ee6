"""The command line. Statuses: 0 all held, 1 something failed, 2 wrong usage or unreadable input,
3 a replay diverged, 130 interrupted.

A verb is a function of `verbs.py` or `exploring.py`: it takes an `Output` and returns its status.
Here is what may be written after it, and what becomes of wrong input: one line on stderr, never a
traceback.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from . import exploring, soaking, verbs
from .output import Output, Unprintable
from .refusal import INTERRUPTED, Refused
from .soak import RUNS, STRATEGY
from .strategies import DEFAULT_STRATEGY, STRATEGIES

__all__ = ["main"]

REFUSED = 2
"""Exit status of wrong usage and unreadable input."""

F = TypeVar("F", bound=Callable[..., Any])

NUMBER = click.IntRange(min=0)
COUNT = click.IntRange(min=1)
JOBS_MAX = 256
"""Processes at most: thousands of them stall a machine before any has run."""


def finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse seconds that are not positive and finite."""
    if value is not None and not 0 < value < math.inf:
        raise click.BadParameter(f"{value} is not a positive number of seconds", context, option)
    return value


def pairs(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, object]:
    """Read each `key=value`; a value is JSON if it can be read as such, else text."""
    found: dict[str, object] = {}
    for each in texts:
        key, equals, text = each.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{each!r} is not key=value", context, option)
        if key in found:
            raise click.BadParameter(f"{key} is set twice", context, option)
        try:
            found[key] = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            found[key] = text
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Join several options into one decorator."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


as_json = click.option("--json", "is_json", is_flag=True, help="Print one JSON document.")
seed = click.option("--seed", type=NUMBER, default=0, show_default=True, help="The first seed.")
jobs = click.option(
    "--jobs",
    type=click.IntRange(1, JOBS_MAX),
    default=1,
    show_default=True,
    help="Processes that run at once.",
)
mutant = click.option("--mutant", metavar="M", help="Apply this mutant.")
settings = options(
    click.option(
        "--set",
        "parameters",
        metavar="KEY=VALUE",
        callback=pairs,
        multiple=True,
        help="Fix a parameter, as JSON or text. May be given several times.",
    ),
    click.option("--topology", metavar="T", help="The same as --set topology=T."),
)


def strategy(default: str) -> Callable[[F], F]:
    """The option that names a strategy."""
    return click.option(
        "--strategy",
        metavar="S",
        default=default,
        show_default=True,
        help=f"Where choices come from: {', '.join(STRATEGIES)}.",
    )


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
)
@click.version_option(package_name="durasim", message="durasim %(version)s")
def durasim() -> None:
    """Durable Objects under a seed: run, explore, replay.

    NAME is a registered scenario (durasim list), package.module:attribute, or path.py:attribute.

    \b
    Exit status:
      0    all held
      1    a property, mutant, program or minimum failed
      2    wrong usage or unreadable input
      3    a replay diverged from its file
      130  interrupted; what was found so far is kept
    """


@durasim.command("list")
@as_json
def list_(**given: Any) -> int:
    """List the registered scenarios, grouped by system."""
    return _call(verbs.list_scenarios, **given)


@durasim.command()
@click.argument("name")
@seed
@strategy("ordinary")
@mutant
@settings
@click.option("--trace", is_flag=True, help="Draw the sequence chart.")
@click.option("--mermaid", is_flag=True, help="Print the chart for documents; the rest to stderr.")
@as_json
def run(**given: Any) -> int:
    """Run the scenario NAME once: verdict, times, digest."""
    return _call(exploring.run, **_joined(given))


@durasim.command()
@click.argument("name")
@click.option(
    "--runs", type=COUNT, help=f"How many runs.  [default: {exploring.RUNS}, none with --time]"
)
@seed
@mutant
@strategy(DEFAULT_STRATEGY)
@jobs
@click.option("--time", "time_s", type=float, callback=finite, help="Stop after so many seconds.")
@click.option("--out", metavar="FILE", help="The replay file.  [default: <scenario>-<seed>.json]")
@click.option("--keep-going", is_flag=True, help="Look for more after the first failure.")
@settings
@as_json
def explore(**given: Any) -> int:
    """Run the scenario NAME many times under seeds.

    Run i has the first seed + i, and the failure of the lowest run is told, whatever --jobs. It is
    shrunk to the deviations that it needs, and written to a replay file.
    """
    return _call(exploring.explore, **_joined(given))


@durasim.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--runs",
    type=COUNT,
    default=RUNS,
    show_default=True,
    help="Runs of all stories together.",
)
@click.option(
    "--compared",
    metavar="N",
    type=NUMBER,
    help="Runs of each design that is compared, 0 for none.  [default: as --runs]",
)
@seed
@strategy(STRATEGY)
@jobs
@click.option("--record", metavar="FILE", help=f"Write the tables below {soaking.RECORDED} there.")
@as_json
def soak(**given: Any) -> int:
    """Tell every story of each NAME, and count what that reached.

    A NAME may be a system. Misses a bar where a story was told too rarely, a kind of fault hardly
    struck, runs are alike, or a `sometimes` was never reached. Then the designs of the system are
    compared: those that must fail under a plan, and those that must hold under the same.
    """
    return _call(soaking.soak, **given)


@durasim.command()
@click.argument("file")
@click.option("--lenient", is_flag=True, help="Apply what still exists, judge by the properties.")
@click.option("--trace", is_flag=True, help="Draw the sequence chart.")
@click.option("--mermaid", is_flag=True, help="Print the chart for documents; the rest to stderr.")
@as_json
def replay(**given: Any) -> int:
    """Run exactly what FILE recorded.

    Says where the code no longer follows the file, and ends with status 3 then.
    """
    return _call(exploring.replay, **given)


@durasim.command()
@click.argument("system")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--runs", type=COUNT, default=1000, show_default=True, help="Runs for each at most.")
@seed
@jobs
@as_json
def mutants(**given: Any) -> int:
    """Run the mutants of SYSTEM: a kill table.

    Each must be found by a property that it names, and keep still without its fault.
    """
    return _call(verbs.mutants, **given)


@durasim.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@as_json
def conform(**given: Any) -> int:
    """Compare with recordings of the real platform."""
    return _call(verbs.conform, **given)


@durasim.command()
@click.argument("file")
@as_json
def inspect(**given: Any) -> int:
    """Show objects, keys and alarms of a host's FILE.

    Nothing is changed, also if a host has it open.
    """
    return _call(verbs.inspect, **given)


@durasim.command()
@as_json
def bench(**given: Any) -> int:
    """Measure against yardsticks on this machine."""
    return _call(verbs.bench, **given)


def _joined(given: dict[str, Any]) -> dict[str, Any]:
    """Join --topology into the parameters."""
    topology = given.pop("topology")
    if topology is not None:
        if "topology" in given["parameters"]:
            raise click.UsageError("topology is set twice")
        given["parameters"]["topology"] = topology
    return given


def _call(verb: Callable[..., int], *, is_json: bool, **given: Any) -> int:
    return verb(Output(is_json=is_json), **given)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    complain = Output(is_json=False).complain
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if not words:
            with click.Context(durasim, info_name="durasim", **durasim.context_settings) as bare:
                Output(is_json=True).raw(f"{bare.get_help()}\n")
            return REFUSED
        status = durasim.main(words, "durasim", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except Refused as error:
        complain(f"durasim: {error}")
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = "durasim" if context is None else context.command_path
        complain(f"{command}: {error.format_message()}")
    except Unprintable as error:
        complain(f"durasim: {error}")
    except OSError as error:
        complain(f"durasim: {error}")
    except (KeyboardInterrupt, click.Abort):
        complain("durasim: interrupted")
        return INTERRUPTED
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
