"""Every bad input is refused by the build command, with file and line, and the site stays."""

from __future__ import annotations

import importlib.metadata
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from bad_pages import BYTES, ENDS, GOOD_CELL, MARK, PAGES, TOGETHER, Case
from conftest import Project, Result, cell, copy_project, expect, make_command, page, run

PLACE = re.compile(r"(?P<path>docs/\S+?):(?P<line>\d+): (?P<message>.+)")
LAST_LINE = re.compile(r"(\d+) failures? in (\d+) pages? on PyTorch (\S+), Python \S+")
TIMEOUT = "-Dchecked_cells_timeout=12"

Failures = dict[str, list[tuple[int, str]]]


def sources() -> dict[str, list[Case]]:
    """Return the cases that each page is made of."""
    return {**TOGETHER, **{case.name: [case] for case in ENDS + PAGES}}


def marked_text(cases: list[Case], *, whole: bool) -> str:
    text = "".join(case.source for case in cases)
    return text if whole else page(text)


def expected_failures(cases: list[Case], *, whole: bool) -> list[tuple[int, str]]:
    """Return the line and the words of each failure that the marks stand for."""
    lines = [
        number
        for number, line in enumerate(marked_text(cases, whole=whole).split("\n"), 1)
        for _ in range(line.count(MARK))
    ]
    return list(zip(lines, (words for case in cases for words in case.messages), strict=True))


def found_failures(output: str) -> Failures:
    found = defaultdict(list)
    for line in output.splitlines():
        if match := PLACE.fullmatch(line):
            found[match["path"]].append((int(match["line"]), match["message"]))
    return found


def files_of(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file()
    }


@dataclass
class BadBuild:
    """A project whose bad pages were added after a good build."""

    project: Project
    result: Result
    failures: Failures
    site_before: dict[str, bytes]


@pytest.fixture(scope="module")
def bad_build(tmp_path_factory: pytest.TempPathFactory) -> BadBuild:
    project = copy_project(tmp_path_factory.mktemp("bad") / "project", pages=False)
    project.write("good.md", page(cell("print(1)", expect("1"))))
    good = project.build()
    assert good.status == 0, good.output
    before = files_of(project.site)
    for name, cases in sources().items():
        text = marked_text(cases, whole=name not in TOGETHER)
        project.write(f"{name}.md", text.replace(MARK, ""))
    for name, (data, _line, _message) in BYTES.items():
        (project.root / "docs" / f"{name}.md").write_bytes(data)
    project.write("bad-notebook.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4}')
    project.write("no-reason.md", "# A list\n\nNothing.\n")
    listed = project.root / "docs" / "pages-without-cells.txt"
    lines = ["form-listed-with-cell: a lie", "gone: there is no such page", "no-reason:"]
    listed.write_text(listed.read_text("utf-8") + "\n".join(lines) + "\n", "utf-8")
    result = project.build(TIMEOUT)
    return BadBuild(project, result, found_failures(result.output), before)


def all_cases() -> list[tuple[str, Case]]:
    return [(name, case) for name, cases in sources().items() for case in cases if case.messages]


@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(*pair, id=f"{pair[0]}: {pair[1].name}") for pair in all_cases()]
)
def test_case_is_refused_with_its_line(bad_build: BadBuild, name: str, case: Case) -> None:
    cases = sources()[name]
    before = cases[: cases.index(case)]
    place = sum(len(other.messages) for other in before)
    wanted = expected_failures(cases, whole=name not in TOGETHER)
    found = bad_build.failures[f"docs/{name}.md"]
    for line, words in wanted[place : place + len(case.messages)]:
        messages = [message for number, message in found if number == line]
        assert any(words in message for message in messages), (line, words, messages)


@pytest.mark.parametrize("name", sources())
def test_nothing_else_on_the_page_is_refused(bad_build: BadBuild, name: str) -> None:
    wanted = expected_failures(sources()[name], whole=name not in TOGETHER)
    found = bad_build.failures[f"docs/{name}.md"]
    assert [line for line, _ in found] == [line for line, _ in wanted]


@pytest.mark.parametrize("name", BYTES)
def test_bytes_are_refused_with_their_line(bad_build: BadBuild, name: str) -> None:
    _data, line, words = BYTES[name]
    [(found_line, message)] = bad_build.failures[f"docs/{name}.md"]
    assert found_line == line
    assert words in message


def test_notebook_is_refused(bad_build: BadBuild) -> None:
    [(line, message)] = bad_build.failures["docs/bad-notebook.ipynb"]
    assert line == 1
    assert "write the page as Markdown" in message


def test_bad_entries_of_the_list_are_refused_with_their_line(bad_build: BadBuild) -> None:
    assert bad_build.failures["docs/pages-without-cells.txt"] == [
        (4, "gone is not a page"),
        (5, "no-reason is listed without a reason"),
    ]


