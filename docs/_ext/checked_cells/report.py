"""Tell a person, and a program, what the checks found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from checked_cells.compare import Check
from checked_cells.page import Failure
from checked_cells.versions import python_version, torch_git_revision, torch_version

RED, GREEN, BOLD, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"


def write_failures(failures: Iterable[Failure], stream: TextIO) -> None:
    """Write all failures by page and line, and a last line that counts them."""
    failures = sorted(set(failures))
    colour = stream.isatty() and "NO_COLOR" not in os.environ
    for failure in failures:
        place = f"{failure.path}:{failure.line}:"
        stream.write(f"{BOLD}{place}{PLAIN}" if colour else place)
        stream.write(f" {failure.message}\n")
        if failure.detail:
            stream.write(_coloured(failure.detail) if colour else failure.detail)
            stream.write("\n")
    pages = len({failure.path for failure in failures})
    stream.write(
        f"{_count(len(failures), 'failure')} in {_count(pages, 'page')} "
        f"on PyTorch {torch_version()}, Python {python_version()}\n"
    )


def _coloured(diff: str) -> str:
    colours = {"-": RED, "+": GREEN}
    return "\n".join(
        f"{colours[line[0]]}{line}{PLAIN}" if line[:1] in colours else line
        for line in diff.split("\n")
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def outputs_checked(checks: Iterable[Check]) -> int:
    """Return how many of the checks compared something that a reader sees."""
    return sum(check.kind != "nothing" for check in checks)


def summary(pages: int, checks: Iterable[Check], seconds: float) -> str:
    """Return the line that ends a build without failures."""
    outputs = outputs_checked(checks)
    return (
        f"{_count(pages, 'page')}, {_count(outputs, 'output')} checked "
        f"on PyTorch {torch_version()}, {seconds:.1f} s"
    )


def write_checks(path: Path, checks: dict[str, list[Check]]) -> None:
    """Write checks.json; its form is in checks.schema.json.

    Args:
        checks: by page, the path as a person would type it.
    """
    records = [{"page": page, **asdict(check)} for page in sorted(checks) for check in checks[page]]
    content = {
        "pytorch": torch_version(),
        "pytorch_git": torch_git_revision(),
        "python": python_version(),
        "checks": records,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    scratch.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    scratch.replace(path)
