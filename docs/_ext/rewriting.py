"""Sphinx extension: no HTML page stays that is out of date, or whose source is gone.

Sphinx compares the times of a page's source and its HTML file. That misses a page which was read
again because PyTorch changed (perhaps by a build that wrote no HTML), and the navigation shown on
every page when a title or a table of contents changed.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

STAMP = ".navigation"
"""A file in the output directory: the digest of the navigation that its pages show."""

RECORD = ".pages"
"""A file in the output directory: the pages that may have HTML there."""


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
    _remove_old_pages(app, env)
    stamp = Path(app.outdir) / STAMP
    digest = navigation_digest(env)
    if not stamp.exists() or stamp.read_text("utf-8") != digest:
        stamp.unlink(missing_ok=True)
        return sorted(env.found_docs & set(env.all_docs))
    return [docname for docname in env.all_docs if _older(app, env, docname)]


def _remove_old_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Remove the HTML of pages that are gone; Sphinx leaves it."""
    record = Path(app.outdir) / RECORD
    known = record.read_text("utf-8").splitlines() if record.exists() else []
    for docname in set(known) - env.found_docs:
        Path(app.builder.get_outfilename(docname)).unlink(missing_ok=True)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text("".join(f"{docname}\n" for docname in sorted(env.found_docs)), "utf-8")


def refuse_part_of_site(app: Sphinx, exception: Exception | None) -> None:
    """Fail if pages were not written: Sphinx writes only those whose files a command names."""
    if exception is not None or app.builder.name not in ("html", "dirhtml"):
        return
    for docname in sorted(app.env.found_docs):
        target = Path(app.builder.get_outfilename(docname))
        if not target.exists() or _older(app, app.env, docname):
            print(f"{docname} was not written; name no files, the site is whole", file=sys.stderr)
            app.statuscode = 1


def _older(app: Sphinx, env: BuildEnvironment, docname: str) -> bool:
    target = Path(app.builder.get_outfilename(docname))
    read = env.all_docs[docname]  # microseconds
    return target.exists() and target.stat().st_mtime_ns // 1000 < read


def write_stamp(app: Sphinx, exception: Exception | None) -> None:
    """Remember what navigation the written pages show."""
    if exception is None and app.builder.format == "html":
        stamp = Path(app.builder.outdir) / STAMP
        stamp.write_text(navigation_digest(app.env), "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    app.connect("env-updated", pages_to_write)
    app.connect("build-finished", refuse_part_of_site, priority=800)
    app.connect("build-finished", write_stamp, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
