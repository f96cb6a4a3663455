"""Sphinx extension: ``{search-field}`` puts a search field into the text of a page.

The theme's own field is behind a button. Somebody who comes with an error message in hand should
see at once where to paste it. This is a plain form that leads to Sphinx's search page and needs no
script; its words come from a template, so that they can be translated.
"""

from __future__ import annotations

from typing import Any, NoReturn

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class search_field(nodes.General, nodes.Element):
    """A search field."""


class SearchField(SphinxDirective):
    """The directive, which has neither arguments nor content."""

    def run(self) -> list[nodes.Node]:
        """Return the field."""
        return [search_field()]


def write_form(self: HTML5Translator, _node: search_field) -> NoReturn:
    """Write the form."""
    search = self.builder.get_relative_uri(self.builder.current_docname, "search")
    self.body.append(self.builder.templates.render("search-field.html", {"search": search}))
    raise nodes.SkipNode


def skip(_translator: nodes.NodeVisitor, _node: search_field) -> NoReturn:
    """Write nothing, where nobody can search."""
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    other = (skip, None)
    app.add_node(search_field, html=(write_form, None), text=other, latex=other, gettext=other)
    app.add_directive("search-field", SearchField)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
