"""The site's pages as files: which there are, and the checks that need no execution."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from checked_cells.form import check_form
from checked_cells.page import Failure, Page, read_file
from checked_cells.rules import check_source
from checked_cells.versions import PROJECT

WITHOUT_CELLS = "pages-without-cells.txt"


def pages_without_cells(source: Path) -> dict[str, str]:
    """Return the audited list of pages that have no cell, with the reason for each.

    Args:
        source: the directory of the pages.
    """
    return {docname: reason for _, docname, reason in _entries(source)}


def _entries(source: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, page and reason of each entry of the audited list."""
    file = source / WITHOUT_CELLS
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            docname, _, reason = line.partition(":")
            yield number, docname.strip(), reason.strip()


def shown_path(path: Path) -> str:
    """Return a file's path as a person would type it at the project's top."""
    for place in (Path(os.path.abspath(path)), path.resolve()):  # a link has its own name
        if PROJECT in place.parents:
            return place.relative_to(PROJECT).as_posix()
    return str(path)


def load_page(path: Path, source: Path) -> Page:
    """Read one page and apply every rule to it.

    Args:
        path: of the page.
        source: the directory of the pages.
    """
    docname = _docname(path, source)
    shown = f"{shown_path(source)}/{docname}{path.suffix}"
    page = Page(shown, docname, "", [], runnable=False)
    if path.suffix == ".ipynb":
        page.fail(1, "a notebook with stored outputs; write the page as Markdown")
    elif path.suffix != ".md":
        page.fail(1, "not a Markdown page; the name of a page ends in .md")
    elif path.resolve() != source.resolve() / f"{docname}.md":
        page.fail(1, "a symbolic link; every page is a file of its own")
    if page.failures:
        return page
    page = read_file(path, shown, docname)
    check_source(page)
    check_form(page, pages_without_cells(source))
    return page


def _docname(path: Path, source: Path) -> str:
    """Return Sphinx's name of the page at `path`, where a link's name counts, not its target's."""
    place = Path(os.path.abspath(path))
    if source.resolve() not in place.parents:
        place = path.resolve()  # the whole project is reached through a link
    return place.relative_to(source.resolve()).with_suffix("").as_posix()


def unread_pages(source: Path) -> list[Failure]:
    """Return a failure for each file that looks like a page but that Sphinx does not read."""
    return [
        Failure(shown_path(path), 1, "not a page: a page is a file whose name ends in .md")
        for path in sorted(source.rglob("*"))
        if path.suffix.lower() in (".md", ".markdown", ".mdown", ".mkd")
        and not (path.suffix == ".md" and path.is_file())
    ]


def stale_entries(source: Path) -> list[Failure]:
    """Return a failure for each entry of the audited list that names no page or gives no reason."""
    file = shown_path(source / WITHOUT_CELLS)
    failures = []
    for line, docname, reason in _entries(source):
        if not (source / f"{docname}.md").exists():
            failures.append(Failure(file, line, f"{docname} is not a page"))
        elif not reason:
            failures.append(Failure(file, line, f"{docname} is listed without a reason"))
    return failures
