"""The table of native targets, cell by cell."""

import itertools

import pytest

from durasim.actors.fleet.identities import ImageTarget
from durasim.actors.fleet.native import Announcement
from durasim.actors.fleet.targets import (
    ACCEPTANCES,
    CONDITIONS,
    Hint,
    Mode,
    TargetPlan,
    acceptance,
    accepts,
    hint_of,
    is_skippable,
    own_announcement,
)

PRE = ImageTarget("pool", 6, "img@a")
SAME, SAME_IMAGE = PRE, ImageTarget("pool", 7, "img@a")
NEW, NEW_IMAGE = ImageTarget("pool", 7, "img@b"), ImageTarget("pool", 6, "img@b")
OTHER = ImageTarget("other", 7, "img@b")
CHANGE, CHANGE_B = Announcement("pool", True), Announcement("pool", True, "img@b")
NO_CHANGE = Announcement("pool", False)

CASES = (
    ("registry", None, {NEW, NEW_IMAGE}),
    ("registry", CHANGE, {NEW}),
    ("registry", CHANGE_B, {NEW}),
    ("registry", Announcement("pool", True, "img@c"), set[ImageTarget]()),
    ("registry", NO_CHANGE, set[ImageTarget]()),
    ("build", CHANGE, {NEW, SAME_IMAGE}),
    ("build", CHANGE_B, {NEW}),
    ("build", NO_CHANGE, {SAME}),
    ("build", None, {NEW, SAME_IMAGE}),
)


def plan_of(mode: Mode, *, image: str = "img@b", strict: bool = False) -> TargetPlan:
    """Return a plan that means to run *image*."""
    return TargetPlan(mode, "pool", image if mode == "registry" else None, strict)


@pytest.mark.parametrize(("mode", "own", "taken"), CASES)
def test_each_cell_takes_exactly_the_reads_it_names(
    mode: Mode, own: Announcement | None, taken: set[ImageTarget]
) -> None:
    """Every read is judged in every row, so that a row neither takes more nor less."""
    reads = {SAME, SAME_IMAGE, NEW, NEW_IMAGE, OTHER}

    assert {each for each in reads if accepts(plan_of(mode), own, PRE, each)} == taken


def test_an_unchanged_planned_image_is_enough_in_registry_mode() -> None:
    """A Worker-only deploy waits for no later version (G99)."""
    assert accepts(plan_of("registry", image="img@a"), None, PRE, SAME)
    assert accepts(plan_of("registry", image="img@a"), NO_CHANGE, PRE, SAME)


def test_the_table_has_one_row_for_each_mode_and_hint() -> None:
    """No row is missing, none is there twice, and all conditions exist and are used."""
    modes: tuple[Mode, ...] = ("registry", "build")
    hints: tuple[Hint, ...] = ("none", "change", "no-change")

    assert sorted((row.mode, row.hint) for row in ACCEPTANCES) == sorted(
        itertools.product(modes, hints)
    )
    used = {each for row in ACCEPTANCES for each in row.needs} | {"the own application"}
    assert used == set(CONDITIONS)


@pytest.mark.parametrize(
    ("own", "registry", "build"),
    [
        (None, "NATIVE_TARGET_UNPROVEN", "NATIVE_TARGET_UNPROVEN"),
        (CHANGE, "NATIVE_TARGET_UNPROVEN", "NATIVE_TARGET_UNPROVEN"),
        (NO_CHANGE, "NATIVE_HINT_CONFLICT", "NATIVE_HINT_CONFLICT"),
    ],
)
def test_what_was_never_proved_has_the_code_of_its_row(
    own: Announcement | None, registry: str, build: str
) -> None:
    """Only a printed no-change can be contradicted; all else stays unproved."""
    assert acceptance("registry", own).otherwise == registry
    assert acceptance("build", own).otherwise == build


def test_a_foreign_or_unrecognised_line_is_no_hint() -> None:
    """Only one recognised line about the own application is usable; two that differ are not."""
    foreign, unclear = Announcement("other", False), Announcement("pool", None)
    nameless = Announcement(None, False)

    assert own_announcement([foreign, unclear, nameless], "pool") is None
    assert own_announcement([foreign, NO_CHANGE, NO_CHANGE], "pool") == NO_CHANGE
    assert own_announcement([CHANGE, NO_CHANGE], "pool") is None
    assert [hint_of(each) for each in (None, unclear, CHANGE, NO_CHANGE)] == [
        "none",
        "none",
        "change",
        "no-change",
    ]


def test_strict_hints_refuse_a_later_version_without_a_line() -> None:
    """The contestable reading is a value of the plan (I-18)."""
    assert accepts(plan_of("build"), None, PRE, NEW)
    assert not accepts(plan_of("build", strict=True), None, PRE, NEW)
    assert accepts(plan_of("build", strict=True), CHANGE, PRE, NEW)


def test_reconciling_is_skipped_only_where_no_container_changed() -> None:
    """Build mode needs the own no-change line; a printed change is never skipped."""
    assert is_skippable(plan_of("registry"), None, PRE, SAME)
    assert is_skippable(plan_of("registry"), NO_CHANGE, PRE, SAME)
    assert not is_skippable(plan_of("registry"), CHANGE, PRE, SAME)
    assert not is_skippable(plan_of("registry"), None, PRE, NEW)
    assert is_skippable(plan_of("build"), NO_CHANGE, PRE, SAME)
    assert not is_skippable(plan_of("build"), None, PRE, SAME)


def test_a_plan_names_an_image_in_registry_mode_and_only_there() -> None:
    """A plan that contradicts itself cannot be made."""
    with pytest.raises(ValueError, match="registry mode"):
        TargetPlan("registry", "pool")
    with pytest.raises(ValueError, match="registry mode"):
        TargetPlan("build", "pool", "img@b")
