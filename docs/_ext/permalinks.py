"""Sphinx extension: a page or a label that was ever published never disappears.

docs/permalinks.txt lists them: ``leaves/what-is-a-leaf`` or ``leaves/what-is-a-leaf#label``. A
build that loses one fails; one that has more than the list fails too, so that the list is complete.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from checked_cells.extension import BUILD
from checked_cells.page import Failure
from checked_cells.site import shown_path
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

MANIFEST = "permalinks.txt"


def links(env: BuildEnvironment) -> set[str]:
    """Return the permalinks that the site has: its pages, and its labels in front of sections."""
    labels = env.domains.standard_domain.anonlabels
    own = {f"{docname}#{label_id}" for docname, label_id in labels.values() if label_id}
    return {link for link in own if link.split("#")[0] in env.found_docs} | set(env.found_docs)


def check_permalinks(app: Sphinx, env: BuildEnvironment) -> None:
    """Compare the manifest with the site; with `permalinks_record` set, add what is new."""
    if BUILD.failures:
        return  # pages that were not read have no labels
    manifest = Path(app.srcdir) / MANIFEST
    lines = manifest.read_text("utf-8").splitlines() if manifest.exists() else []
    have = links(env)
    path = shown_path(manifest)
    for number, line in enumerate(lines, 1):
        if line and line not in have:
            message = f"{line} was published and is gone; restore it, links to it exist"
            BUILD.failures.append(Failure(path, number, message))
    new = sorted(have - set(lines))
    if new and app.config.permalinks_record:
        manifest.write_text("".join(f"{line}\n" for line in sorted({*lines, *new})), "utf-8")
    elif new:
        message = f"new permalinks, to be added by `make accept`: {', '.join(new)}"
        BUILD.failures.append(Failure(path, len(lines) + 1, message))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    app.add_config_value("permalinks_record", False, "", bool)
    app.connect("env-updated", check_permalinks, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
