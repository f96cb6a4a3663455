"""The comparison is symmetric and total: no change of a page's expectations stays green."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from checked import OUTCOMES, block, compare, error, has_error, media, read, stream, warning
from checked_cells.compare import Check, compare_cell
from checked_cells.normalise import normalise
from checked_cells.outputs import CellOutcome, digest, sort_outputs
from checked_cells.page import RAISES, Cell, Expectation, Page
from checked_cells.run import PageResult, run_pages
from checked_cells.site import load_page
from conftest import PROJECT, cell, expect
from hypothesis import assume, given
from hypothesis import strategies as st

MUTATIONS = 200

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


@pytest.fixture(scope="module")
def real_pages() -> list[PageResult]:
    """The real pages, each run once."""
    source = PROJECT / "docs"
    paths = [path for path in sorted(source.rglob("*.md")) if "_ext" not in path.parts]
    pages = [load_page(Path(path), source) for path in paths]
    results = run_pages(
        [page for page in pages if page.cells], jobs=os.cpu_count() or 1, timeout=300
    )
    assert [failure for result in results for failure in result.failures] == []
    return results


def mutants(chance: random.Random, results: list[PageResult]) -> Iterator[tuple[str, Page]]:
    """Yield pages, each with one change in one expectation, and what was changed."""
    declaring = [
        (result, number)
        for result in results
        for number, found in enumerate(result.page.cells)
        if found.expectations
    ]
    while True:
        result, number = chance.choice(declaring)
        cells = list(result.page.cells)
        old = cells[number].expectations
        new, what = mutate(chance, old)
        if not same(old, new):
            cells[number] = replace_expectations(cells[number], new)
            page = replace(result.page, cells=cells, failures=[])
            yield f"{page.path}:{old[0].first + 1}: {what}", page


def replace_expectations(found: Cell, expectations: list[Expectation]) -> Cell:
    return replace(found, expectations=expectations)


def same(old: list[Expectation], new: list[Expectation]) -> bool:
    """Tell whether both declare the same: only normalisation may make two texts one."""
    return sorted((one.kind, normalise(one.text)) for one in old) == sorted(
        (one.kind, normalise(one.text)) for one in new
    )


def mutate(chance: random.Random, old: list[Expectation]) -> tuple[list[Expectation], str]:
    place = chance.randrange(len(old))
    one = old[place]
    body = one.text.removesuffix("\n")
    where = chance.randrange(len(body) + 1)
    way = chance.choice(("insert", "delete", "cut", "line", "digit", "kind", "drop", "twice"))
    match way:
        case "drop":
            return old[:place] + old[place + 1 :], way
        case "twice":
            return [*old, one], way
        case "kind":
            kinds = ["", "stderr", "Exception", "RuntimeError", "UserWarning", "text/html"]
            changed = replace(one, kind=chance.choice(kinds))
        case "insert":
            character = chance.choice("x0 \n.-é")
            changed = replace(one, text=f"{body[:where]}{character}{body[where:]}\n")
        case "delete":
            changed = replace(one, text=f"{body[:where]}{body[where + 1 :]}\n")
        case "cut":
            changed = replace(one, text=f"{body[:where]}\n")
        case "line":
            lines = body.split("\n")
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
            changed = replace(one, text="\n".join(lines) + "\n")
        case "digit":
            number = chance.choice([i for i, c in enumerate(body) if c.isdigit()] or [0])
            changed = replace(one, text=f"{body[:number]}7{body[number + 1 :]}\n")
    return [*old[:place], changed, *old[place + 1 :]], f"{way}: {one.text!r} -> {changed.text!r}"


def test_no_mutation_of_the_real_pages_is_green(real_pages: list[PageResult]) -> None:
    seed = int(os.environ.get("MUTATION_SEED") or random.randrange(10**6))
    print(f"MUTATION_SEED={seed}")
    outcomes = {result.page.path: result.outcomes for result in real_pages}
    source = mutants(random.Random(seed), real_pages)
    wrong = []
    for _ in range(MUTATIONS):
        what, page = next(source)
        if not compare(page, outcomes[page.path]).failures:
            wrong.append(what)
    assert wrong == []
