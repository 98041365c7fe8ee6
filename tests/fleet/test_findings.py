"""What was found in the specification itself stays found: its rule breaks what ours keeps."""

from pathlib import Path

import pytest

from durasim.sim import explore, find_mutant, read_replay, replay, resolve

from ..tidy import ROOT

FINDINGS = sorted((ROOT / "docs/findings/fleet").glob("*.json"))


def test_each_finding_is_described() -> None:
    """Its text says how it is run, and which mutant stands for the rule that it is about."""
    assert FINDINGS
    for path in FINDINGS:
        text = " ".join(path.with_suffix(".md").read_text(encoding="utf-8").split())
        assert f"durasim replay --lenient docs/findings/fleet/{path.name}" in text
        assert f"durasim mutants fleet {read_replay(path).mutant}" in text


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_a_finding_is_still_one(path: Path) -> None:
    """By the rule of the specification the property fails; by ours nothing does."""
    file = read_replay(path)
    assert file.mutant is not None
    assert file.mutant == find_mutant(file.mutant).name
    assert replay(path, lenient=True).result.failures[0].property == file.property
    story = resolve(file.scenario, beside=path.parent)
    right = explore(story, runs=3, parameters=file.parameters, shrink=False)
    assert right.found == ()
