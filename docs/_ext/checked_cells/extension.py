"""Sphinx extension: execute a page's cells and compare what they show with what the page declares.

The pages that Sphinx is about to read are executed first, all of them at once (`run`). A page
without failures is read with its outputs in place; a page with failures is not read at all, so that
it never enters the environment and runs again next time. After reading, failures end the build
before anything is written.

MyST-NB offers the hook for this, a reader of its own for a file suffix; its own execution modes
stop at a page's first problem and compare nothing.
"""

from __future__ import annotations

import copy
import hashlib
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.cmd.build import get_parser
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from checked_cells.compare import Check
from checked_cells.interruption import clean_up_when_terminated
from checked_cells.page import TIMEOUT, Failure, Page
from checked_cells.report import outputs_checked, summary, write_checks, write_failures
from checked_cells.site import load_page, shown_path, stale_entries, unread_pages
from checked_cells.versions import fingerprint, python_version, torch_version


@dataclass
class Build:
    """What the running build knows; one process runs one build.

    Attributes:
        failures: whatever forbids publishing; other extensions add theirs.
        texts: the source of pages that were executed, by their name.
        executed: their notebooks with outputs, by that source.
    """

    began: float = field(default_factory=time.monotonic)
    failures: list[Failure] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    executed: dict[str, NotebookNode] = field(default_factory=dict)
    failed_checks: dict[str, list[Check]] = field(default_factory=dict)


BUILD = Build()

SETTABLE = re.compile(r"checked_cells_timeout|permalinks_record|language|nitpicky|linkcheck_\w+")
"""Configuration values that a command may set: none of them decides what is checked or shown."""


def read_executed(text: str) -> NotebookNode:
    """Return the executed notebook of a page; MyST-NB calls this for each page that it reads."""
    return copy.deepcopy(BUILD.executed[text])  # two pages may have the same text


def keep_executed_text(_app: Sphinx, docname: str, content: list[str]) -> None:
    """Let Sphinx read what was executed, though the file may have changed since."""
    content[0] = BUILD.texts.get(docname, content[0])


def refuse_settings(_app: Sphinx, config: Config) -> None:
    """Fail for each ``-D`` or ``-A`` that could hide a page, an output or a warning.

    They are taken from the command, since some are merged into other values before anybody asks.
    """
    command, _ = get_parser().parse_known_args(sys.argv[1:])
    given = {definition.partition("=")[0] for definition in command.define}
    given |= {f"html_context.{definition.partition('=')[0]}" for definition in command.htmldefine}
    for name in sorted(given | set(config.overrides)):
        if not SETTABLE.fullmatch(name):
            message = f"{name} may not be set by a command (-D, -A)"
            BUILD.failures.append(Failure("conf.py", 1, message))


def find_changed_pages(
    _app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]
) -> list[str]:
    """Return the pages with other text than when they were read; Sphinx compares times alone.

    A page may be replaced by an older file: by `mv`, by rsync, by unpacking an archive.
    """
    known = env.checked_sources.keys() & env.found_docs
    return [
        docname
        for docname in known
        if env.checked_sources[docname] != _digest(Path(env.doc2path(docname)).read_bytes())
    ]


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