def test_good_pages_are_not_refused(bad_build: BadBuild) -> None:
    assert "docs/good.md" not in bad_build.failures
    assert "docs/no-reason.md" not in bad_build.failures
    assert "docs/index.md" not in bad_build.failures


def test_status_is_not_zero(bad_build: BadBuild) -> None:
    assert bad_build.result.status != 0


def test_no_traceback(bad_build: BadBuild) -> None:
    output = bad_build.result.output
    assert "Traceback" not in output
    assert "sphinx-err" not in output


def test_every_line_is_a_failure_or_belongs_to_a_difference(bad_build: BadBuild) -> None:
    *lines, _last = bad_build.result.output.splitlines()
    others = [line for line in lines if not PLACE.fullmatch(line)]
    assert {line[:1] for line in others} <= {"-", "+", "@", " "}, others


def test_failures_are_sorted_by_page_and_line(bad_build: BadBuild) -> None:
    places = [
        (match["path"], int(match["line"]))
        for line in bad_build.result.output.splitlines()
        if (match := PLACE.fullmatch(line))
    ]
    assert places == sorted(places)


def test_last_line_counts_and_names_pytorch(bad_build: BadBuild) -> None:
    last = LAST_LINE.fullmatch(bad_build.result.output.splitlines()[-1])
    assert last
    failures, pages, torch = last.groups()
    assert int(failures) == sum(len(found) for found in bad_build.failures.values())
    assert int(pages) == len(bad_build.failures)
    assert torch == importlib.metadata.version("torch").split("+")[0]


def test_last_good_site_stays(bad_build: BadBuild) -> None:
    assert "index.html" in bad_build.site_before
    assert files_of(bad_build.project.site) == bad_build.site_before


def build(project: Project, *options: str, strict: bool) -> Result:
    """Run what `make html` runs, with or without ``-W``."""
    if strict:
        return project.build(*options)
    command = [part for part in make_command("html") if part != "-W"]
    assert command != make_command("html")
    return run(*command, *options, cwd=project.root)


@pytest.fixture(scope="module", params=[True, False], ids=["with -W", "without -W"])
def good_project(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Project, bool]:
    """A project with a good build, and whether its builds are with ``-W``."""
    project = copy_project(tmp_path_factory.mktemp("good") / "project", pages=False)
    project.write("good.md", page(GOOD_CELL + "(good-label)=\n## Section\n\nText.\n"))
    result = build(project, "-Dpermalinks_record=1", strict=request.param)
    assert result.status == 0, result.output
    return project, request.param


ONE_PAGE = {
    "a difference": (
        "new.md",
        page(cell("print(1)", expect("2"))),
        "docs/new.md:16: expected another output",
    ),
    "a dead process": (
        "new.md",
        page(cell("import os\nos._exit(0)")),
        "docs/new.md:13: the page's process died in this cell",
    ),
    "a bad source": (
        "new.md",
        page(GOOD_CELL + "```python\nx\n```\n"),
        "docs/new.md:20: fence 'python'",
    ),
    "a warning of Sphinx": (
        "good.md",
        page(GOOD_CELL + "(good-label)=\n## Section\n\n{ref}`nowhere`\n"),
        "docs/good.md:23: WARNING: undefined label: 'nowhere'",
    ),
    "a page in no table of contents": (
        "deep/new.md",
        page(GOOD_CELL),
        "docs/deep/new.md:1: the page is in no table of contents",
    ),
    "a label that is gone": (
        "good.md",
        page(GOOD_CELL),
        "docs/permalinks.txt:2: good#good-label was published and is gone",
    ),
    "a new label": (
        "good.md",
        page(GOOD_CELL + "(good-label)=\n## Section\n\n(good-new)=\n## Section\n"),
        "docs/permalinks.txt:5: new permalinks, to be added by `make accept`: good#good-new",
    ),
    "a new page": (
        "new.md",
        page(GOOD_CELL),
        "docs/permalinks.txt:5: new permalinks, to be added by `make accept`: new",
    ),
    "a page that is gone": ("good.md", None, "docs/permalinks.txt:1: good was published and is"),
}


@pytest.mark.parametrize("name", ONE_PAGE)
def test_with_and_without_w(good_project: tuple[Project, bool], name: str) -> None:
    project, strict = good_project
    file, text, words = ONE_PAGE[name]
    path = project.root / "docs" / file
    before = path.read_text("utf-8") if path.exists() else None
    site = files_of(project.site)
    if text is None:
        path.unlink()
    else:
        project.write(file, text)
    result = build(project, strict=strict)
    path.unlink(missing_ok=True)
    if before is not None:
        project.write(file, before)
    assert result.status != 0
    assert words in result.output.replace(f"{project.root}/", "")
    assert "Traceback" not in result.output
    assert files_of(project.site) == site
