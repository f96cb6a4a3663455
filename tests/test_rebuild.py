"""A build executes what has to be executed, once, and leaves the site that a clean build makes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, cell, copy_project, expect, page

SITE_PACKAGES = Path(importlib.util.find_spec("sphinx").origin).parents[1]


class Executions:
    """Counts how often pages ran: each page adds a line to a file outside of its clean room."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.forget()

    def forget(self) -> None:
        """Count from zero."""
        self.log.write_text("", "utf-8")

    def cell(self, name: str) -> str:
        """Return a cell that counts one execution of the page `name`."""
        return cell(f"with open({str(self.log)!r}, 'a') as log:\n    print({name!r}, file=log)")

    def since(self) -> Counter[str]:
        """Return the count of each page's executions since this was asked last."""
        counted = Counter(self.log.read_text("utf-8").split())
        self.forget()
        return counted


@pytest.fixture
def executions(tmp_path: Path) -> Executions:
    return Executions(tmp_path / "executions")


@pytest.fixture
def counted(project: Project, executions: Executions) -> Project:
    """A project with two pages, built."""
    for name in ("one", "two"):
        project.write(f"{name}.md", page(executions.cell(name), f"Page {name}"))
    good(project)
    assert executions.since() == {"one": 1, "two": 1}
    return project


def good(project: Project, target: str = "html") -> None:
    result = project.build(target=target)
    assert result.status == 0, result.output


def test_only_changed_and_failed_pages_run_again(counted: Project, executions: Executions) -> None:
    good(counted)
    assert executions.since() == {}

    counted.write("two.md", page(executions.cell("two") + "Another word.\n", "Page two"))
    good(counted)
    assert executions.since() == {"two": 1}

    wrong = page(executions.cell("two") + cell("print(1)", expect("2")), "Page two")
    counted.write("two.md", wrong)
    for _ in range(2):
        assert counted.build().status == 1
        assert executions.since() == {"two": 1}

    counted.write("two.md", wrong.replace("print(1)", "print(2)"))
    good(counted)
    assert executions.since() == {"two": 1}
    good(counted)
    assert executions.since() == {}


