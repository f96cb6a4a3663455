"""The built HTML: each page carries what it must, and shows what its source declares."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from checked_cells.normalise import normalise
from checked_cells.outputs import digest
from checked_cells.page import RAISES, Cell
from conftest import DOCNAMES, PROJECT, Project, cell, expect, page, source_page

CANONICAL = "https://autograd-ground-rules.readthedocs.io/en/latest/"
WORDS = {
    "error": "Expected error, checked",
    "warning": "Expected warning, checked",
    "stderr": "Expected output on stderr, checked",
}
TRACEBACK = r"Traceback \(most"
RESOURCES = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
every_page = pytest.mark.parametrize("docname", DOCNAMES)


@cache
def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def html(project: Project, docname: str) -> BeautifulSoup:
    return parse(project.site / f"{docname}.html")


def html_files(project: Project) -> list[Path]:
    """Return all pages, those that Sphinx makes by itself included."""
    files = project.site.rglob("*.html")
    return sorted(path for path in files if "_static" not in path.parts)


def text_of(element: Tag) -> str:
    return " ".join(element.get_text().split())


def meta(soup: BeautifulSoup, name: str) -> str:
    """Return the content of the only meta element with that name or property."""
    [element] = soup.find_all("meta", {"name": name}) + soup.find_all("meta", property=name)
    return element["content"]


def heading(soup: BeautifulSoup) -> str:
    return text_of(soup.h1).removesuffix("#")


@every_page
def test_page_has_language_title_and_one_h1(built_project: Project, docname: str) -> None:
    soup = html(built_project, docname)
    assert soup.html["lang"] == "en"
    assert len(soup.find_all("h1")) == 1
    assert soup.title.get_text().startswith(heading(soup))


@every_page
def test_description_is_the_short_answer(built_project: Project, docname: str) -> None:
    soup = html(built_project, docname)
    first = soup.h1.find_next_sibling()
    assert first.name == "p"
    description = meta(soup, "description")
    assert description == text_of(first)
    assert 0 < len(description.split()) <= 60


@every_page
def test_link_previews_say_the_same(built_project: Project, docname: str) -> None:
    soup = html(built_project, docname)
    assert meta(soup, "og:title") == heading(soup)
    assert meta(soup, "og:description") == meta(soup, "description")
    assert meta(soup, "og:type") == "article"
    assert meta(soup, "og:site_name") == "Autograd Ground Rules"
    assert meta(soup, "og:url") == soup.find("link", rel="canonical")["href"]


@every_page
def test_canonical_url_is_that_of_the_page(built_project: Project, docname: str) -> None:
    [link] = html(built_project, docname).find_all("link", rel="canonical")
    assert link["href"] == f"{CANONICAL}{docname}.html"


def local_links(path: Path) -> Iterator[tuple[str, Path, str]]:
    """Return each link of a page to the site itself: as written, its file and its fragment."""
    for element in parse(path).find_all(["a", "link", *RESOURCES]):
        link = element.get("href", element.get(RESOURCES.get(element.name, "href")))
        parts = urlsplit(link or "")
        if link is None or parts.scheme or parts.netloc or element.get("rel") == ["canonical"]:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        yield link, target, unquote(parts.fragment)


def test_every_internal_link_and_anchor_resolves(built_project: Project) -> None:
    broken, links = [], 0
    for path in html_files(built_project):
        for link, target, fragment in local_links(path):
            links += 1
            found = target.is_file()
            if found and fragment and target.suffix == ".html":
                found = parse(target).find(id=fragment) is not None
            if not found:
                broken.append(f"{path.relative_to(built_project.site)}: {link}")
    assert not broken
    assert links > len(DOCNAMES)


def test_every_permalink_leads_to_a_place(built_project: Project) -> None:
    lines = (PROJECT / "docs" / "permalinks.txt").read_text("utf-8").split()
    missing = []
    for line in lines:
        docname, _, label = line.partition("#")
        path = built_project.site / f"{docname}.html"
        if not path.exists() or (label and parse(path).find(id=label) is None):
            missing.append(line)
    assert not missing
    assert set(DOCNAMES) <= set(lines)


def declared(cell: Cell) -> list[str]:
    """Return what a cell declares, in the words in which a reader should see it."""
    texts = []
    for expectation in cell.expectations:
        kind, text = expectation.kind, normalise(expectation.text).rstrip("\n")
        named = kind not in ("", "stderr") and "/" not in kind
        texts.append(": ".join(filter(None, [kind, text])) if named else text)
    return sorted(texts)


PICTURE = re.compile('<svg class="picture".*?</svg>')


def rendered(container: Tag, pictures: Iterator[str]) -> list[str]:
    """Return what a page shows under a cell: its output as one text, each box, and each picture.

    Args:
        container: the cell.
        pictures: those of the page that no cell had before, as they are in the file.
    """
    boxes = container.select(".cell_output .outcome pre")
    blocks = [block for block in container.select(".cell_output pre") if block not in boxes]
    output = "".join(block.get_text() for block in blocks).rstrip("\n")
    texts = [box.get_text().rstrip("\n") for box in boxes]
    texts += [digest(next(pictures) + "\n") for _ in container.select(".cell_output .picture")]
    return sorted([output, *texts] if blocks else texts)


@every_page
def test_page_shows_each_cell_and_what_it_declares(built_project: Project, docname: str) -> None:
    cells = source_page(docname).cells
    containers = html(built_project, docname).select("div.cell")
    sources = [container.select_one(".cell_input pre").get_text() for container in containers]
    assert [source.strip("\n") for source in sources] == [c.source.strip("\n") for c in cells]
    text = (built_project.site / f"{docname}.html").read_text("utf-8")
    pictures = iter(PICTURE.findall(text))
    for source_cell, container in zip(cells, containers, strict=True):
        shown = rendered(container, pictures)
        assert shown == declared(source_cell), f"line {source_cell.first + 1}"
    assert not list(pictures)


@every_page
def test_every_error_has_its_box_with_words(built_project: Project, docname: str) -> None:
    soup = html(built_project, docname)
    raising = [cell for cell in source_page(docname).cells if RAISES in cell.tags]
    assert len(soup.select(".outcome.error")) == len(raising)
    assert not [
        out for out in soup.select(".traceback, .stderr") if not out.find_parent("div", "outcome")
    ]
    for box in soup.select(".outcome"):
        [kind] = set(box["class"]) - {"outcome"}
        assert text_of(box.select_one(".outcome-title")) == WORDS[kind]


@every_page
def test_note_gives_the_number_of_checked_outputs(built_project: Project, docname: str) -> None:
    record = json.loads((built_project.root / "_build" / "checks.json").read_text("utf-8"))
    checks = [check for check in record["checks"] if check["page"] == f"docs/{docname}.md"]
    assert all(check["passed"] for check in checks)
    count = sum(check["kind"] != "nothing" for check in checks)
    notes = [text_of(note) for note in html(built_project, docname).select(".checked-note")]
    nouns = "output on this page was" if count == 1 else "outputs on this page were"
    versions = f"PyTorch {record['pytorch']}, Python {record['python']}"
    assert notes == ([f"{count} {nouns} checked on {versions}. How?"] if count else [])


def test_the_page_about_checks_names_the_line_of_its_own_cell() -> None:
    page = source_page("how-this-site-is-checked")
    [line] = re.findall(rf"{page.path}:(\d+): expected another RuntimeError", page.text)
    kinds = {str(e.first + 1): e.kind for cell in page.cells for e in cell.expectations}
    assert kinds[line] == "RuntimeError"


def test_nothing_of_the_machine_is_published(built_project: Project) -> None:
    places = {str(built_project.root), str(PROJECT), sys.prefix, f"{Path.home()}/"}
    accident = re.compile("|".join([*map(re.escape, sorted(places)), "0x7f[0-9a-f]+", TRACEBACK]))
    found = [
        f"{path.relative_to(built_project.site)}: {match[0]}"
        for path in [*html_files(built_project), built_project.site / "searchindex.js"]
        for match in accident.finditer(path.read_text("utf-8"))
    ]
    assert not found


def test_no_source_and_no_notebook_is_published(built_project: Project) -> None:
    files = [path.relative_to(built_project.site) for path in built_project.site.rglob("*")]
    files = [path for path in files if (built_project.site / path).is_file()]
    assert not [path for path in files if path.suffix in (".md", ".ipynb") or "_ext" in path.parts]
    assert not [path for path in files if path.parts[0] == "_sources"]


def test_resources_come_from_the_site_itself(built_project: Project) -> None:
    foreign = []
    for path in html_files(built_project):
        soup = parse(path)
        links = [link for link in soup.find_all("link") if link["rel"] != ["canonical"]]
        used = [link["href"] for link in links]
        used += [e.get(RESOURCES[e.name], "") for e in soup.find_all(list(RESOURCES))]
        foreign += [f"{path.name}: {url}" for url in used if urlsplit(url).netloc]
    for path in built_project.site.rglob("*.css"):
        urls = re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)", path.read_text("utf-8"))
        foreign += [f"{path.name}: {url}" for url in urls]
    assert not foreign


def test_images_have_text_and_the_first_link_skips_the_menu(built_project: Project) -> None:
    for path in html_files(built_project):
        soup = parse(path)
        assert all(image.get("alt", "").strip() for image in soup.find_all("img")), path
        first = soup.body.find("a")
        assert first["href"] == "#main-content" and soup.find("main", id="main-content"), path


WARNS = """\
import sys
import warnings

