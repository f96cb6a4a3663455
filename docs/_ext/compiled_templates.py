"""Sphinx extension: templates that did not change are not compiled again in every build.

Jinja offers to keep what it compiled, by a checksum of each template, but Sphinx does not ask for
it; and the theme has some thirty templates, however few pages a build writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import FileSystemBytecodeCache
from sphinx.application import Sphinx
from sphinx.jinja2glue import BuiltinTemplateLoader


def keep_compiled(app: Sphinx) -> None:
    """Give Sphinx's templates a place for their compiled form, beside the doctrees."""
    templates = getattr(app.builder, "templates", None)  # only builders that write pages have some
    if isinstance(templates, BuiltinTemplateLoader):
        directory = Path(app.doctreedir) / "templates"
        directory.mkdir(parents=True, exist_ok=True)
        templates.environment.bytecode_cache = FileSystemBytecodeCache(str(directory))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    app.connect("builder-inited", keep_compiled)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
