"""What may be written on a command line, and what becomes of wrong input."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .commands import Folder, folder, outside

__all__ = ["folder"]

VERBS = ("list", "run", "explore", "replay", "mutants", "conform", "inspect", "bench")


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself(folder: Folder, verb: str) -> None:
    """`--help` is status 0 and names what the verb takes."""
    ran = folder.run(verb, "--help")

    assert ran.status == 0
    assert ran.out.startswith(f"Usage: durasim {verb}")
    assert "--json" in ran.out


def test_help_lists_verbs_and_statuses(folder: Folder) -> None:
    """The page that a newcomer sees first."""
    ran = folder.run("--help")

    assert ran.status == 0
    assert all(f"  {verb} " in ran.out for verb in VERBS)
    assert "130  interrupted" in ran.out
    assert "..." not in ran.out.replace("[OPTIONS] COMMAND [ARGS]...", "")


def test_the_version_is_that_of_the_package(folder: Folder) -> None:
    """One line."""
    assert folder.run("--version").out.startswith("durasim 0.")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("fly", "No such command 'fly'"),
        ("run", "Missing argument 'NAME'"),
        ("run nothing", "no scenario is called 'nothing'"),
        ("run {module}.py", "is a file"),
        ("run {module}.py:nothing", "has no scenario 'nothing'; there is twice, once"),
        ("run {module}:Cart", "has no scenario 'Cart'"),
        ("run missing.py:x", "there is no file missing.py"),
        ("run no.such.module:x", "No module named"),
        ("run .:x", "cannot be loaded"),
        ("run :x", "cannot be loaded"),
        ("run {twice} --seed -1", "-1 is not in the range"),
        ("run {twice} --seed one", "'one' is not a valid integer"),
        ("run {twice} --set", "requires an argument"),
        ("run {twice} --set count", "'count' is not key=value"),
        ("run {twice} --set =1", "'=1' is not key=value"),
        ("run {twice} --set size=1", "no parameter 'size'; it has count, topology"),
        ("run {twice} --set count=1 --set count=2", "count is set twice"),
        ("run {twice} --topology moon", "topology is 'moon'; twice knows 'direct' and 'wire'"),
        ("run {twice} --topology wire --set topology=wire", "topology is set twice"),
        ("run {once} --topology wire", "no parameter 'topology'"),
        ("run {twice} --strategy luck", "no strategy is called 'luck'; there are ordinary"),
        ("run {twice} --mutant m", "no mutant is called 'm'"),
        ("run {twice} --bogus", "No such option"),
        ("explore {twice} --runs 0", "0 is not in the range"),
        ("explore {twice} --runs -5", "-5 is not in the range"),
        ("explore {twice} --jobs 0", "0 is not in the range"),
        ("explore {twice} --jobs 999999", "999999 is not in the range 1<=x<=256"),
        ("explore {twice} --seed -2", "-2 is not in the range"),
        ("explore {twice} --time 0", "not a positive number of seconds"),
        ("explore {twice} --time nan", "not a positive number of seconds"),
        ("explore {twice} --time inf", "not a positive number of seconds"),
        ("explore {twice} --time soon", "'soon' is not a valid float"),
        ("explore {twice} --strategy luck", "no strategy is called 'luck'"),
        ("explore {twice} --out no/such/folder.json", "cannot be written: No such file"),
        ("explore {twice} --out .", "cannot be written: Is a directory"),
        ("explore {twice} --set count", "'count' is not key=value"),
        ("replay", "Missing argument 'FILE'"),
        ("replay missing.json", "missing.json: No such file"),
        ("replay .", "Is a directory"),
        ("replay broken.json", "broken.json: is not JSON: line 1"),
        ("replay binary.json", "binary.json: is not UTF-8"),
        ("replay list.json", "is no replay file"),
        ("replay future.json", "is of format 9"),
        ("mutants", "Missing argument 'SYSTEM'"),
        ("mutants nothing", "no system is called 'nothing'"),
        ("conform", "Missing argument 'PATH...'"),
        ("conform missing", "missing: No such file"),
        ("conform broken.json", "not JSON"),
        ("inspect", "Missing argument 'FILE'"),
        ("inspect missing.db", "does not exist"),
        ("inspect broken.json", "no host's file"),
        ("inspect .", "is a folder"),
        ("list more", "unexpected extra argument"),
        ("bench more", "unexpected extra argument"),
    ],
)
def test_wrong_input_is_one_line(folder: Folder, arguments: str, words: str) -> None:
    """Status 2, nothing on stdout, one line on stderr that says what is wrong."""
    folder.write("broken.json", "{")
    folder.write("list.json", "[]")
    folder.write("future.json", '{"format": 9}')
    (folder.path / "binary.json").write_bytes(b"\xff\xfe\x00")
    given = arguments.format(
        module=folder.module, twice=folder.name("twice"), once=folder.name("once")
    )

    line = folder.refused(*given.split())

    assert words in line
    assert folder.refused(*given.split(), "--json") != ""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("raise ValueError('two\\nlines')", "ValueError: two"),
        ("x = 1", "has no scenario"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_one_line(
    folder: Folder, source: str, words: str
) -> None:
    """Whatever a user's module raises while it is imported."""
    folder.write(f"wrong_{folder.module}.py", source)

    assert words in folder.refused("run", f"wrong_{folder.module}.py:story")


