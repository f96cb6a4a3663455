"""What tests share: scratch copies of the project, and the project's own build command."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

# No test depends on how fast the machine is.
settings.register_profile(
    "any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("any speed")

PROJECT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT / "docs" / "_ext"), str(PROJECT / "tools")]

from browsing import OpenTab, Tab, new_tab  # noqa: E402 (the path is set above)
from checked_cells.page import Page, read_file  # noqa: E402
from first_view import chromium, served  # noqa: E402
from made_pages import FRONT_MATTER, INDEX  # noqa: E402
from playwright.sync_api import Browser  # noqa: E402

LONG_FILES = ("sabotage", "browser", "real_pages", "readme", "rebuild", "same_everywhere")
"""They take minutes, so they begin first, and short ones fill what is left at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of long files first."""
    names = [f"test_{name}.py" for name in LONG_FILES]
    items.sort(key=lambda item: [*names, item.path.name].index(item.path.name))


def page(body: str, title: str = "A page") -> str:
    """Return the source of a page in the right form, with `body` below its short answer."""
    return f"{FRONT_MATTER}\n# {title}\n\nThe short answer.\n\n{body}"


def cell(source: str, *expectations: str, tags: str = "") -> str:
    """Return a cell, with the given ``{expect}`` blocks under it."""
    option = f":tags: [{tags}]\n" if tags else ""
    fences = "".join(f"{text.rstrip(chr(10))}\n" for text in expectations)
    return f"```{{code-cell}} python\n{option}{source}\n```\n{fences}\n"


def expect(text: str, kind: str = "") -> str:
    """Return an ``{expect}`` block."""
    return f"```{{expect}}{' ' + kind if kind else ''}\n{text}\n```\n"


PROGRESS = r"^\[\d+/\d+\] docs/\S+ [\d.]+ s\n"


@dataclass
class Result:
    """How a command ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """All that was printed, but for the progress of pages."""
        return re.sub(PROGRESS, "", self.stdout + self.stderr, flags=re.MULTILINE)


def run(
    *command: str | Path, cwd: Path, env: dict[str, str] | None = None, stdin: str | None = None
) -> Result:
    """Run a command to its end."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def make_command(target: str) -> list[str]:
    """Return the command that `make TARGET` runs for Sphinx, with this very interpreter."""
    lines = subprocess.run(
        ["make", "-n", target], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    command = shlex.split(next(line for line in lines if " -m sphinx " in line))
    return [sys.executable, *command[1:]]


def make_environment(env: dict[str, str] | None = None) -> dict[str, str]:
    """Return the environment in which `make` runs its commands, when it is itself run in `env`."""
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    printed = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f", "-", "environment"],
        input=f"environment:\n\t@{shlex.join([sys.executable, '-I', '-c', show])}\n",
        cwd=PROJECT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return json.loads(printed)


@dataclass
class Project:
    """A scratch copy of the project, with pages of its own or with the real ones."""

    root: Path
    python: str = sys.executable

    @property
    def site(self) -> Path:
        """Where a good build puts its HTML."""
        return self.root / "_build" / "html"

    def write(self, name: str, text: str) -> Path:
        """Write a page below docs/."""
        path = self.root / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def build_command(self, *options: str, target: str = "html") -> list[str]:
        """Return what `make html` runs; new permalinks are recorded if there is no manifest yet."""
        record = [] if (self.root / "docs" / "permalinks.txt").exists() else ["1"]
        options = (*options, *(f"-Dpermalinks_record={value}" for value in record))
        return [self.python, *make_command(target)[1:], *options]

    def build(
        self, *options: str, env: dict[str, str] | None = None, target: str = "html"
    ) -> Result:
        """Run what `make html` runs, to its end."""
        command = self.build_command(*options, target=target)
        return run(*command, cwd=self.root, env=make_environment(env))

    def files(self) -> dict[str, bytes]:
        """Return the bytes of every file of the site, by its path within the site."""
        return {
            path.relative_to(self.site).as_posix(): path.read_bytes()
            for path in sorted(self.site.rglob("*"))
            if path.is_file()
        }

    def check(
        self, *pages: str, command: str = "check", env: dict[str, str] | None = None
    ) -> Result:
        """Run what `make check PAGES=…` or `make accept PAGES=…` runs."""
        package = "docs/_ext/checked_cells"
        return run(sys.executable, "-I", package, command, *pages, cwd=self.root, env=env)


def copy_project(root: Path, *, pages: bool) -> Project:
    """Copy the project, with its real pages or with an index alone."""
    root.mkdir(parents=True, exist_ok=True)
    for name in ("conf.py", "requirements.txt"):
        shutil.copy2(PROJECT / name, root / name)
    if pages:
        shutil.copytree(PROJECT / "docs", root / "docs")
        return Project(root)
    for name in ("_ext", "_lib", "_templates", "_static"):
        shutil.copytree(PROJECT / "docs" / name, root / "docs" / name)
    project = Project(root)
    project.write("index.md", INDEX)
    project.write("how-this-site-is-checked.md", "# How\n\nNot here.\n")
    project.write("pages-without-cells.txt", "index: a list\nhow-this-site-is-checked: a stub\n")
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A copy of the project without its pages."""
    return copy_project(tmp_path / "project", pages=False)


@pytest.fixture
def whole_project(tmp_path: Path) -> Project:
    """A copy of the project with its pages."""
    return copy_project(tmp_path / "project", pages=True)


DOCNAMES = sorted(
    path.relative_to(PROJECT / "docs").with_suffix("").as_posix()
    for path in (PROJECT / "docs").rglob("*.md")
)
"""The project's own pages, by Sphinx's names."""


def source_page(docname: str) -> Page:
    """Return one of the project's own pages, taken apart."""
    path = PROJECT / "docs" / f"{docname}.md"
    return read_file(path, f"docs/{docname}.md", docname)


@pytest.fixture(scope="session")
def built_project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Project:
    """A copy of the project with its pages, built once for all tests that only look at the site.

    Built with one process, so that a comparison with a site that two have built shows a difference.
    """
    place = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        place = place.parent  # which the processes of pytest-xdist share
    project = Project(place / "built" / "project")
    with FileLock(place / "built.lock"):
        if not project.site.exists():
            shutil.rmtree(project.root, ignore_errors=True)  # where another process failed
            copy_project(project.root, pages=True)
            result = project.build("-j1", env={"NO_COLOR": "1"})
            assert result.status == 0, result.output
            (project.root.parent / "output").write_text(result.output, "utf-8")
    return project


@pytest.fixture(scope="session")
def build_output(built_project: Project) -> str:
    """What that build printed."""
    return (built_project.root.parent / "output").read_text("utf-8")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with chromium() as browser:
        if browser is None:
            message = "no Chromium on PATH and none of playwright's; `make test` installs one"
            pytest.fail(message, pytrace=False)
        yield browser


@pytest.fixture(scope="module")
def root(built_project: Project) -> Iterator[str]:
    """The address at which the built site is served."""
    with served(built_project.site) as address:
        yield address


@pytest.fixture
def open_tab(browser: Browser, root: str) -> Iterator[OpenTab]:
    """Open a tab of a fresh browser profile."""
    tabs = []

    def open_tab(*options: object, **named: object) -> Tab:
        tabs.append(new_tab(browser, root, *options, **named))
        return tabs[-1]

    yield open_tab
    for tab in tabs:
        tab.page.context.close()
