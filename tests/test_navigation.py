"""The list of pages on each page is the one that the theme itself would make."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Project, copy_project

LIST = "```{{toctree}}\n{}\n```\n"
PAGES = {
    "index": LIST.format("alone\nsection/index\nother/index"),
    "alone": "",
    "section/index": LIST.format("first\ndeeper/index\nsecond"),
    "section/first": "",
    "section/second": "(second-why)=\n## Why `x`\n\nSo.\n",
    "section/deeper/index": LIST.format("lowest"),
    "section/deeper/lowest": "",
    "other/index": LIST.format("first\n/section/second"),
    "other/first": "",
}


def build(root: Path, *, theirs: bool) -> Project:
    """Build a site with lists within lists, and with a page that is in two of them."""
    project = copy_project(root, pages=False)
    for name, body in PAGES.items():
        project.write(f"{name}.md", f"# The page `{name}` & others\n\nAn answer.\n\n{body}")
    (root / "docs" / "how-this-site-is-checked.md").unlink()
    (root / "docs" / "pages-without-cells.txt").write_text(
        "".join(f"{name}: a stub\n" for name in PAGES), "utf-8"
    )
    if theirs:
        conf = root / "conf.py"
        conf.write_text(conf.read_text("utf-8").replace('    "navigation",\n', ""), "utf-8")
    result = project.build()
    assert result.status == 0, result.output
    return project


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Project]:
    place = tmp_path_factory.mktemp("navigation")
    return build(place / "ours", theirs=False), build(place / "theirs", theirs=True)


def test_every_page_is_the_same_without_the_extension(sites: tuple[Project, Project]) -> None:
    ours, theirs = (project.files() for project in sites)
    assert {f"{name}.html" for name in PAGES} <= ours.keys()
    assert ours == theirs


@pytest.mark.parametrize("name", ["alone", "section/index", "section/deeper/lowest"])
def test_the_page_itself_is_marked(sites: tuple[Project, Project], name: str) -> None:
    text = sites[0].files()[f"{name}.html"].decode()
    listed = text[text.index('class="bd-links bd-docs-nav"') :]
    listed = listed[: listed.index("</nav>")]
    assert listed.count('<a class="current reference internal" href="#">') == 1
    assert listed.count("current active") == name.count("/") + 1 - name.endswith("index")


def test_the_theme_makes_the_list_once(project: Project) -> None:
    for number in range(6):
        project.write(f"p{number}.md", f"# Page {number}\n\nAn answer.\n")
    listed = project.root / "docs" / "pages-without-cells.txt"
    names = "".join(f"p{number}: a stub\n" for number in range(6))
    listed.write_text(listed.read_text("utf-8") + names, "utf-8")
    count = (
        "\nimport pydata_sphinx_theme.toctree as toctree\n"
        "from pathlib import Path\n"
        "collapse = toctree.add_collapse_checkboxes\n\n"
        "def counting(soup):\n"
        "    with Path('count').open('a') as file:\n"
        "        file.write('x')\n"
        "    collapse(soup)\n\n"
        "toctree.add_collapse_checkboxes = counting\n"
    )
    conf = project.root / "conf.py"
    conf.write_text(conf.read_text("utf-8") + count, "utf-8")
    assert project.build("-j1").status == 0
    assert (project.root / "count").read_text() == "x"
