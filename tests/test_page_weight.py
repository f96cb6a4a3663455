"""What pages no longer load is nothing that they use, and what they load is little."""

from __future__ import annotations

import base64
import re
from io import BytesIO
from pathlib import Path

import lightningcss
import pytest
from bs4 import BeautifulSoup
from conftest import Project, cell, expect, page
from first_view import first_view, heaviest_page, served
from fontTools.ttLib import TTFont
from page_weight import STYLES, drawn, font, moved, one_style_sheet, pages, with_one_style_sheet
from playwright.sync_api import Browser

RAW, GZIPPED, REQUESTS = 500_000, 150_000, 12
"""What the first view of a page may weigh, in bytes, and how many files it may ask for."""

ICON_STYLES = {"fa-solid", "fa-regular", "fa-brands", "fa-lg", "fa-fw"}


def styles(project: Project) -> str:
    return (project.site / "_static" / STYLES).read_text("utf-8")


def fonts(css: str) -> list[TTFont]:
    """Return the fonts that a style sheet holds."""
    found = re.findall(r"url\(data:font/woff2;base64,([^)]+)\)", css)
    return [TTFont(BytesIO(base64.b64decode(data))) for data in found]


def test_first_view_is_light(built_project: Project, browser: Browser) -> None:
    with served(built_project.site) as root:
        view = first_view(browser, f"{root}/{heaviest_page(built_project.site)}")
    assert view.raw <= RAW, view.sizes
    assert view.gzipped <= GZIPPED, view.sizes
    assert view.requests <= REQUESTS, view.sizes


def test_every_icon_has_its_drawing(built_project: Project) -> None:
    css = styles(built_project)
    characters = {code for one in fonts(css) for code in one.getBestCmap()}
    icons = {
        name
        for text in pages(built_project.site).values()
        for element in BeautifulSoup(text, "html.parser").select("[class*=fa-]")
        for name in element["class"]
        if name.startswith("fa-") and name not in ICON_STYLES
    }
    assert len(icons) >= 8
    for icon in icons | {"fa-xmark"}:  # this one is put there by a script
        [character] = re.findall(rf'\.{icon}(?![\w-])[^{{}}]*{{--fa:"([^"]+)"}}', css)
        assert drawn(f'content:"{character}"') <= characters, icon


def test_icons_are_visible(built_project: Project, browser: Browser) -> None:
    """Each is drawn with the font of icons, on every kind of button; nothing loads a script."""
    with served(built_project.site) as root:
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(f"{root}/index.html")
        unseen = tab.evaluate("""async () => {
            await document.fonts.ready;
            return [...document.querySelectorAll("i[class*=fa-]")]
                .filter((icon) => icon.checkVisibility() && !icon.getBoundingClientRect().width)
                .map((icon) => icon.outerHTML);
        }""")
        loaded = tab.evaluate("""[...document.fonts].filter((font) => font.status === "loaded")
            .map((font) => font.family)""")
        tab.close()
    assert not unseen
    assert any("Font Awesome" in family for family in loaded)


def test_no_rule_that_applies_is_left_out(built_project: Project) -> None:
    """What the theme's own style sheets say about classes of pages is in the one that pages load.

    Compared by selector: the names of classes in each compound, as the browser would match them.
    """
    names = {
        name
        for text in pages(built_project.site).values()
        for element in BeautifulSoup(text, "html.parser").find_all(class_=True)
        for name in element["class"]
    }
    css = styles(built_project)
    static = built_project.site / "_static"
    sheets = ["styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css", "basic.css"]
    whole = "".join(
        lightningcss.process_stylesheet((static / s).read_text("utf-8")) for s in sheets
    )
    classes = {name for name in names if re.search(rf"\.{re.escape(name)}(?![\w-])", whole)}
    assert len(classes) > 50
    missing = [n for n in classes if not re.search(rf"\.{re.escape(n)}(?![\w-])", css)]
    assert not missing
    assert "bs-tooltip-auto" in css  # bootstrap.js composes this name


def test_pictures_have_sizes(built_project: Project) -> None:
    """So that the text does not jump when they arrive."""
    for path, text in pages(built_project.site).items():
        for image in BeautifulSoup(text, "html.parser").find_all("img"):
            given = {*image.attrs, *re.findall(r"[\w-]+(?=:)", image.get("style", ""))}
            assert {"width", "height"} <= given, f"{path}: {image}"