def execute_pages(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Execute the pages that are about to be read, and strike those that fail off the list."""
    source = Path(app.srcdir)
    BUILD.failures += stale_entries(source) + unread_pages(source)
    if not docnames:
        return
    from checked_cells.run import run_pages  # not at the top: Jupyter takes a while to import

    pages = [load_page(Path(env.doc2path(docname)), source) for docname in docnames]
    jobs = max(1, app.parallel)
    results = run_pages(
        [page for page in pages if page.runnable], jobs, app.config.checked_cells_timeout
    )
    for result in results:
        if not result.failures:
            env.checked_pages[result.page.docname] = result.checks
            env.checked_sources[result.page.docname] = _digest(result.page.text.encode())
            BUILD.texts[result.page.docname] = result.page.text
            BUILD.executed[result.page.text] = result.notebook
    for page in pages:
        if page.failures:
            _forget(app, env, page)
            docnames.remove(page.docname)
    BUILD.failed_checks = {
        result.page.docname: result.checks for result in results if result.failures
    }


def _forget(app: Sphinx, env: BuildEnvironment, page: Page) -> None:
    """Take a page that fails out of the environment, as Sphinx does with a removed page."""
    BUILD.failures += page.failures
    app.emit("env-purge-doc", env, page.docname)
    env.clear_doc(page.docname)
    env.checked_pages.pop(page.docname, None)


def prepare_environment(app: Sphinx) -> None:
    """Give the environment its places for results, and for what they are results of."""
    for name in ("checked_pages", "checked_sources"):
        if not hasattr(app.env, name):
            setattr(app.env, name, {})


def find_stale_tables(app: Sphinx, env: BuildEnvironment, *_changes: set[str]) -> list[str]:
    """Return the pages whose table of contents lists a page that never entered the environment.

    Sphinx would not know that such a page was removed, and would miss it for ever.
    """
    return [name for name, listed in env.toctree_includes.items() if set(listed) - env.found_docs]


def forget_removed_pages(app: Sphinx, env: BuildEnvironment) -> None:
    """Drop the results of pages that no longer exist."""
    for docname in set(env.checked_pages) - set(env.found_docs):
        del env.checked_pages[docname]


def find_orphans(app: Sphinx, env: BuildEnvironment) -> None:
    """Fail for each page that no table of contents lists; Sphinx would only warn, elsewhere."""
    if any(failure.path.endswith(".md") for failure in BUILD.failures):
        return  # a page that was not read may list others
    listed = {docname for listed in env.toctree_includes.values() for docname in listed}
    for docname in sorted(env.found_docs - listed - {app.config.root_doc}):
        path = shown_path(Path(env.doc2path(docname)))
        BUILD.failures.append(Failure(path, 1, "the page is in no table of contents (toctree)"))


def stop_before_writing(app: Sphinx, _builder: object) -> None:
    """Write checks.json; end the build here if anything failed."""
    env = app.env
    checks = {**env.checked_pages, **BUILD.failed_checks}
    paths = {docname: shown_path(Path(env.doc2path(docname))) for docname in checks}
    target = Path(app.doctreedir).parent / "checks.json"
    write_checks(target, {paths[docname]: checks[docname] for docname in checks})
    if BUILD.failures:
        write_failures(BUILD.failures, sys.stderr)
        raise SystemExit(1)


def add_checks_to_page(
    app: Sphinx, docname: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Let templates say how many outputs of a page were checked, and with what."""
    context["outputs_checked"] = outputs_checked(app.env.checked_pages.get(docname, []))
    context["pytorch_version"] = torch_version()
    context["python_version"] = python_version()


def print_summary(app: Sphinx, exception: Exception | None) -> None:
    """Print the line that ends a build without failures."""
    if exception is None and app.statuscode == 0:
        checks = [check for checks in app.env.checked_pages.values() for check in checks]
        seconds = time.monotonic() - BUILD.began
        line = summary(len(app.env.found_docs), checks, seconds)
        if app.builder.format == "html":
            line += f": {shown_path(app.outdir / 'index.html')}"
        print(line, flush=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    BUILD.__init__()
    clean_up_when_terminated()
    app.setup_extension("myst_nb")
    app.add_config_value("checked_cells_timeout", TIMEOUT, "env", int)
    # Sphinx reads every page again when this value differs from that of the last build.
    app.add_config_value("checked_cells_fingerprint", fingerprint(), "env", str)
    app.connect("config-inited", refuse_settings)
    app.connect("builder-inited", prepare_environment)
    app.connect("env-get-outdated", find_stale_tables)
    app.connect("env-get-outdated", find_changed_pages)
    app.connect("env-before-read-docs", execute_pages)
    app.connect("source-read", keep_executed_text)
    app.connect("env-updated", forget_removed_pages)
    app.connect("env-updated", find_orphans)
    app.connect("write-started", stop_before_writing)
    app.connect("html-page-context", add_checks_to_page)
    app.connect("build-finished", print_summary, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
