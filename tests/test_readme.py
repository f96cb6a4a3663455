"""The README's commands do what it says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from conftest import PROJECT, run

FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Return the shell commands in README.md, without the comments behind them."""
    text = (PROJECT / "README.md").read_text("utf-8")
    lines = [line for block in FENCE.findall(text) for line in block.splitlines()]
    return [command for line in lines if (command := line.partition("#")[0].strip())]


def test_there_are_two_commands() -> None:
    assert commands() == ["make html", "make test"]


def test_ci_runs_the_test_command() -> None:
    script = (PROJECT / ".ci" / "run").read_text("utf-8")
    lines = [line for line in script.splitlines() if not line.startswith("#")]
    assert lines[-1] == f"exec {commands()[1]}"
    assert os.access(PROJECT / ".ci" / "run", os.X_OK)


def test_first_command_builds_the_site_in_a_new_clone(tmp_path: Path) -> None:
    clone, home = tmp_path / "Größere Regeln", tmp_path / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", PROJECT, clone], check=True)
    # Where packages come from is the machine's business; all else is that of a new account.
    kept = re.compile(r"PATH|LANG|PIP_|SSL_|REQUESTS_|CURL_|(https?|no|all)_proxy", re.IGNORECASE)
    env = {name: value for name, value in os.environ.items() if kept.match(name)}
    env["HOME"] = str(home)

    built = subprocess.run(
        ["sh", "-c", commands()[0]], cwd=clone, env=env, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (clone / "_build" / "html" / "index.html").exists()
    summary = built.stdout.splitlines()[-1]
    assert summary.endswith(": _build/html/index.html")
    assert re.match(r"\d+ pages, \d+ outputs checked on PyTorch \d", summary)
    assert run("git", "status", "--porcelain", cwd=clone).stdout == ""
