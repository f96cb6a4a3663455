"""Sphinx extension: say in words what an error or a warning under a cell is.

MyST-NB renders both as coloured text that looks like a page gone wrong. Here each is put into a box
whose heading comes from a template, so that it can be translated.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

WARNING = re.compile(r"[\w.]*Warning: ")
"""How the checker renders a warning, on the stream that other text may go to as well."""


class outcome(nodes.General, nodes.Element):
    """A box around an error, a warning or stderr; its attribute `kind` says which."""


class WrapOutcomes(SphinxTransform):
    """Put boxes around what MyST-NB marks as a traceback or as stderr."""

    default_priority = 500

    def apply(self, **_kwargs: Any) -> None:
        """Wrap each such block of the document."""
        for block in list(self.document.findall(nodes.literal_block)):
            classes = block["classes"]
            if "traceback" in classes:
                kind = "error"
            elif "stderr" in classes:
                kind = "warning" if WARNING.match(block.astext()) else "stderr"
            else:
                continue
            box = outcome(kind=kind)
            block.replace_self(box)
            box.append(block)


def visit_outcome(self: HTML5Translator, node: outcome) -> None:
    """Open the box, with its heading."""
    self.body.append(f'<div class="outcome {node["kind"]}">')
    self.body.append(self.builder.templates.render("outcome.html", {"kind": node["kind"]}))


def depart_outcome(self: HTML5Translator, _node: outcome) -> None:
    """Close the box."""
    self.body.append("</div>")


def pass_through(_translator: nodes.NodeVisitor, _node: outcome) -> None:
    """Render the block alone, where there are no boxes."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    other = (pass_through, pass_through)
    app.add_node(
        outcome, html=(visit_outcome, depart_outcome), text=other, latex=other, gettext=other
    )
    app.add_transform(WrapOutcomes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
