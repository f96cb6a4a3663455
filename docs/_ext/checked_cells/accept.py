"""Rewrite a page's ``{expect}`` blocks to what PyTorch showed, and touch nothing else."""

from __future__ import annotations

import re

from checked_cells.compare import pair
from checked_cells.outputs import DIGEST, Shown, digest
from checked_cells.page import Cell, Expectation
from checked_cells.run import PageResult


def accepted_text(result: PageResult) -> str:
    """Return the page's source with expectations that hold.

    Args:
        result: of a page that ran to its end and whose failures are all acceptable.
    """
    lines = result.page.lines
    for cell, outcome in reversed(list(zip(result.page.cells, result.outcomes, strict=True))):
        _rewrite_cell(lines, cell, outcome.shown)
    return "\n".join(lines)


def _rewrite_cell(lines: list[str], cell: Cell, shown: list[Shown]) -> None:
    """Edit the lines of one cell's expectations, from the last to the first."""
    pairing = pair(cell.expectations, shown)
    last = cell.expectations[-1].last if cell.expectations else cell.last
    lines[last + 1 : last + 1] = [line for item in pairing.undeclared for line in _block(item)]
    for expectation, item in sorted(pairing.differing, key=lambda one: -one[0].first):
        block = _block(item, expectation) if item else []
        lines[expectation.first : expectation.last + 1] = block


def _block(item: Shown, old: Expectation | None = None) -> list[str]:
    """Return the lines of a block that declares `item`, in the form that `old` had."""
    text = item.text
    # A text that looks like a digest would be compared as one.
    by_digest = old is None or old.text.startswith(DIGEST) or text.startswith(DIGEST)
    if item.category == "media" and by_digest:
        text = digest(text) + "\n"
    longest = max((len(run) for run in re.findall("^ *(`{3,})", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    argument = f" {item.kind}" if item.kind else ""
    return [f"{fence}{{expect}}{argument}", *text.split("\n")[:-1], fence]
