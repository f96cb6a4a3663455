"""Sphinx extension: no HTML page stays that is out of date, or whose source is gone.

Sphinx compares the times of a page's source and its HTML file. That misses a page which was read
again because PyTorch changed (perhaps by a build that wrote no HTML), and the navigation shown on
every page when a title or a table of contents changed. Nor does it remove the HTML of a page that
is gone.

And it puts a checksum behind the name of a style sheet only where the file exists already, while
MyST-NB copies its own after the pages: a first build would differ from the second.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path
from typing import Any

from myst_nb.sphinx_ext import add_global_html_resources
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

STAMP = ".navigation"
"""A file in the output directory: the digest of the navigation that its pages show."""


def navigation_digest(env: BuildEnvironment) -> str:
    """Return a digest of all titles and tables of contents."""
    parts = [f"{docname} {title.astext()}" for docname, title in sorted(env.titles.items())]
    parts += [f"{docname} {toc.astext()}" for docname, toc in sorted(env.tocs.items())]
    parts += [f"{docname} {listed}" for docname, listed in sorted(env.toctree_includes.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def pages_to_write(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that Sphinx would not write but whose HTML is older than their reading."""
    if app.builder.format != "html":
        return []
    stamp = Path(app.outdir) / STAMP
    digest = navigation_digest(env)
    if not stamp.exists() or stamp.read_text("utf-8") != digest:
        _empty(Path(app.outdir))
        return sorted(env.found_docs & set(env.all_docs))
    return [docname for docname in env.all_docs if _older(app, env, docname)]


def refuse_part_of_site(app: Sphinx, exception: Exception | None) -> None:
    """Fail if pages were not written: Sphinx writes only those whose files a command names."""
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    for docname in sorted(app.env.found_docs):
        target = Path(app.builder.get_outfilename(docname))
        if not target.exists() or _older(app, app.env, docname):
            print(f"{docname} was not written; name no files, the site is whole", file=sys.stderr)
            app.statuscode = 1


def _empty(directory: Path) -> None:
    for path in directory.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _older(app: Sphinx, env: BuildEnvironment, docname: str) -> bool:
    target = Path(app.builder.get_outfilename(docname))
    read = env.all_docs[docname]  # microseconds
    return target.exists() and target.stat().st_mtime_ns // 1000 < read


def write_stamp(app: Sphinx, exception: Exception | None) -> None:
    """Remember what navigation the written pages show."""
    if exception is None and app.builder.format == "html":
        stamp = Path(app.builder.outdir) / STAMP
        stamp.write_text(navigation_digest(app.env), "utf-8")


def copy_style_sheet(app: Sphinx, _builder: object) -> None:
    """Copy MyST-NB's style sheet before the first page names it."""
    if app.builder.format == "html":
        (Path(app.outdir) / "_static").mkdir(parents=True, exist_ok=True)
        add_global_html_resources(app, None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    app.connect("env-updated", pages_to_write)
    app.connect("build-finished", refuse_part_of_site, priority=800)
    app.connect("write-started", copy_style_sheet, priority=900)  # not in builds that end there
    app.connect("build-finished", write_stamp, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
