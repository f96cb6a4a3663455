"""Sphinx extension: a page's short answer is its description, for search engines and previews.

sphinxext-opengraph would take text until a number of characters, past the end of the answer, and
loses the space before code. The meta elements themselves are in the template layout.html.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def short_answer(doctree: nodes.document) -> str:
    """Return the text of a page's first paragraph, which is its short answer."""
    for section in doctree.findall(nodes.section):
        for child in section.children:
            if isinstance(child, nodes.paragraph):
                return " ".join(child.astext().split())
        break
    return ""


def add_description(
    _app: Sphinx, _docname: str, _template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the template the description of a page that was written by people."""
    context["short_answer"] = short_answer(doctree) if doctree is not None else ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    app.connect("html-page-context", add_description)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