def test_values_are_json_or_text(folder: Folder) -> None:
    """What can be read as JSON is; everything else is a text, NaN and endless numbers too."""
    folder.write(
        f"echo_{folder.module}.py",
        "from durasim.sim import scenario\n"
        "@scenario()\n"
        "async def echo(world, value=None):\n"
        "    raise ValueError(f'{value!r}')\n",
    )

    def said(text: str) -> str:
        ran = folder.run("run", f"echo_{folder.module}.py:echo", "--set", f"value={text}", "--json")
        message: str = ran.document["failures"][0]["message"]
        return message.removeprefix("ValueError: ").partition(" (echo_")[0]

    assert said("3") == "3"
    assert said("[1, null]") == "[1, None]"
    assert said('"3"') == "'3'"
    assert said("three=3") == "'three=3'"
    assert said("NaN") == "'NaN'"
    assert said("") == "''"
    assert said("[" * 20_000).startswith("'[[[")


def test_a_reader_that_leaves_is_no_error(folder: Folder) -> None:
    """The status still tells the verdict, and nothing is said on stderr."""
    script = f"durasim explore {folder.name('twice')} | head -n 1; exit ${{PIPESTATUS[0]}}"
    ran = outside(folder.path, script=script)

    assert ran.returncode == 1
    assert ran.stderr == ""


def test_a_closed_stdout_is_no_error(folder: Folder) -> None:
    """Somebody may want the status alone."""
    for verb, status in (("run", 0), ("explore", 1)):
        ran = outside(folder.path, script=f"durasim {verb} {folder.name('twice')} >&-")
        assert (ran.returncode, ran.stderr) == (status, "")


def test_a_full_disk_is_one_line(folder: Folder) -> None:
    """Text, a document and the help: none of them ends in a traceback."""
    for words in (f"run {folder.name('once')}", f"run {folder.name('once')} --json", "--help"):
        ran = outside(folder.path, script=f"durasim {words} >/dev/full")
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1
        assert "No space left on device" in ran.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_a_terminal_without_unicode_gets_plain_characters(folder: Folder, encoding: str) -> None:
    """The chart keeps its columns."""
    words = ("explore", folder.name("twice"))
    plain = outside(folder.path, *words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    full = outside(folder.path, *words, PYTHONIOENCODING="utf-8")

    assert plain.returncode == full.returncode == 1
    assert plain.stderr == full.stderr == ""
    assert "reply lost" in plain.stdout
    assert "\\u" not in plain.stdout
    assert len(plain.stdout.splitlines()) == len(full.stdout.splitlines())


def test_no_colours_leave_for_a_file(folder: Folder) -> None:
    """Not a terminal: no escape sequence, no progress bar."""
    ran = outside(folder.path, "explore", folder.name("twice"))

    assert "\x1b" not in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_was_found(folder: Folder, jobs: str) -> None:
    """Status 130, and the summary of the runs until then."""
    child = subprocess.Popen(
        [sys.executable, "-m", "durasim.sim.cli", "explore", folder.name("once"),
         "--runs", "100000000", "--jobs", jobs],
        cwd=folder.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(3)
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=30)

    assert child.returncode == 130
    assert "interrupted; this is what was found so far" in out
    assert "runs, " in out
    assert "Traceback" not in err


def test_the_module_is_a_program(folder: Folder) -> None:
    """`python -m durasim.sim.cli` is the command."""
    ran = outside(folder.path, "list", "--json")

    assert ran.returncode == 0
    assert ran.stdout.startswith("[")
    assert Path(folder.path, f"{folder.module}.py").exists()


def test_nothing_at_all_shows_the_help(folder: Folder) -> None:
    """On stderr, as wrong usage is told; nothing has run."""
    ran = folder.run()

    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("Usage: durasim [OPTIONS] COMMAND")
    assert "130  interrupted" in ran.err
