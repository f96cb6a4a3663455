"""What a page's source may hold: rules that need no execution.

Each rule closes a way in which a page could show Python that nothing ran, or hide what a cell did.
Where it is possible the rules list what is allowed, so that a new directive of MyST or Sphinx is
refused until somebody has thought about it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import yaml
from markdown_it.token import Token

from checked_cells.page import (
    CELL,
    EXPECT,
    RAISES,
    STANDS_ALONE,
    Cell,
    Page,
    is_cell,
    is_expectation,
    parse,
)
from checked_cells.unrun_python import line_of_python

TAGS = (RAISES, STANDS_ALONE)
KERNEL = {"name": "python3", "language": "python", "display_name": "Python 3"}
FRONT_MATTER = ("file_format", "kernelspec", "error")
LANGUAGES = ("text", "console", "bash", "make", "markdown", "toml", "yaml", "diff")
ADMONITIONS = ("note", "tip", "important", "warning", "seealso", "admonition")
DIRECTIVES = (*ADMONITIONS, "toctree", "figure", "image", "list-table", "search-field")
ROLES = ("doc", "ref", "term", "abbr", "kbd")
KIND = re.compile(r"|stderr|[a-z]+/[\w.+-]+|[^\W\d][\w.<>]*")  # <> as in f.<locals>.Error
DISPLAY = ("SVG", "HTML", "Image", "display")
PROMPT = re.compile(r"[\s>*+\-\d.)]*>>> ")
"""A doctest's prompt, which Markdown takes for a block quote, perhaps in a list or a quote."""
OTHER_FILE = re.compile(r"(?![a-z]+:)[^#]*\.(?!md(#|$))[^./#]+(#.*)?")
"""A link's target that is a file beside the pages: Sphinx would offer it for download."""


def check_source(page: Page) -> None:
    """Apply every rule to a page; what breaks one becomes a failure of the page."""
    if not page.tokens:
        return
    _check_front_matter(page)
    _check_blocks(page, page.tokens, 0, "")
    for cell in page.cells:
        _check_options(page, cell)
        _check_code(page, cell)


def _check_front_matter(page: Page) -> None:
    first = page.tokens[0]
    matter: object = {}
    if first.type == "front_matter":
        try:
            matter = yaml.safe_load(first.content)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = mark.line + 2 if mark else 1
            page.fail(line, f"front matter: {getattr(error, 'problem', None) or 'not YAML'}")
            page.runnable = False
            return
    if not isinstance(matter, dict):
        page.fail(1, "front matter must be a mapping")
        page.runnable = False
        return
    for key in matter:
        if key not in FRONT_MATTER:
            page.fail(
                _line_of(page, str(key)),
                f"unknown front matter key {key!r}; allowed: {', '.join(FRONT_MATTER)}",
            )
    if page.cells and matter.get("file_format") != "mystnb":
        page.fail(1, "a page with cells needs `file_format: mystnb` in its front matter")
    if (page.cells or "kernelspec" in matter) and matter.get("kernelspec") != KERNEL:
        wanted = ", ".join(f"{key}: {value}" for key, value in KERNEL.items())
        page.fail(_line_of(page, "kernelspec"), f"the kernelspec must be {{{wanted}}}")
        page.runnable = False


def _line_of(page: Page, key: str) -> int:
    """Return the line of a front matter key, or the first line."""
    for number, line in enumerate(page.lines, 1):
        if line.lstrip().startswith(f"{key}:"):
            return number
    return 1


def _check_blocks(page: Page, tokens: list[Token], offset: int, inside: str) -> None:
    """Check block tokens.

    Args:
        tokens: of the page, or of the text of a directive.
        offset: lines of the page before the tokens' text.
        inside: the name of the directive around them, if any.
    """
    line = 1
    for token in tokens:
        if token.map:
            line = offset + token.map[0] + 1
        match token.type:
            case "fence":
                _check_fence(page, token, line, inside)
            case "code_block":
                page.fail(line, "indented code block, which nothing runs; write a cell or ```text")
            case "html_block":
                page.fail(line, "raw HTML; write Markdown")
            case "blockquote_open" if PROMPT.match(page.lines[line - 1]):
                page.fail(line, "doctest that nothing runs; write a cell")
            case "myst_block_break":
                page.fail(line, "block break (+++); leave it out")
                page.runnable = False
            case "inline":
                _check_inline(page, token, line)


def _check_inline(page: Page, token: Token, line: int) -> None:
    for child in token.children or []:
        if child.type == "html_inline":
            page.fail(line, f"raw HTML {child.content}; write Markdown")
        if child.type == "link_open" and OTHER_FILE.fullmatch(str(child.attrGet("href"))):
            page.fail(
                line, f"link to {child.attrGet('href')}: only pages (.md) are part of the site"
            )
        if child.type == "myst_role" and child.meta["name"] not in ROLES:
            name = child.meta["name"]
            page.fail(line, f"role {{{name}}} is not among those allowed: {', '.join(ROLES)}")


