"""Failures are coloured for a person at a terminal who did not ask for no colour."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from conftest import Project, cell, copy_project, expect, page


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_project(tmp_path_factory.mktemp("colour") / "project", pages=False)
    project.write("x.md", page(cell("print(1)", expect("2"))))
    return project


def at_terminal(project: Project, **more: str) -> str:
    """Return what checking the page shows at a terminal."""
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | more
    ours, theirs = pty.openpty()
    command = [sys.executable, "-I", "docs/_ext/checked_cells", "check", "docs/x.md"]
    subprocess.run(command, cwd=project.root, env=env, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_no_colour_without_a_terminal(failing: Project) -> None:
    result = failing.check("docs/x.md")
    assert "docs/x.md:16: expected another output" in result.stderr
    assert "\x1b" not in result.output


def test_colour_at_a_terminal(failing: Project) -> None:
    shown = at_terminal(failing)
    assert "\x1b[1mdocs/x.md:16:\x1b[0m expected another output" in shown
    assert "\x1b[31m-2\x1b[0m" in shown
    assert "\x1b[32m+1\x1b[0m" in shown


@pytest.mark.parametrize("value", ["1", "yes"])
def test_no_color_is_respected(failing: Project, value: str) -> None:
    shown = at_terminal(failing, NO_COLOR=value)
    assert "docs/x.md:16: expected another output" in shown
    assert "\x1b" not in shown
