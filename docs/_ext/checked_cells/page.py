"""Read a page's source: its cells, what each of them declares, and where all of it stands.

MyST-NB's reader gives the cells, but neither their end nor the raw text of another fence (directive
parsing takes lines that begin with ``:`` or ``---`` for options). So the same Markdown parser is
asked for its tokens, and the text is cut from the source by line numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from nbformat import NotebookNode

CELL = "{code-cell} python"
EXPECT = re.compile(r"\{expect\}(?: (?P<kind>\S+))?")
RAISES = "raises-exception"
STANDS_ALONE = "stands-alone"

TIMEOUT = 30
"""Seconds that one cell may take, unless told otherwise."""


@dataclass(frozen=True, order=True)
class Failure:
    """One reason why the site may not be built.

    Attributes:
        path: the file as a person would type it, such as ``docs/leaves/in-place.md``.
        line: counted from 1.
        message: what is wrong and what to do, one line.
        detail: a unified diff, or nothing.
        acceptable: whether ``make accept`` can settle it.
    """

    path: str
    line: int
    message: str
    detail: str = ""
    acceptable: bool = False


@dataclass(frozen=True)
class Expectation:
    """One ``{expect}`` block: `kind` is its argument, `first` and `last` its fence lines."""

    first: int
    last: int
    kind: str
    text: str


@dataclass
class Cell:
    """One ``{code-cell}``: `first` and `last` are its fence lines, `index` counts cells."""

    index: int
    first: int
    last: int
    source: str
    tags: list[str]
    options: dict[str, object]
    expectations: list[Expectation] = field(default_factory=list)


@dataclass
class Page:
    """A page's source, taken apart.

    Attributes:
        path: as in `Failure`.
        docname: Sphinx's name of the page.
        tokens: markdown-it's block tokens.
        failures: what was found wrong so far.
        runnable: False where running the cells would only add noise.
    """

    path: str
    docname: str
    text: str
    tokens: list[Token]
    cells: list[Cell] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    runnable: bool = True

    @property
    def lines(self) -> list[str]:
        """The source's lines without their ends."""
        return self.text.split("\n")

    def fail(self, line: int, message: str, detail: str = "", *, acceptable: bool = False) -> None:
        """Record a failure at `line`."""
        self.failures.append(Failure(self.path, line, message, detail, acceptable))


@cache
def markdown() -> MarkdownIt:
    """Return the Markdown parser that MyST-NB uses to find cells."""
    return create_md_parser(MdParserConfig(), RendererHTML)


def parse(text: str) -> list[Token]:
    """Return the tokens of Markdown `text`."""
    return markdown().parse(text, {})


def read_file(path: Path, shown_path: str, docname: str) -> Page:
    """Read a page from its file.

    A file that is not UTF-8 or has other line ends than LF gives a page with that failure and
    nothing else.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        page = Page(shown_path, docname, "", [], runnable=False)
        line = data[: error.start].count(b"\n") + 1
        page.fail(line, f"not UTF-8: byte 0x{data[error.start]:02x}; save the file as UTF-8")
        return page
    return read_text(text, shown_path, docname)


# Some readers of text end a line there, or show what follows in another order.
UNUSUAL = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029\0\ufeff\u202a-\u202e\u2066-\u2069]")


def read_text(text: str, shown_path: str, docname: str) -> Page:
    """Take a page's source apart; what cannot be taken apart is a failure of the page."""
    page = Page(shown_path, docname, text, [])
    if "\r" in text:
        line = text[: text.index("\r")].count("\n") + 1
        page.fail(line, "carriage return; save the file with LF line ends")
    elif match := UNUSUAL.search(text):
        line = text[: match.start()].count("\n") + 1
        page.fail(line, f"character U+{ord(match[0]):04X}; write it as an escape or leave it out")
    if page.failures:
        page.runnable = False
        return page
    page.tokens = parse(text)
    if not page.tokens:
        page.fail(1, "the page is empty")
        page.runnable = False
    _collect_cells(page)
    return page


def fence_body(page: Page, token: Token) -> str:
    """Return a top-level fence's raw text, with the final newline if there is any text."""
    first, end = token.map
    return "".join(line + "\n" for line in page.lines[first + 1 : end - 1])


def is_cell(token: Token) -> bool:
    """Tell whether a token is a cell that MyST-NB will run."""
    return token.type == "fence" and token.level == 0 and token.info == CELL


def is_expectation(token: Token) -> bool:
    """Tell whether a token is an ``{expect}`` block in the right form."""
    return token.type == "fence" and token.level == 0 and bool(EXPECT.fullmatch(token.info))


def _collect_cells(page: Page) -> None:
    """Fill `page.cells`, giving each expectation to the cell right above it."""
    above: Cell | None = None
    for token in page.tokens:
        if is_cell(token):
            cell = _cell(page, token)
            if cell is not None:
                page.cells.append(cell)
            # What a cell that cannot be read shows is not compared.
            above = cell or Cell(-1, token.map[0], token.map[1] - 1, "", [], {})
        elif is_expectation(token):
            first, end = token.map
            if above is None:
                page.fail(
                    first + 1,
                    "{expect} with no cell right above it; move it directly under its cell",
                )
                continue
            kind = EXPECT.fullmatch(token.info)["kind"] or ""
            above.expectations.append(Expectation(first, end - 1, kind, fence_body(page, token)))
        else:
            above = None


def _cell(page: Page, token: Token) -> Cell | None:
    """Return the cell of a fence, with its options as MyST-NB reads them."""
    first, end = token.map
    block = "\n".join(page.lines[first:end])
    try:
        cell = read_myst_markdown_notebook(block).cells[0]
    except Exception as error:  # MyST-NB has no common class for what it cannot read
        page.fail(first + 1, f"the cell's options cannot be read: {_one_line(error)}")
        page.runnable = False
        return None
    options = dict(cell.metadata)
    tags = options.get("tags", [])
    tags = [str(tag) for tag in tags] if isinstance(tags, list) else [str(tags)]
    return Cell(len(page.cells), first, end - 1, cell.source, tags, options)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def without_expectations(page: Page) -> str:
    """Return the page's text with every ``{expect}`` block blanked out, line numbers unchanged."""
    lines = page.lines
    for cell in page.cells:
        for expectation in cell.expectations:
            for number in range(expectation.first, expectation.last + 1):
                lines[number] = ""
    return "\n".join(lines)


def notebook(page: Page) -> NotebookNode:
    """Return the page as the notebook that MyST-NB renders, not yet executed."""
    text = without_expectations(page)
    book = read_myst_markdown_notebook(text, add_source_map=True)
    lines = text.split("\n")
    for number, cell in enumerate(book.cells):
        cell.id = f"cell-{number}"  # random otherwise
    # MyST-NB drops a text's leading blank lines but counts from before them, and it counts from 1
    # where MyST-Parser adds 1 again; Sphinx's warnings would name another line.
    for number, (cell, start) in enumerate(zip(book.cells, book.metadata.source_map, strict=True)):
        if cell.cell_type == "markdown":
            while not lines[start].strip():
                start += 1
            book.metadata.source_map[number] = start - 1
    return book
