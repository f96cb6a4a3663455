"""Sphinx extension: put a finished site in place only when it is whole.

Sphinx writes into its output directory page by page. Here it writes into a directory beside it,
kept for the next build, and what it wrote replaces the output directory after a build without
failures and without warnings. So a failed or interrupted build leaves the last good site as it is.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from checked_cells.extension import print_summary
from checked_cells.interruption import undisturbed
from filelock import FileLock, Timeout
from rewriting import pages_to_write
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx

warnings_seen: list[str] = []


class WarningCounter(logging.Handler):
    """Remembers Sphinx's warnings: with or without ``-W``, no site with a warning is published.

    Nor is it by the next build, which would not read an unchanged page again and so not warn: a
    mark, which outlives even a killed build, makes it begin from nothing.
    """

    def __init__(self, doctrees: Path) -> None:
        super().__init__(logging.WARNING)
        self.mark = doctrees / "warned"
        if self.mark.exists():
            (doctrees / ENV_PICKLE_FILENAME).unlink(missing_ok=True)
            self.mark.unlink()

    def emit(self, record: logging.LogRecord) -> None:
        """Remember one warning."""
        warnings_seen.append(record.getMessage())
        self.mark.parent.mkdir(parents=True, exist_ok=True)
        self.mark.touch()


def beside(directory: Path, suffix: str) -> Path:
    """Return the sibling of `directory` that has `suffix` behind its name."""
    return directory.with_name(directory.name + suffix)


def write_beside(app: Sphinx) -> Path:
    """Make Sphinx write beside the output directory; return that directory."""
    final = Path(app.outdir)
    restore(final)
    if final in Path(app.doctreedir).parents:  # Sphinx's default, without -d
        app.doctreedir = type(app.doctreedir)(beside(final, ".doctrees"))
    app.outdir = type(app.outdir)(beside(final, ".in-progress"))
    return final


def take_turn(app: Sphinx) -> None:
    """Wait while another build uses the same directories."""
    lock = FileLock(Path(app.doctreedir).parent / "build.lock")
    app.build_lock = lock  # held until the process ends
    Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        print("waiting for another build of this site", file=sys.stderr)
        lock.acquire()


def restore(final: Path) -> None:
    """Finish what an earlier build began in the moment in which it was killed."""
    old = beside(final, ".old")
    if old.exists() and not final.exists():
        old.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(beside(final, ".new"), ignore_errors=True)


def assets_digest(app: Sphinx) -> str:
    """Return a digest of the files beside the pages that decide what the site looks like."""
    digest = hashlib.sha256()
    for directory in (*app.config.html_static_path, *app.config.templates_path):
        for path in sorted((Path(app.confdir) / directory).rglob("*")):
            if path.is_file():
                digest.update(path.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def end_if_published(app: Sphinx, _builder: object, final: Path) -> None:
    """End a build that would write what is published already; Sphinx would write parts again."""
    published = beside(final, ".published")
    if (
        app.builder.name == "html"
        and final.exists()
        and published.exists()
        and published.read_text("utf-8") == assets_digest(app)
        and not warnings_seen
        and not pages_to_write(app, app.env)
        and not list(app.builder.get_outdated_docs())
    ):
        app.outdir = type(app.outdir)(final)
        print_summary(app, None)
        raise SystemExit(0)
    published.unlink(missing_ok=True)


def publish(app: Sphinx, exception: Exception | None, final: Path) -> None:
    """Replace the output directory, if the build was without failures and warnings."""
    if exception is not None:
        return
    if warnings_seen:
        app.statuscode = 1
    if app.statuscode:
        return
    new, old = beside(final, ".new"), beside(final, ".old")
    try:
        shutil.copytree(app.outdir, new)  # with times, by which Sphinx tells what is out of date
    except OSError as error:  # a full disk, most likely; copytree tells of every file
        first = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        print(f"the site was built but not put in place: {first}", file=sys.stderr)
        shutil.rmtree(new, ignore_errors=True)
        app.statuscode = 1
        return
    with undisturbed():
        if final.exists():
            final.rename(old)
        new.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    beside(final, ".published").write_text(assets_digest(app), "utf-8")
    app.outdir = type(app.outdir)(final)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx before the builder exists."""
    warnings_seen.clear()
    take_turn(app)
    final = write_beside(app)
    logging.getLogger("sphinx").addHandler(WarningCounter(Path(app.doctreedir)))
    # After the failures of the checks, and before anything is written.
    app.connect("write-started", partial(end_if_published, final=final), priority=600)
    # After MyST-NB has added its style sheet, and before the summary names the file to open.
    app.connect("build-finished", partial(publish, final=final), priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