warnings.warn("mind <this>")
print("a line", file=sys.stderr)
print("said")"""


def test_small_site(project: Project) -> None:
    """READTHEDOCS_CANONICAL_URL, and the boxes that no page of the project may need at present."""
    expectations = (
        expect("said"),
        expect("mind <this>", "UserWarning"),
        expect("a line", "stderr"),
    )
    project.write("one/two/page.md", page(cell(WARNS, *expectations), "`<a>` & b"))
    index = project.root / "docs" / "index.md"
    index.write_text(index.read_text("utf-8").replace("\n*\n", "\n*\none/two/page\n"), "utf-8")
    base = "https://example.org/zh-cn/stable/"
    result = project.build(env={"READTHEDOCS_CANONICAL_URL": base})
    assert result.status == 0, result.output
    soup = html(project, "one/two/page")
    assert soup.find("link", rel="canonical")["href"] == f"{base}one/two/page.html"
    assert meta(soup, "og:url") == f"{base}one/two/page.html"
    assert meta(soup, "og:title") == "<a> & b"
    boxes = {box["class"][1]: box for box in soup.select(".outcome")}
    assert {kind: text_of(box) for kind, box in boxes.items()} == {
        "warning": f"{WORDS['warning']}UserWarning: mind <this>",
        "stderr": f"{WORDS['stderr']}a line",
    }
