"""Each fix on the pages works when a reader pastes it alone into an empty file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from checked_cells.normalise import normalise
from checked_cells.page import STANDS_ALONE, Cell
from conftest import DOCNAMES, run, source_page

CELLS = [
    pytest.param(cell, id=f"{docname}:{cell.first + 1}")
    for docname in DOCNAMES
    for cell in source_page(docname).cells
    if STANDS_ALONE in cell.tags
]
LABEL = re.compile("-(instead|fixes)$")


def test_there_are_such_cells() -> None:
    assert CELLS


RUN = """
import os, runpy, sys
import torch, torch._dynamo

for file in sys.argv[1:]:
    if not os.fork():
        for descriptor, suffix in (1, ".out"), (2, ".err"):
            os.dup2(os.open(file + suffix, os.O_WRONLY | os.O_CREAT), descriptor)
        sys.argv = [file]
        runpy.run_path(file, run_name="__main__")
        sys.stdout.flush()
        os._exit(0)
    if os.wait()[1] == 0:
        open(file + ".ok", "w").close()
"""
"""Runs files, each in a process of its own, which share one import of PyTorch."""


@pytest.fixture(scope="module")
def files(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Path]:
    """The chosen cells, by identity, as files that have run; what they printed is beside them."""
    place = tmp_path_factory.mktemp("alone")
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    cells = [spec.params["cell"] for spec in specs if spec and "cell" in spec.params]
    files = [place / f"fix-{number}.py" for number, _ in enumerate(cells)]
    for cell, file in zip(cells, files, strict=True):
        file.write_text(cell.source + "\n", "utf-8")
    result = run(sys.executable, "-I", "-X", "utf8", "-c", RUN, *files, cwd=place)
    assert result.status == 0, result.output
    return {id(cell): file for cell, file in zip(cells, files, strict=True)}


@pytest.mark.parametrize("cell", CELLS)
def test_cell_runs_alone_and_prints_what_the_page_shows(cell: Cell, files: dict[int, Path]) -> None:
    assert [expectation.kind for expectation in cell.expectations] == [""]
    file = files[id(cell)]
    out, err = (
        file.with_name(file.name + suffix).read_text("utf-8") for suffix in (".out", ".err")
    )
    assert err == ""
    assert file.with_name(f"{file.name}.ok").exists()
    # A file does not show the value of its last expression, so a fix that relies on it is caught.
    assert normalise(out).rstrip("\n") == cell.expectations[0].text.rstrip("\n")


def sections_with_fixes(docname: str) -> list[tuple[int, int]]:
    """Return the first and last line of each section whose label promises a fix."""
    page = source_page(docname)
    starts = [token.map[0] for token in page.tokens if token.tag in ("h1", "h2") and token.map]
    labels = [
        token.map[0]
        for token in page.tokens
        if token.type == "myst_target" and LABEL.search(token.content)
    ]
    # The next heading is the section's own, and the section ends at the one after it.
    ends = [*starts, len(page.lines), len(page.lines)]
    return [(label, [end for end in ends if end > label][1]) for label in labels]


def test_some_page_has_fixes() -> None:
    assert any(sections_with_fixes(docname) for docname in DOCNAMES)


@pytest.mark.parametrize("docname", DOCNAMES)
def test_every_section_of_fixes_has_a_cell_that_stands_alone(docname: str) -> None:
    tagged = [cell.first for cell in source_page(docname).cells if STANDS_ALONE in cell.tags]
    for first, last in sections_with_fixes(docname):
        assert any(first < line < last for line in tagged), f"docs/{docname}.md:{first + 1}"
