"""What people met, and what PyTorch does without a message, has its place on the built site."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from conftest import PROJECT, Project

CASES = tomllib.loads((PROJECT / "tests" / "cases.toml").read_text("utf-8"))  # no id twice
AT_LEAST = {"case": 53, "s": 56}  # an entry may move, and is never taken out; raise it as you add


@cache
def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def find(project: Project, place: str) -> Tag | None:
    """Return the section of a place, or the page's own if it has no label; None if it is gone."""
    docname, _, label = place.partition("#")
    path = project.site / f"{docname}.html"
    if not path.exists():
        return None
    soup = parse(path)
    target = soup.find(id=label) if label else soup.h1.parent
    heading = target and target.find(re.compile("^h[1-6]$"))
    return heading and heading.parent


def shown(section: Tag) -> list[Tag]:
    """Return the outputs of cells in a section; of a page, those above its first section."""
    whole_page = section.find("h1", recursive=False) is not None
    cells = section.find_all("div", class_="cell", recursive=not whole_page)
    return [output for cell in cells for output in cell.select(".cell_output")]


def test_every_place_is_on_the_site(built_project: Project) -> None:
    places = sorted({case["place"] for case in CASES.values()})
    assert not [place for place in places if find(built_project, place) is None]


def test_every_place_shows_the_output_of_a_cell(built_project: Project) -> None:
    places = sorted({case["place"] for case in CASES.values()})
    sections = {place: find(built_project, place) for place in places}
    assert not [place for place, section in sections.items() if section and not shown(section)]


def test_no_case_is_lost() -> None:
    kinds = Counter(name.partition("-")[0] for name in CASES)
    assert kinds.keys() == AT_LEAST.keys()
    assert not [kind for kind, count in AT_LEAST.items() if kinds[kind] < count]


def test_titles_are_short_and_differ() -> None:
    assert not [name for name, case in CASES.items() if case.keys() != {"title", "place"}]
    titles = [case["title"] for case in CASES.values()]
    assert not [title for title, count in Counter(titles).items() if count > 1]
    assert not [title for title in titles if len(title.split()) > 12]
