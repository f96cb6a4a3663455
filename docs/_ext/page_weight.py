"""Sphinx extension: a page's first view loads what the page uses, and not the whole theme.

The theme serves a megabyte and a half of icons to draw a dozen, three scripts of the search page on
every page, and in six style sheets some 5,000 classes of which pages have 300. A reader who comes
from a forum on a phone would wait for all of it before seeing the answer. So when all pages are
written,

- scripts that only the search page needs, and the script that draws icons, are taken off the pages;
  the theme's style sheets draw the same icons with a font, and without any script;
- the style sheets become one, without the classes and ids that no page and no script names;
- the icon fonts keep the icons that this style sheet names, and are part of it.

What is in use is read off the finished pages, so that nothing is listed here by hand and a new
theme is treated likewise. tests/test_page_weight.py compares the result with the pages.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import posixpath
import re
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import lightningcss
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

STYLES = "styles.css"
"""The one style sheet, in the directory of static files."""

EVERYWHERE = ("fontawesome.js",)
OUTSIDE_SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")
"""Scripts that the theme loads for a search while one types, which is off; see conf.py."""

COMPOSED = ("bs-tooltip-",)
"""How classes begin whose names bootstrap.js puts together from parts."""

STYLE_LINK = re.compile(
    r'<link\b(?=[^>]*rel="stylesheet")[^>]*href="([^":?]*_static/)([^"?]*)[^"]*"[^>]*>\s*'
)
SCRIPT = re.compile(r'<script\b[^>]*\bsrc="([^"?]*)[^"]*"[^>]*></script>\s*')
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STAMP = re.compile(rf"(?<=_static/{re.escape(STYLES)}\?v=)\w+")
NAMES = re.compile(r"""\b(?:class|id)=["']([^"']*)""")
WORD = re.compile(r"[A-Za-z_][\w-]*")
SELECTED = re.compile(r"[.#]([A-Za-z_][\w-]*)")
URL = re.compile(r"""url\((["']?)(?![a-z]+:|#)([^"')]+)\1\)""")
FONT = re.compile(r"url\(([^)]*\.woff2)\)")
DRAWN = re.compile(r"""(?:content|--[\w-]+):\s*"([^"]+)\"""")
ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6}) ?")


def pages(site: Path) -> dict[Path, str]:
    """Return the text of every page, those that Sphinx makes by itself included."""
    return {
        path: path.read_bytes().decode()
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


def without_scripts(text: str, *, search: bool) -> str:
    """Return a page without the scripts that it has no use for."""
    unused = EVERYWHERE if search else EVERYWHERE + OUTSIDE_SEARCH
    return SCRIPT.sub(lambda match: "" if Path(match[1]).name in unused else match[0], text)


def style_sheets(text: str) -> list[str]:
    """Return the style sheets of a page, by their paths within the static files."""
    return [name for _, name in STYLE_LINK.findall(text) if name != STYLES]


def with_one_style_sheet(text: str) -> str:
    """Return a page with one style sheet where the first was."""
    links = list(STYLE_LINK.finditer(text))
    rest = STYLE_LINK.sub("", text[links[0].start() :])
    link = f'<link rel="stylesheet" href="{links[0][1]}{STYLES}?v=0" />\n'
    return text[: links[0].start()] + link + rest


def used_names(site: Path, texts: dict[Path, str]) -> set[str]:
    """Return whatever may be a class or an id: pages' own, and every word of their scripts."""
    names: set[str] = set()
    scripts: set[Path] = set()
    for path, text in texts.items():
        names.update(*(value.split() for value in NAMES.findall(text)))
        names.update(*(WORD.findall(script) for script in INLINE_SCRIPT.findall(text)))
        scripts |= {(path.parent / src).resolve() for src in SCRIPT.findall(text)}
    for script in scripts:
        if script.is_file():
            names.update(WORD.findall(script.read_text("utf-8")))
    return names


def one_style_sheet(static: Path, sheets: list[str], used: set[str], kept: Path) -> str:
    """Return the rules of style sheets, in their order, that may apply to a page.

    Args:
        static: the directory of static files.
        sheets: their paths within it.
        used: whatever may be a class or an id on a page.
        kept: where small fonts are kept for the next build.
    """
    parts = []
    for sheet in sheets:
        # The first pass brings in what the sheet imports.
        text = lightningcss.bundle_css(str(static / sheet), minify=False)
        unused = {n for n in SELECTED.findall(text) if n not in used and not n.startswith(COMPOSED)}
        text = lightningcss.process_stylesheet(text, filename=sheet, unused_symbols=unused)
        parts.append(URL.sub(lambda match, sheet=sheet: f"url({moved(match[2], sheet)})", text))
    css = "".join(parts)
    code_points = drawn(css)
    return FONT.sub(lambda match: f"url({font(static / match[1], code_points, kept)})", css)


def moved(url: str, sheet: str) -> str:
    """Return an address in a style sheet as seen from the directory of static files."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(sheet), url))


def drawn(css: str) -> set[int]:
    """Return the characters that a style sheet puts on pages."""
    texts = DRAWN.findall(css)
    escaped = {int(code, 16) for text in texts for code in ESCAPE.findall(text)}
    return escaped | {ord(character) for text in texts for character in text}


def font(file: Path, code_points: set[int], kept: Path) -> str:
    """Return a font with these characters alone, as an address that holds it."""
    made_of = (file.read_bytes(), sorted(code_points), version("fonttools"))
    small = kept / f"{hashlib.sha256(repr(made_of).encode()).hexdigest()}.woff2"
    if not small.exists():
        kept.mkdir(parents=True, exist_ok=True)
        whole = small.with_suffix(".in-progress")
        whole.write_bytes(subset_of(file, code_points))
        whole.replace(small)
    return f"data:font/woff2;base64,{base64.b64encode(small.read_bytes()).decode()}"


def subset_of(file: Path, code_points: set[int]) -> bytes:
    """Return a font with these characters alone."""
    from fontTools import subset  # not at the top: most builds have the small fonts already

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it reports each table
    options = subset.Options(flavor="woff2", layout_features=[], notdef_outline=True)
    with subset.load_font(file, options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=code_points)
        subsetter.subset(font)
        small = BytesIO()
        subset.save_font(font, small, options)
    return small.getvalue()


def lighten(app: Sphinx, exception: Exception | None) -> None:
    """Take off the finished pages what they do not use."""
    if exception is not None or app.builder.name != "html":
        return
    site = Path(app.outdir)
    before = pages(site)
    # A page that was not written again has its one style sheet already; Sphinx always writes some.
    lists = {tuple(sheets) for text in before.values() if (sheets := style_sheets(text))}
    if len(lists) != 1:
        message = "pages have different style sheets, which page_weight.py cannot make one: %s"
        getLogger(__name__).warning(message, sorted(lists))
        return
    after = {}
    for path, text in before.items():
        lighter = without_scripts(text, search=path == site / "search.html")
        after[path] = with_one_style_sheet(lighter) if style_sheets(text) else lighter
    kept = Path(app.doctreedir) / "fonts"
    css = one_style_sheet(site / "_static", list(*lists), used_names(site, after), kept)
    (site / "_static" / STYLES).write_text(css, "utf-8")
    digest = hashlib.sha256(css.encode()).hexdigest()[:8]
    for path, text in after.items():
        stamped = STAMP.sub(digest, text)
        if stamped != before[path]:
            path.write_bytes(stamped.encode())


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    # After MyST-NB has copied its style sheet, and before `rewriting` and `publish` look at files.
    app.connect("build-finished", lighten, priority=700)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
