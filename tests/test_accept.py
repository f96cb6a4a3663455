"""`make accept` makes a page green by its ``{expect}`` blocks alone."""

from __future__ import annotations

import re

import pytest
from checked import OUTCOMES, accept, block, compare, has_error, media, read, reread, stream
from checked_cells.outputs import CellOutcome, digest, sort_outputs
from checked_cells.page import RAISES
from conftest import Project, cell, copy_project, expect, page
from hypothesis import example, given
from hypothesis import strategies as st

GAPS = st.sampled_from(("", "\n", "\n\n", "  \n"))


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, list[CellOutcome]]:
    """Draw a page's body, whose expectations may be anything, and what its cells showed."""
    body, outcomes = [], []
    for number in range(draw(st.integers(1, 3))):
        outcome = draw(OUTCOMES)
        declared = draw(OUTCOMES).shown
        if draw(st.booleans()):
            declared = outcome.shown[: draw(st.integers(0, len(outcome.shown)))] + declared
        body.append(draw(st.sampled_from(("", "Text.  \n\n", "- `x`\n\n\n", "### H\n\n% c\n"))))
        body.append(cell(f"x = {number}", tags=RAISES if has_error(outcome) else "").rstrip("\n"))
        body.append("\n")
        for item in declared:
            body += [draw(GAPS), block(item)]
        body.append("\n")
        outcomes.append(outcome)
    return "".join(body) + draw(st.sampled_from(("", "Last words.", "Last line.\n\n"))), outcomes


def without_blocks(text: str) -> str:
    """Return `text` without its ``{expect}`` blocks, found with no help from the code."""
    kept, fence = [], ""
    for line in text.split("\n"):
        if fence:
            if re.fullmatch("`{3,}", line) and len(line) >= len(fence):
                fence = ""
        elif match := re.match(r"(`{3,})\{expect\}", line):
            fence = match[1]
        else:
            kept.append(line)
    return "\n".join(kept)


SHOWS_A_DIGEST = sort_outputs([media("text/html", "sha256:")])
"""What is shown looks like a digest, so that it cannot be declared by its text."""


@given(pages())
@example((cell("x = 1", expect("something else", "text/html")), [SHOWS_A_DIGEST]))
def test_an_accepted_page_is_green(drawn: tuple[str, list[CellOutcome]]) -> None:
    body, outcomes = drawn
    text = accept(read(body), outcomes)
    assert compare(reread(text), outcomes).failures == []


@given(pages())
def test_nothing_but_expectations_is_touched(drawn: tuple[str, list[CellOutcome]]) -> None:
    body, outcomes = drawn
    before = read(body)
    text = before.text
    assert without_blocks(accept(before, outcomes)) == without_blocks(text)


@given(pages())
def test_accepting_twice_changes_nothing_more(drawn: tuple[str, list[CellOutcome]]) -> None:
    body, outcomes = drawn
    once = accept(read(body), outcomes)
    assert accept(reread(once), outcomes) == once


def test_a_green_page_keeps_its_bytes() -> None:
    body = cell("x = 1", "``````{expect}\n1\n``````", "", expect("at 0x12", "stderr"))
    before = read(body)
    outcome = sort_outputs([stream("1"), stream("at 0xff", "stderr")])
    assert accept(before, [outcome]) == before.text


def test_a_picture_is_declared_by_its_digest_and_its_text_if_it_was() -> None:
    outcome = sort_outputs([media("text/html", "<b>x</b>")])
    assert digest("<b>x</b>\n") in accept(read(cell("x")), [outcome])
    text = accept(read(cell("x", expect("<i>", "text/html"))), [outcome])
    assert "\n<b>x</b>\n" in text
    assert "sha256" not in text


ACCEPTABLE = page(cell("print(2)", expect("1")) + cell("1 + 1"))
REFUSED = {
    "dead": ("import os\nos._exit(0)", 20, "the page's process died in this cell"),
    "hang": ("while True:\n    pass", 20, "the cell takes more than 12 s"),
    "error": ("1 / 0", 20, "ZeroDivisionError raised in a cell without the tag"),
    "input": ("input()", 20, "the cell reads standard input"),
    "source": ("x = (", 21, "syntax error"),
}


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, object, dict[str, str]]:
    project = copy_project(tmp_path_factory.mktemp("accept") / "project", pages=False)
    texts = {"good": ACCEPTABLE, "index-like": ACCEPTABLE.replace("2", "3")}
    for name, (code, _line, _message) in REFUSED.items():
        texts[name] = page(cell("print(2)", expect("1")) + cell(code) + cell("print(3)"))
    for name, text in texts.items():
        project.write(f"{name}.md", text)
    return project, project.check("--timeout=12", command="accept"), texts


@pytest.mark.parametrize("name", REFUSED)
def test_accept_refuses_and_leaves_the_page(accepted: tuple, name: str) -> None:
    project, result, texts = accepted
    _code, line, message = REFUSED[name]
    assert f"docs/{name}.md:{line}: {message}" in result.stderr
    assert (project.root / "docs" / f"{name}.md").read_text("utf-8") == texts[name]


def test_accept_settles_the_other_pages(accepted: tuple) -> None:
    project, result, _texts = accepted
    assert result.status != 0
    assert (project.root / "docs" / "good.md").read_text("utf-8") == page(
        cell("print(2)", expect("2")) + cell("1 + 1", expect("2"))
    )
    assert "docs/good.md\n--- declared\n+++ shown\n" in result.stdout
    checked = project.check("docs/good.md", "docs/index-like.md")
    assert checked.status == 0, checked.output


def test_accept_lists_only_what_it_refuses(accepted: tuple) -> None:
    _project, result, _texts = accepted
    lines = [line for line in result.stderr.splitlines() if line.startswith("docs/")]
    assert len(lines) == len(REFUSED)
