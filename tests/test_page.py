"""A page's source is taken apart without changing a character of what it declares."""

import pytest
from checked import read
from checked_cells.page import without_expectations
from conftest import cell, expect

TEXTS = {
    "one line": "1",
    "leading blank lines": "\n\n1",
    "trailing blank lines": "1\n\n",
    "blank lines alone": "\n\n",
    "options": ":tags: [x]\n:a: b\n1",
    "option-like after a blank line": "\n:tags: [x]",
    "a block of YAML": "---\na: b\n---\n1",
    "a dash rule": "---",
    "shorter backticks": "``\n`x`",
    "tildes": "~~~\nx\n~~~",
    "a tab": "\t1\ta\t",
    "trailing spaces": "1  \n  2 ",
    "spaces alone": "   ",
    "not ASCII": "é 世界 … 🙂 \u00a0",
    "Markdown": "# x\n> y\n- z\n<b>\n+++\n% c",
    "backslashes and entities": "\\* &amp; \\",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_fence_text_is_raw(text: str) -> None:
    page = read(cell("x = 1", f"```{{expect}}\n{text}\n```"))
    [expectation] = page.cells[0].expectations
    assert expectation.text == text + "\n"


@pytest.mark.parametrize("inner", ["```", "````", "  ```", "```{expect}\n1\n```"])
def test_longer_fence_holds_backticks(inner: str) -> None:
    page = read(cell("x = 1", f"`````{{expect}}\n{inner}\n`````"))
    assert page.cells[0].expectations[0].text == inner + "\n"


def test_empty_block_and_empty_line_are_two_things() -> None:
    page = read(cell("x = 1", "```{expect}\n```", "```{expect}\n\n```"))
    assert [expectation.text for expectation in page.cells[0].expectations] == ["", "\n"]


def test_places_are_those_of_the_fences() -> None:
    page = read("Text.\n\n" + cell("x = 1\ny = 2", expect("1"), expect("a\nb", "ValueError")))
    found = page.cells[0]
    assert page.lines[found.first] == "```{code-cell} python"
    assert page.lines[found.last] == "```"
    assert found.last - found.first == 3
    output, error = found.expectations
    assert (output.kind, output.first, output.last) == ("", found.last + 1, found.last + 3)
    assert (error.kind, error.first, error.last) == ("ValueError", found.last + 4, found.last + 7)


def test_options_are_not_code() -> None:
    page = read(cell("x = 1", tags="raises-exception, stands-alone"))
    assert page.cells[0].source == "x = 1"
    assert page.cells[0].tags == ["raises-exception", "stands-alone"]


def test_expectations_belong_to_the_cell_above() -> None:
    page = read(cell("a", expect("1")) + cell("b") + cell("c", expect("2"), expect("3")))
    texts = [[e.text for e in found.expectations] for found in page.cells]
    assert texts == [["1\n"], [], ["2\n", "3\n"]]


def test_blanking_keeps_lines_and_all_else() -> None:
    page = read("Text.\n\n" + cell("x = 1", expect("1"), expect("2")) + "More.\n")
    blanked = without_expectations(page).split("\n")
    assert len(blanked) == len(page.lines)
    declared = {
        number
        for expectation in page.cells[0].expectations
        for number in range(expectation.first, expectation.last + 1)
    }
    for number, (line, before) in enumerate(zip(blanked, page.lines, strict=True)):
        assert line == ("" if number in declared else before)