def test_addresses_in_the_style_sheet_lead_to_files(built_project: Project) -> None:
    for address in re.findall(r"url\((?!\"?data:)\"?([^)\"#]+)", styles(built_project)):
        assert (built_project.site / "_static" / address).is_file(), address


def test_search_loads_what_it_needs_and_other_pages_do_not(built_project: Project) -> None:
    for path, text in pages(built_project.site).items():
        scripts = {Path(src).name for src in re.findall(r'<script[^>]*src="([^"?]+)', text)}
        assert "fontawesome.js" not in scripts
        needed = {"searchtools.js", "language_data.js", "searchindex.js"}
        assert scripts & needed == (needed if path.name == "search.html" else set()), path


def test_all_pages_name_the_same_bytes_after_a_change(project: Project) -> None:
    """A page that was not written again follows when another one brings a new style sheet."""
    project.write("one.md", page(cell("1 + 1", expect("2"))))
    project.write("two.md", page(cell("2 + 2", expect("4"))))
    assert project.build().status == 0
    before = styles(project)
    project.write("two.md", page("```{seealso}\nThat.\n```\n\n" + cell("2 + 2", expect("4"))))
    assert project.build().status == 0
    assert ".admonition.seealso" not in before
    assert ".admonition.seealso" in styles(project)
    stamps = {re.findall(r"styles\.css\?v=(\w+)", t)[0] for t in pages(project.site).values()}
    assert len(stamps) == 1
    project.write("two.md", page(cell("2 + 2", expect("4"))))
    assert project.build().status == 0
    assert styles(project) == before


def test_one_link_takes_the_place_of_all() -> None:
    links = '<link rel="stylesheet" type="text/css" href="../_static/a.css?v=1" />\n'
    text = f'<head>\n{links}<link rel="next" href="b.html" />{links}</head>'
    assert with_one_style_sheet(text) == (
        '<head>\n<link rel="stylesheet" href="../_static/styles.css?v=0" />\n'
        '<link rel="next" href="b.html" /></head>'
    )


def test_style_sheet_keeps_what_is_used(tmp_path: Path) -> None:
    (tmp_path / "styles").mkdir()
    (tmp_path / "base.css").write_text(".base{color:red}.other{color:navy}")
    (tmp_path / "styles" / "a.css").write_text(
        '@import "../base.css";\n'
        ".used > a{background:url(../a.png)} .unused .used{color:blue}\n"
        "@media print{.unused{color:red}} p{color:green}"
    )
    css = one_style_sheet(tmp_path, ["styles/a.css"], {"used", "base"}, tmp_path)
    assert css == ".base{color:red}.used>a{background:url(a.png)}p{color:green}"


@pytest.mark.parametrize(
    ("url", "sheet", "address"),
    [("../a.png", "styles/b.css", "a.png"), ("a.png", "b.css", "a.png")],
)
def test_addresses_move_with_their_rules(url: str, sheet: str, address: str) -> None:
    assert moved(url, sheet) == address


def test_font_keeps_the_characters_alone_and_always_has_the_same_bytes(
    built_project: Project, tmp_path: Path
) -> None:
    [file] = built_project.site.rglob("fa-solid-900.woff2")
    small = font(file, {0xF185, 0xF186}, tmp_path / "kept")
    assert small == font(file, {0xF186, 0xF185}, tmp_path / "elsewhere")
    [one] = fonts(f"url({small})")
    assert set(one.getBestCmap()) == {0xF185, 0xF186}


def test_small_fonts_are_kept_for_the_font_and_the_characters_they_are_of(
    built_project: Project, tmp_path: Path
) -> None:
    solid, brands = (
        next(built_project.site.rglob(f"fa-{name}.woff2")) for name in ("solid-900", "brands-400")
    )
    made = {font(solid, {0xF185}, tmp_path), font(solid, {0xF186}, tmp_path)}
    made |= {font(brands, {0xF09B}, tmp_path), font(solid, {0xF185}, tmp_path)}
    kept = {base64.b64encode(path.read_bytes()).decode() for path in tmp_path.iterdir()}
    assert {address.partition(",")[2] for address in made} == kept
    assert len(kept) == 3
