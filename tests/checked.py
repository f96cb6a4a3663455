"""Make pages, and what their cells showed, without running them."""

from __future__ import annotations

from checked_cells.accept import accepted_text
from checked_cells.compare import compare_cell
from checked_cells.outputs import CellOutcome, Shown, sort_outputs
from checked_cells.page import Page, notebook, read_text
from checked_cells.rules import check_source
from checked_cells.run import PageResult
from conftest import page
from hypothesis import strategies as st
from nbformat import NotebookNode
from nbformat.v4 import new_output
from page_note import NOTE


def read(body: str) -> Page:
    """Return a page with `body`, taken apart."""
    return read_text(page(body), "docs/x.md", "x")


def stream(text: str, name: str = "stdout") -> NotebookNode:
    return new_output("stream", name=name, text=text)


def value(text: str) -> NotebookNode:
    return new_output("execute_result", data={"text/plain": text}, execution_count=1)


def media(kind: str, text: str) -> NotebookNode:
    return new_output("display_data", data={kind: text, "text/plain": "<object>"})


def warning(category: str, message: str) -> NotebookNode:
    note = {"kind": "warning", "category": category, "message": message}
    return new_output("display_data", data={NOTE: note})


def error(name: str, message: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=message, traceback=[])


def compare(page: Page, outcomes: list[CellOutcome]) -> Page:
    """Compare each cell of `page` with what it showed; return the page with its failures."""
    for cell, outcome in zip(page.cells, outcomes, strict=True):
        compare_cell(page, cell, outcome)
    return page


def accept(page: Page, outcomes: list[CellOutcome]) -> str:
    """Return the page's text after `make accept`."""
    return accepted_text(PageResult(page, notebook(page), outcomes=outcomes))


def reread(text: str) -> Page:
    """Return a page with this text, which must break no rule."""
    again = read_text(text, "docs/x.md", "x")
    check_source(again)
    assert again.failures == []
    return again


TEXT = st.text(
    st.one_of(
        st.sampled_from("`~:-+{}#> \t\n\n%\\\"'é…世\ufeff\xa0"),
        st.characters(codec="utf-8", exclude_characters="\r"),
    ),
    max_size=40,
) | st.lists(
    st.sampled_from(
        (
            "",
            " ",
            "\t",
            "```",
            "````  ",
            "   ```",
            "~~~",
            "```{expect}",
            "```{code-cell} python",
            ":tags: [x]",
            "---",
            "+++",
            "# x",
            "x  ",
            "at 0x12ab",
            " (Triggered internally at ../a.cpp:1.)",
            "(Triggered internally at (Triggered internally at x) y)",
            "/tmp/page-abcdefgh/tmp/page-abcdefgh/tmpabcdefgh",
            "sha256:0123456789abcdef",
        )
    ),
    max_size=5,
).map("\n".join)
"""What a cell may print: with everything that Markdown could take for its own."""

KINDS = st.sampled_from(("ValueError", "torch.Error", "m.f.<locals>.E", "UserWarning", "Ünfug"))
OUTPUTS = st.lists(
    st.one_of(
        TEXT.map(stream),
        TEXT.map(value),
        TEXT.map(lambda text: stream(text, "stderr")),
        st.builds(warning, KINDS, TEXT),
        st.builds(media, st.sampled_from(("text/html", "image/svg+xml")), TEXT),
    ),
    max_size=4,
)
OUTCOMES = (
    st.tuples(OUTPUTS, st.none() | st.builds(error, KINDS, TEXT))
    .map(lambda pair: sort_outputs(pair[0] + [pair[1]] * (pair[1] is not None)))
    .filter(lambda outcome: not outcome.violations)
)
"""What a cell showed, such that a page can declare it."""


def block(item: Shown, fence: str = "`" * 60) -> str:
    """Return an ``{expect}`` block that declares `item`, written without the code under test."""
    argument = f" {item.kind}" if item.kind else ""
    return f"{fence}{{expect}}{argument}\n{item.text}{fence}\n"


def has_error(outcome: CellOutcome) -> bool:
    return any(item.category == "error" for item in outcome.shown)