def _check_fence(page: Page, token: Token, line: int, inside: str) -> None:
    info = token.info.strip()
    name = info.split()[0] if info else ""
    if not inside and token.level == 0 and not _closed(page, token):
        page.fail(line, "the fence is never closed")
        page.runnable = False
    if is_cell(token) and not inside:
        return
    if "code-cell" in name.lower() or "raw-cell" in name.lower():
        nested = inside or token.level
        message = (
            "a cell inside a list or directive is not run; move it out"
            if nested
            else (f"a cell begins with ```{CELL}")
        )
        page.fail(line, message)
        page.runnable = False  # MyST-NB may take it for a cell
    elif is_expectation(token) and not inside:
        _check_kind(page, EXPECT.fullmatch(token.info)["kind"] or "", line)
    elif "expect" in name.lower():
        page.fail(line, "an expectation is ```{expect} or ```{expect} KIND, directly under a cell")
    elif info.startswith("{"):
        _check_directive(page, token, line, info)
    elif name not in LANGUAGES or info != name:
        page.fail(
            line,
            f"fence {info!r}: Python goes into a cell, anything else is one of "
            f"{', '.join(LANGUAGES)}",
        )
    elif (number := line_of_python(token.content, name)) is not None:
        page.fail(
            line + 1 + number,
            f"Python or its output in a ```{name} fence, which nothing runs; write a cell",
        )


def _check_kind(page: Page, kind: str, line: int) -> None:
    if not KIND.fullmatch(kind):
        page.fail(
            line, f"{{expect}} {kind}: name an exception or warning class, stderr, or a media type"
        )


def _closed(page: Page, token: Token) -> bool:
    first, end = token.map
    last = page.lines[end - 1].strip()
    return end - 1 > first and set(last) == {token.markup[0]} and len(last) >= len(token.markup)


def _check_directive(page: Page, token: Token, line: int, info: str) -> None:
    match = re.fullmatch(r"\{([^}]*)\}(.*)", info)
    name, title = match.groups() if match else (info, "")
    if name not in DIRECTIVES:
        page.fail(line, f"directive {{{name}}} is not among those allowed: {', '.join(DIRECTIVES)}")
    elif re.search(r"^:target:", token.content, re.MULTILINE):
        page.fail(line, "a picture with :target: is a link that nothing checks; write a link")
    elif name != "toctree":
        _check_blocks(page, parse(title), line - 1, name)
        _check_blocks(page, parse(token.content), line, name)


def _check_options(page: Page, cell: Cell) -> None:
    line = cell.first + 1
    for option in cell.options:
        if option != "tags":
            page.fail(line, f"unknown cell option {option!r}; the only one is :tags:")
    for tag in cell.tags:
        if tag not in TAGS:
            page.fail(line, f"unknown tag {tag!r}; allowed: {', '.join(TAGS)}")
    if not cell.source.strip():
        page.fail(line, "empty cell")


def _check_code(page: Page, cell: Cell) -> None:
    """Refuse what is not plain Python: magics, shell escapes, syntax errors, IPython's tools."""
    start = _line_before_code(page, cell)
    try:
        # As a file would be compiled: `await` or `return` outside a function are errors too.
        compile(cell.source, page.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        number = getattr(error, "lineno", None) or 1
        text = cell.source.split("\n")[min(number, cell.source.count("\n") + 1) - 1].strip()
        if re.match(r"[%!?]|.*\?$", text):
            page.fail(start + number, f"IPython magic or shell escape {text!r}; write plain Python")
        else:
            reason = getattr(error, "msg", None) or str(error)
            page.fail(start + number, f"syntax error: {reason}")
        page.runnable = False
        return
    for line, message in _ipython_uses(ast.parse(cell.source)):
        page.fail(start + line, message)


def _line_before_code(page: Page, cell: Cell) -> int:
    """Return the line, counted from 1, above the first line of a cell's code."""
    code = cell.source.split()
    blank = cell.source[: len(cell.source) - len(cell.source.lstrip())].count("\n")
    # From the end, since options come first; MyST-NB drops blank lines on both sides of the code.
    for number in range(cell.last - 1, cell.first, -1):
        if "\n".join(page.lines[number : cell.last]).split() == code:
            return number - blank
    return cell.first + 1


def _ipython_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "IPython"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("IPython"):
            display = node.module == "IPython.display"
            names = [a.name for a in node.names if not display or a.name not in DISPLAY]
        elif isinstance(node, ast.Name) and node.id == "get_ipython":
            names = [node.id]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = ["the checker's note"] if "vnd.autograd-ground-rules" in node.value else []
        else:
            continue
        for name in names:
            yield (
                node.lineno,
                f"{name} is not for pages; from IPython.display import only "
                + (", ".join(DISPLAY)),
            )
