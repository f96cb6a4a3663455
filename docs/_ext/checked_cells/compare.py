"""Compare what a cell showed with what its page declares: symmetric, total, no wildcards."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from checked_cells.normalise import normalise
from checked_cells.outputs import DIGEST, CellOutcome, Shown, digest
from checked_cells.page import RAISES, Cell, Expectation, Page

LONGEST, WIDEST = 200, 400
"""Lines, and characters of a line, that a difference may have when it is shown."""

NAMES = {
    "output": "output",
    "stderr": "text on stderr",
    "warning": "warning",
    "error": "error",
    "media": "rich output",
}


@dataclass(frozen=True)
class Check:
    """One comparison, as it is recorded in checks.json.

    Attributes:
        line: of the ``{expect}`` block, or of a cell that must show nothing.
        kind: output, stderr, warning, error, media, or nothing.
    """

    line: int
    kind: str
    passed: bool


@dataclass(frozen=True)
class Pairing:
    """Which expectation of a cell stands for what the cell showed.

    Attributes:
        held: expectations that hold, with what they declare.
        differing: the others, with what came in their place, or None.
        undeclared: what is left.
    """

    held: list[tuple[Expectation, Shown]]
    differing: list[tuple[Expectation, Shown | None]]
    undeclared: list[Shown]


def pair(expectations: list[Expectation], shown: list[Shown]) -> Pairing:
    """Pair expectations with what was shown: equal ones first, then by kind."""
    left = list(shown)
    held, open_ones, differing = [], [], []
    for expectation in expectations:
        item = next((item for item in left if _matches(expectation, item)), None)
        if item is None:
            open_ones.append(expectation)
        else:
            left.remove(item)
            held.append((expectation, item))
    for expectation in open_ones:
        item = _counterpart(expectation, left)
        if item is not None:
            left.remove(item)
        differing.append((expectation, item))
    return Pairing(held, differing, left)


def compare_cell(page: Page, cell: Cell, outcome: CellOutcome) -> list[Check]:
    """Compare one cell; differences become failures of the page.

    Returns:
        One check for each expectation, or one of kind ``nothing`` for a cell without any.
    """
    line = cell.first + 1
    if outcome.violations:
        for text in outcome.violations:
            page.fail(line, text)
        return not_passed(cell)
    _compare_tag(page, cell, outcome)
    pairing = pair(cell.expectations, outcome.shown)
    checks = [Check(e.first + 1, item.category, passed=True) for e, item in pairing.held]
    for expectation, item in pairing.differing:
        _fail_expectation(page, expectation, item)
        category = item.category if item else _category(expectation.kind)
        checks.append(Check(expectation.first + 1, category, passed=False))
    for item in pairing.undeclared:
        _fail_undeclared(page, line, item)
    if not checks:
        checks.append(Check(line, "nothing", passed=not outcome.shown))
    return sorted(checks, key=lambda check: check.line)


def not_passed(cell: Cell) -> list[Check]:
    """Return the checks of a cell with which nothing could be compared."""
    checks = [Check(e.first + 1, _category(e.kind), passed=False) for e in cell.expectations]
    return checks or [Check(cell.first + 1, "nothing", passed=False)]


def _compare_tag(page: Page, cell: Cell, outcome: CellOutcome) -> None:
    line = cell.first + 1
    error = next((item for item in outcome.shown if item.category == "error"), None)
    if error and RAISES not in cell.tags:
        page.fail(
            line,
            f"{error.kind} raised in a cell without the tag {RAISES}: {_quoted(error.text)}",
        )
    if not error and RAISES in cell.tags:
        page.fail(line, f"the cell has the tag {RAISES} but raises nothing; remove the tag")


def _matches(expectation: Expectation, item: Shown) -> bool:
    if expectation.kind != item.kind:
        return False
    declared = normalise(expectation.text)
    if item.category == "media" and declared.startswith(DIGEST):
        return declared == digest(item.text) + "\n"
    return declared == item.text


def _counterpart(expectation: Expectation, shown: list[Shown]) -> Shown | None:
    """Return what was shown in place of what was declared, to name both in one failure."""
    for item in shown:
        if item.kind == expectation.kind:
            return item
    if _category(expectation.kind) == "error":
        for item in shown:
            if item.category in ("error", "warning"):
                return item
    return None


def _category(kind: str) -> str:
    """Guess what an expectation's argument stands for; class names of both sorts give `error`."""
    if kind in ("", "stderr"):
        return kind or "output"
    return "media" if "/" in kind else "error"


def _fail_expectation(page: Page, expectation: Expectation, item: Shown | None) -> None:
    line = expectation.first + 1
    category = _category(expectation.kind)
    name = NAMES[category] if category in ("output", "stderr") else expectation.kind
    quoted = "" if category == "media" else f" {_quoted(expectation.text)}"
    if item is None:
        # The class may be that of an error or of a warning; the page does not say which.
        got = "warning" if expectation.kind.endswith("Warning") else NAMES[category]
        page.fail(line, f"expected {name}{quoted}, got no {got}", acceptable=True)
    elif item.kind != expectation.kind:
        message = f"expected {name}{quoted}, got {item.kind} {_quoted(item.text)}"
        page.fail(line, message, acceptable=True)
    else:
        shown = _comparable(expectation, item)
        diff = difference(normalise(expectation.text), shown)
        page.fail(line, f"expected another {name}", diff, acceptable=True)


def _comparable(expectation: Expectation, item: Shown) -> str:
    if item.category == "media" and expectation.text.startswith(DIGEST):
        return digest(item.text) + "\n"
    return item.text


def _fail_undeclared(page: Page, line: int, item: Shown) -> None:
    argument = f" {item.kind}" if item.kind else ""
    name = item.kind if item.category in ("error", "warning", "media") else NAMES[item.category]
    page.fail(
        line,
        f"undeclared {name}; declare it under the cell with {{expect}}{argument}",
        difference("", digest(item.text) + "\n" if item.category == "media" else item.text),
        acceptable=True,
    )


def difference(declared: str, shown: str) -> str:
    """Return a unified diff from what the page declares to what PyTorch showed."""
    lines = difflib.unified_diff(
        declared.splitlines(), shown.splitlines(), "declared", "shown", lineterm=""
    )
    lines = [line if len(line) <= WIDEST else line[:WIDEST] + " …" for line in lines]
    if len(lines) > LONGEST:
        lines[LONGEST:] = [f"… {len(lines) - LONGEST} more lines"]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    return f'"{lines[0]}{" …" if len(lines) > 1 else ""}"'
