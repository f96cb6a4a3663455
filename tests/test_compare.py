"""The comparison is symmetric and total: no change of a page's expectations stays green."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked import OUTCOMES, block, compare, error, has_error, media, read, stream, warning
from checked_cells.compare import Check, compare_cell
from checked_cells.normalise import normalise
from checked_cells.outputs import CellOutcome, digest, sort_outputs
from checked_cells.page import RAISES, Page
from conftest import cell, expect
from hypothesis import assume, given
from hypothesis import strategies as st

# A media output that looks like a digest can be declared by its own digest only.
DECLARABLE = OUTCOMES.filter(
    lambda outcome: (
        not any(
            item.category == "media" and item.text.startswith("sha256:") for item in outcome.shown
        )
    )
)


def declared(outcome: CellOutcome) -> Page:
    """Return a page with one cell that declares all of `outcome`."""
    blocks = [block(item) for item in outcome.shown]
    return read(cell("x = 1", *blocks, tags=RAISES if has_error(outcome) else ""))


@given(DECLARABLE)
def test_everything_declared_is_green(outcome: CellOutcome) -> None:
    page = compare(declared(outcome), [outcome])
    assert page.failures == []


@given(DECLARABLE)
def test_the_order_of_expectations_is_free(outcome: CellOutcome) -> None:
    page = declared(outcome)
    page.cells[0].expectations.reverse()
    assert compare(page, [outcome]).failures == []


@given(DECLARABLE, st.data())
def test_a_changed_text_is_red(outcome: CellOutcome, data: st.DataObject) -> None:
    assume(outcome.shown)
    page = declared(outcome)
    place = data.draw(st.integers(0, len(outcome.shown) - 1))
    old = page.cells[0].expectations[place]
    body = old.text.removesuffix("\n")
    start = data.draw(st.integers(0, len(body)))
    end = data.draw(st.integers(start, min(len(body), start + 2)))
    new = body[:start] + data.draw(st.text("ab \n\t", max_size=3)) + body[end:] + "\n"
    assume(normalise(new) != normalise(old.text))
    page.cells[0].expectations[place] = replace(old, text=new)
    assert compare(page, [outcome]).failures


@given(DECLARABLE, st.data())
def test_a_changed_kind_is_red(outcome: CellOutcome, data: st.DataObject) -> None:
    assume(outcome.shown)
    page = declared(outcome)
    place = data.draw(st.integers(0, len(outcome.shown) - 1))
    old = page.cells[0].expectations[place]
    kinds = ("", "stderr", "Exception", "ValueError", "UserWarning", "text/html", f"{old.kind}x")
    kind = data.draw(st.sampled_from(kinds).filter(lambda kind: kind != old.kind))
    page.cells[0].expectations[place] = replace(old, kind=kind)
    assert compare(page, [outcome]).failures


@given(DECLARABLE, st.data())
def test_one_expectation_less_or_more_is_red(outcome: CellOutcome, data: st.DataObject) -> None:
    assume(outcome.shown)
    page = declared(outcome)
    expectations = page.cells[0].expectations
    place = data.draw(st.integers(0, len(expectations) - 1))
    if data.draw(st.booleans()):
        del expectations[place]
    else:
        expectations.append(expectations[place])
    assert compare(page, [outcome]).failures


@given(DECLARABLE)
def test_the_tag_must_agree_with_the_error(outcome: CellOutcome) -> None:
    page = declared(outcome)
    page.cells[0].tags = [] if page.cells[0].tags else [RAISES]
    assert compare(page, [outcome]).failures


@pytest.mark.parametrize("text", ["<b>x</b>", "<b>x</b>\n\n<i>y</i>"])
def test_a_digest_stands_for_its_picture_alone(text: str) -> None:
    outcome = sort_outputs([media("text/html", text)])
    short = digest(outcome.shown[0].text)
    assert compare(read(cell("x", expect(short, "text/html"))), [outcome]).failures == []
    for other in (short[:-1], short + "0", short.replace("sha256", "sha1"), short.upper()):
        page = read(cell("x", expect(other, "text/html")))
        assert len(compare(page, [outcome]).failures) == 1


def test_both_sides_are_normalised() -> None:
    outcome = sort_outputs([stream("<A at 0x7f00>")])
    for text in ("<A at 0x…>", "<A at 0x1234>"):
        assert compare(read(cell("x", expect(text))), [outcome]).failures == []


def test_a_failure_shows_the_difference() -> None:
    page = compare(read(cell("x", expect("a\nb"))), [sort_outputs([stream("a\nc")])])
    [failure] = page.failures
    assert (failure.line, failure.acceptable) == (page.cells[0].last + 2, True)
    assert failure.detail == "--- declared\n+++ shown\n@@ -1,2 +1,2 @@\n a\n-b\n+c"


def test_every_cell_is_recorded() -> None:
    page = read(
        cell("a", expect("1"), expect("w", "UserWarning"))
        + cell("b")
        + cell("c", expect("2", "ValueError"), tags=RAISES)
    )
    shown = [
        sort_outputs([stream("1"), warning("UserWarning", "w")]),
        sort_outputs([]),
        sort_outputs([error("ValueError", "3")]),
    ]
    checks = [
        check
        for found, outcome in zip(page.cells, shown, strict=True)
        for check in compare_cell(page, found, outcome)
    ]
    first, second, third = page.cells
    assert checks == [
        Check(first.expectations[0].first + 1, "output", passed=True),
        Check(first.expectations[1].first + 1, "warning", passed=True),
        Check(second.first + 1, "nothing", passed=True),
        Check(third.expectations[0].first + 1, "error", passed=False),
    ]


def test_a_violation_fails_all_that_the_cell_declares() -> None:
    page = read(cell("x", expect("1"), expect("2", "stderr")))
    outcome = CellOutcome(violations=["bad"])
    checks = compare_cell(page, page.cells[0], outcome)
    assert [(check.kind, check.passed) for check in checks] == [
        ("output", False),
        ("stderr", False),
    ]
    assert [failure.acceptable for failure in page.failures] == [False]
