"""What real pages show is the same from forked and fresh processes; no change of it stays green."""

from __future__ import annotations

import io
import os
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from checked import compare
from checked_cells.normalise import normalise
from checked_cells.page import Expectation, Page
from checked_cells.run import PageResult, run_pages
from conftest import DOCNAMES, source_page

MUTATIONS = 200


def run_all(*, forked: bool) -> list[PageResult]:
    """Run the pages with cells, and return what that gave, page after page."""
    pages = [page for page in map(source_page, DOCNAMES) if page.cells]
    results = run_pages(pages, 2, stream=io.StringIO(), forked=forked)
    return sorted(results, key=lambda result: result.page.path)


@pytest.fixture(scope="module")
def real_pages() -> list[PageResult]:
    """The real pages, run as in a build."""
    results = run_all(forked=True)
    assert [failure for result in results for failure in result.failures] == []
    return results


def all_told(result: PageResult) -> object:
    """Return all that a page's run gave, in a form that can be compared."""
    return result.page.path, result.failures, result.checks, result.outcomes, result.notebook


def test_real_pages_give_the_same_forked_and_fresh(real_pages: list[PageResult]) -> None:
    forked = [all_told(result) for result in real_pages]
    assert forked == [all_told(result) for result in run_all(forked=False)]


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
            cells[number] = replace(cells[number], expectations=new)
            page = replace(result.page, cells=cells, failures=[])
            yield f"{page.path}:{old[0].first + 1}: {what}", page


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
