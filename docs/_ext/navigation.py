"""Sphinx extension: the list of all pages, which stands on every page, is made once in a build.

The theme makes it anew for each page, from the tables of contents of the whole site: with 400 pages
that is most of a page's time, and it grows with every page. But on two pages of one directory the
list differs only in the entries that lead to the page itself. So the theme makes it once, for the
site's first page, on which no entry is current; here links are made relative to a page's directory,
and the entries on the way to the page are marked as the theme marks them.
tests/test_navigation.py compares the result with the theme's own.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import Any

from pydata_sphinx_theme.toctree import add_toctree_functions
from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import TocTree, global_toctree_for_doc

INTERNAL = re.compile(r'(<a class="reference internal" href=")([^"]+)')
LEVEL = re.compile(r"toctree-l\d+")
CLASS = ' class="'


def neutral_list(app: Sphinx, options: dict[str, Any]) -> str:
    """Return the theme's list of pages for the root document, where no entry is current."""
    root, builder = app.config.root_doc, app.builder

    def toctree(**kwargs: Any) -> str:
        found = global_toctree_for_doc(app.env, root, builder, tags=app.tags, **kwargs)
        return builder.render_partial(found)["fragment"]

    context: dict[str, Any] = {"toctree": toctree}
    add_toctree_functions(app, root, "", context, None)
    return str(context["generate_toctree_html"](**options))


def relative_to(html: str, directory: str) -> str:
    """Return a list whose links start at the site's top with links that start at `directory`."""
    return INTERNAL.sub(lambda link: link[1] + posixpath.relpath(link[2], directory), html)


def with_current(html: str, uris: list[str]) -> str:
    """Return a list with the entries on the way to a page marked.

    Args:
        html: the list, with links as that page writes them.
        uris: the links of the page's ancestors from the top, and its own at last.
    """
    insertions, position = [], 0
    for uri in uris:
        link = html.index(f'<a class="reference internal" href="{uri}">', position)
        inside = html.index("<ul", position) + len("<ul")
        if html.startswith(CLASS, inside):
            insertions.append((inside + len(CLASS), "current "))
        else:
            insertions.append((inside, f'{CLASS}current"'))
        entry = LEVEL.search(html, html.rindex("<li", 0, link))
        insertions.append((entry.end(), " current active"))
        if uri == uris[-1]:
            insertions.append((link + len("<a" + CLASS), "current "))
        position = html.index("</a>", link) + len("</a>")
        if html.startswith("<details", position):
            insertions.append((position + len("<details"), ' open="open"'))
    parts, position = [], 0
    for place, text in insertions:
        parts += [html[position:place], text]
        position = place
    return "".join([*parts, html[position:]]).replace(f'href="{uris[-1]}">', 'href="#">', 1)


def add_list_of_pages(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Put the function of this module before the theme's; both have the same arguments."""
    add_toctree_functions(app, pagename, template, context, doctree)
    theirs = context["generate_toctree_html"]

    @cache  # the theme asks twice
    def ours(**options: Any) -> object:
        if options.get("kind") != "sidebar" or options.get("startdepth") != 0:
            return theirs(**options)
        way = TocTree(app.env).get_toctree_ancestors(pagename)
        html = for_directory(app, posixpath.dirname(pagename), tuple(sorted(options.items())))
        uris = [app.builder.get_relative_uri(pagename, docname) for docname in reversed(way[1:])]
        if way:
            uris.append(posixpath.basename(app.builder.get_target_uri(pagename)))
        if any(html.count(f'href="{uri}">') != 1 for uri in uris):
            return theirs(**options)  # a page that is listed twice
        return with_current(html, uris) if uris else html

    context["generate_toctree_html"] = ours


@cache
def for_directory(app: Sphinx, directory: str, options: tuple[tuple[str, Any], ...]) -> str:
    """Return the list for pages of a directory, before entries are marked."""
    if not directory:
        return neutral_list(app, dict(options))
    return relative_to(for_directory(app, "", options), directory)


def take_the_place_of_the_theme(app: Sphinx) -> None:
    """Disconnect the theme's own handler: the one behind it makes the list already, to test it."""
    for listener in list(app.events.listeners["html-page-context"]):
        if listener.handler is add_toctree_functions:
            app.disconnect(listener.id)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    for_directory.cache_clear()
    app.connect("builder-inited", take_the_place_of_the_theme)
    app.connect("html-page-context", add_list_of_pages, priority=499)  # before the theme's others
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