def overlay_environment(root: Path) -> tuple[str, Path]:
    """Make a virtual environment whose packages are links to the installed ones.

    Returns:
        its interpreter and its site-packages directory.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root], check=True)
    packages = next((root / "lib").glob("python*/site-packages"))
    for path in SITE_PACKAGES.iterdir():
        if not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    return str(root / "bin" / "python"), packages


def own_copy(path: Path) -> Path:
    """Replace a link to a directory by a directory of links, so that a file can be changed."""
    target = path.resolve()
    path.unlink()
    path.mkdir()
    for child in target.iterdir():
        (path / child.name).symlink_to(child)
    return path


def replace_in_copy(path: Path, old: str, new: str) -> None:
    """Change a linked file without touching what the link leads to."""
    text = path.read_text("utf-8")
    assert old in text
    path.unlink()
    path.write_text(text.replace(old, new), "utf-8")


def install_other_torch_version(project: Project, packages: Path) -> None:
    (info,) = packages.glob("torch-*.dist-info")
    version = info.name.removeprefix("torch-").removesuffix(".dist-info")
    own_copy(info)
    replace_in_copy(info / "METADATA", f"\nVersion: {version}\n", "\nVersion: 99.1.0\n")
    info.rename(packages / "torch-99.1.0.dist-info")


def install_other_torch_revision(project: Project, packages: Path) -> None:
    version = own_copy(packages / "torch") / "version.py"
    revision = version.read_text("utf-8").split("git_version = '")[1].split("'")[0]
    replace_in_copy(version, revision, "0" * 40)


def install_another_package(project: Project, packages: Path) -> None:
    info = packages / "surely_unrelated-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: surely-unrelated\nVersion: 1.0\n", "utf-8")


def change_requirements(project: Project, packages: Path) -> None:
    with open(project.root / "requirements.txt", "a", encoding="utf-8") as file:
        file.write("# Another line.\n")


def change_checker(project: Project, packages: Path) -> None:
    path = project.root / "docs" / "_ext" / "page_kernel.py"
    path.write_text(path.read_text("utf-8") + "\n# Another line.\n", "utf-8")


def change_modules_for_pages(project: Project, packages: Path) -> None:
    path = project.root / "docs" / "_lib" / "drawing.py"
    path.write_text(path.read_text("utf-8") + "\n# Another line.\n", "utf-8")


CHANGES: list[Callable[[Project, Path], None]] = [
    install_other_torch_version,
    install_other_torch_revision,
    install_another_package,
    change_requirements,
    change_checker,
    change_modules_for_pages,
]


def test_all_pages_run_once_after_what_they_depend_on_changed(
    tmp_path: Path, counted: Project, executions: Executions
) -> None:
    counted.python, packages = overlay_environment(tmp_path / "venv")
    good(counted)
    executions.forget()
    for change in CHANGES:
        change(counted, packages)
        good(counted)
        assert executions.since() == {"one": 1, "two": 1}, change.__name__
    good(counted)
    assert executions.since() == {}


def test_html_after_check_shows_what_check_executed(
    tmp_path: Path, counted: Project, executions: Executions
) -> None:
    counted.python, packages = overlay_environment(tmp_path / "venv")
    # The other page keeps its text, so that only its note on PyTorch's version is out of date.
    source = executions.cell("two") + cell("print('an output')", expect("an output"))
    counted.write("two.md", page(source, "Page two"))
    shows_version = cell(
        "import importlib.metadata as m\nprint('on', m.version('torch')[:2])", expect("on 2.")
    )
    counted.write("one.md", page(executions.cell("one") + shows_version, "Page one"))
    good(counted)

    install_other_torch_version(counted, packages)
    assert counted.build(target="check").status == 1  # it shows 99
    counted.write(
        "one.md",
        page(executions.cell("one") + shows_version.replace("on 2.", "on 99"), "Page one"),
    )
    good(counted, target="check")
    executions.forget()
    good(counted)
    assert executions.since() == {}
    assert "on 99" in (counted.site / "one.html").read_text("utf-8")
    assert "PyTorch 99.1.0" in (counted.site / "two.html").read_text("utf-8")

    files = counted.files()
    shutil.rmtree(counted.root / "_build")
    good(counted)
    assert files == counted.files()


def test_check_alone_then_html_executes_nothing_and_writes_everything(
    counted: Project, executions: Executions
) -> None:
    files = counted.files()
    shutil.rmtree(counted.root / "_build")
    good(counted, target="check")
    assert not counted.site.exists()
    assert executions.since() == {"one": 1, "two": 1}
    good(counted)
    assert executions.since() == {}
    assert files == counted.files()


def test_navigation_is_that_of_a_clean_build(tmp_path: Path, project: Project) -> None:
    for name in ("one", "two", "three", "four"):
        body = cell(f"print({name!r})", expect(name)) + f"({name}-why)=\n## Why {name}\n\nSo.\n"
        project.write(f"{name}.md", page(body, f"Page {name}"))
    project.write("section/index.md", "# A section\n\nA list.\n\n```{toctree}\n:glob:\n\n*\n```\n")
    project.write("section/five.md", page(cell("print(5)", expect("5")), "Page five"))
    project.write("index.md", (project.root / "docs/index.md").read_text() + SECTION)
    listed = project.root / "docs" / "pages-without-cells.txt"
    listed.write_text(listed.read_text("utf-8") + "section/index: a list\n", "utf-8")
    good(project)

    docs = project.root / "docs"
    (docs / "one.md").unlink()
    (docs / "two.md").rename(docs / "second.md")
    replace_in(docs / "second.md", "(two-why)=", "(second-why)=")
    # The manifest of permalinks forbids what this test does.
    (docs / "permalinks.txt").unlink()
    good(project)
    assert_like_clean_build(project, tmp_path / "removed and renamed")

    replace_in(docs / "three.md", "# Page three", "# Another title")
    good(project)
    assert_like_clean_build(project, tmp_path / "title")

    replace_in(docs / "section" / "five.md", "# Page five", "# Another fifth title")
    good(project, target="check")
    good(project)
    assert_like_clean_build(project, tmp_path / "title of a deeper page, seen by check first")

    project.write("six.md", page(cell("print(6)", expect("6")), "Page six"))
    (docs / "permalinks.txt").unlink()
    good(project, target="check")
    good(project)
    assert_like_clean_build(project, tmp_path / "page added, seen by check first")


def test_a_page_that_only_ever_failed_can_be_removed(project: Project, tmp_path: Path) -> None:
    """A list of pages by pattern names it, though it was never read."""
    project.write("good.md", page(cell("print(1)", expect("1")), "Good"))
    project.write("bad.md", page(cell("print(1)", expect("2")), "Bad"))
    assert project.build().status == 1
    (project.root / "docs" / "bad.md").unlink()
    good(project)
    assert_like_clean_build(project, tmp_path / "clean")


SECTION = "\n```{toctree}\nsection/index\n```\n"


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def assert_like_clean_build(project: Project, root: Path) -> None:
    """Compare the site with one that is built from the same sources in another place."""
    clean = copy_project(root, pages=False)
    shutil.rmtree(clean.root / "docs")
    shutil.copytree(project.root / "docs", clean.root / "docs")
    good(clean)
    assert project.files() == clean.files()


@pytest.mark.parametrize(
    ("file", "more"),
    [("_templates/checked.html", "<p>More.</p>\n"), ("_static/site.css", "body { top: 7px; }\n")],
)
def test_templates_and_styles_are_those_of_a_clean_build(
    project: Project, tmp_path: Path, file: str, more: str
) -> None:
    project.write("one.md", page(cell("print(1)", expect("1"))))
    good(project)
    with open(project.root / "docs" / file, "a", encoding="utf-8") as changed:
        changed.write(more)
    good(project)
    assert any(b"More." in text or b"top:7px" in text for text in project.files().values())
    assert_like_clean_build(project, tmp_path / "clean")


UNKNOWN_TARGET = "See [this](#no-such-label).\n"


@pytest.mark.parametrize("warnings_are_errors", [True, False], ids=["-W", "without -W"])
def test_failed_build_leaves_the_site(project: Project, warnings_are_errors: bool) -> None:
    def build() -> int:
        command = project.build_command()
        if not warnings_are_errors:
            command.remove("-W")
        return subprocess.run(command, cwd=project.root, capture_output=True).returncode

    source = page(cell("print('first')", expect("first")))
    project.write("one.md", source)
    assert build() == 0
    before = project.files()
    identity = os.stat(project.site).st_ino

    for broken in (
        source.replace("print('first')", "print('second')"),
        source + UNKNOWN_TARGET,
        source.replace("first", "second") + UNKNOWN_TARGET,
    ):
        project.write("one.md", broken)
        for _ in range(2):  # the second build has nothing new to read
            assert build() != 0
            assert project.files() == before
            assert os.stat(project.site).st_ino == identity

    project.write("one.md", source.replace("first", "third"))
    assert build() == 0
    assert "third" in (project.site / "one.html").read_text("utf-8")
    assert project.files().keys() == before.keys()
