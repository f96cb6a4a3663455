"""The form that every page has: a title, a short answer, labelled sections; and its cells."""

from __future__ import annotations

import re

from markdown_it.token import Token

from checked_cells.page import Page

ANSWER_WORDS = 60
"""Words that a short answer may have, so that it fits the first screen and a link preview."""


def check_form(page: Page, without_cells: dict[str, str]) -> None:
    """Check a page's form; what is missing becomes a failure of the page.

    Args:
        without_cells: the audited list of pages that have no cell, with the reason for each.
    """
    if not page.tokens:
        return
    if page.docname in without_cells and page.cells:
        line = page.cells[0].first + 1
        page.fail(line, "the page has cells but is listed in docs/pages-without-cells.txt")
    if page.docname not in without_cells and not page.cells:
        page.fail(
            1,
            "the page has no cell; a page shows what it says, or is listed with a reason "
            "in docs/pages-without-cells.txt",
        )
    blocks = [token for token in page.tokens if token.level == 0 and token.map]
    _check_title_and_answer(page, blocks)
    _check_labels(page, blocks)


def _check_title_and_answer(page: Page, blocks: list[Token]) -> None:
    content = [token for token in blocks if token.type != "front_matter"]
    if not content or content[0].type != "heading_open" or content[0].tag != "h1":
        page.fail(1, "the page must begin with its title, a level 1 heading")
        return
    title = content[0].map[0] + 1
    if len(content) < 2 or content[1].type != "paragraph_open":
        page.fail(
            title, "the title must be followed by the short answer, a paragraph of plain text"
        )
        return
    answer = page.tokens[page.tokens.index(content[1]) + 1].content
    if (words := len(answer.split())) > ANSWER_WORDS:
        page.fail(
            content[1].map[0] + 1, f"the short answer has {words} words; at most {ANSWER_WORDS}"
        )
    if re.search(r"\]\(|\{\w+\}`|\*\*", answer):
        page.fail(content[1].map[0] + 1, "the short answer must be plain text: no links, no bold")


def _check_labels(page: Page, blocks: list[Token]) -> None:
    before: Token | None = None
    for token in blocks:
        if token.type == "heading_open" and token.tag == "h2":
            name = page.docname.split("/")[-1]
            label = before.content if before and before.type == "myst_target" else ""
            if not label.startswith(f"{name}-"):
                page.fail(
                    token.map[0] + 1,
                    f"a section needs a lasting label: write ({name}-WORD)= above it",
                )
        before = token
