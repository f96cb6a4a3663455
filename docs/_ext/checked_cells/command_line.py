"""Check or accept pages without building the site."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from checked_cells.accept import accepted_text
from checked_cells.compare import difference
from checked_cells.interruption import clean_up_when_terminated
from checked_cells.page import TIMEOUT
from checked_cells.report import summary, write_failures
from checked_cells.run import PageResult, run_pages
from checked_cells.site import load_page
from checked_cells.versions import PROJECT

SOURCE = PROJECT / "docs"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="checked_cells", description=__doc__)
    parser.add_argument("command", choices=("check", "accept"))
    parser.add_argument("pages", nargs="*", type=Path, help="files; all pages if none is named")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="pages run at a time")
    parser.add_argument("--timeout", type=int, default=TIMEOUT, help="seconds a cell may take")
    args = parser.parse_intermixed_args(argv)  # options before pages, or after
    clean_up_when_terminated()
    began = time.monotonic()
    paths = args.pages or sorted(path for path in SOURCE.rglob("*.md") if "_ext" not in path.parts)
    for path in paths:
        if not path.is_file() or SOURCE not in path.resolve().parents:
            print(f"{path}: not a page; name files below docs/", file=sys.stderr)
            return 2
    pages = [load_page(path, SOURCE) for path in paths]
    results = run_pages([page for page in pages if page.runnable], args.jobs, args.timeout)
    failures = [failure for page in pages for failure in page.failures]
    if args.command == "accept":
        failures = [failure for failure in failures if not failure.acceptable]
        refused = {failure.path for failure in failures}
        for result in results:
            if result.page.path not in refused:
                _accept(result)
    if failures:
        write_failures(failures, sys.stderr)
        return 1
    checks = [check for result in results for check in result.checks]
    print(summary(len(pages), checks, time.monotonic() - began))
    return 0


def _accept(result: PageResult) -> None:
    """Write a page anew if its expectations changed, and show the difference to review."""
    text = accepted_text(result)
    if text == result.page.text:
        return
    path = PROJECT / result.page.path
    scratch = path.with_name(path.name + ".new")
    scratch.write_text(text, "utf-8", newline="\n")
    scratch.replace(path)
    print(result.page.path)
    print(difference(result.page.text, text))
