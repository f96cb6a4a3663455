"""An interrupted build leaves the last good site, no process, and nothing that hinders the next."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from conftest import Project, cell, copy_project, page

STUBS = 8
"""Pages without cells, so that Sphinx has enough pages to write them with several processes."""

PATIENCE = 60
"""Seconds after which what should have happened is taken not to happen."""

BLOCKING = """\
import subprocess, sys, time
from pathlib import Path

place = Path({place!r})
if (place / "block").exists():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", str(place)])
    (place / {name!r}).touch()
    while (place / "block").exists():
        time.sleep(0.1)
    child.kill()
    child.wait();"""

INTERRUPT_AT = """

import signal, sys

def interrupt(event, args):
    if {condition} and not Path({done!r}).exists():
        Path({done!r}).touch()
        {action}

sys.addaudithook(interrupt)
"""
"""Behind conf.py: a signal in the very moment of a step that Python reports to audit hooks."""


class Place:
    """A directory of its own for a project and for the temporary files of its builds.

    Every process of a build has its path in the command line or as working directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = Project(root / "project")
        self.temporary = root / "tmp"
        self.temporary.mkdir(exist_ok=True)

    @property
    def env(self) -> dict[str, str]:
        """The environment of its builds."""
        return {**os.environ, "TMPDIR": str(self.temporary)}

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start a build as a terminal does, in a process group of its own."""
        return subprocess.Popen(
            self.project.build_command("-j2", *options),
            cwd=self.project.root,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def processes(self) -> list[psutil.Process]:
        """Return the processes of its builds that live."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            texts = [process.cwd(), *process.cmdline()]
        except psutil.Error:
            return False
        return any(str(self.root) in text for text in texts)

    def block(self) -> None:
        """Let cells sleep from now on."""
        (self.root / "block").touch()

    def unblock(self) -> None:
        """Let cells end."""
        (self.root / "block").unlink(missing_ok=True)


def new_place() -> Place:
    # A short path: sockets have room for some hundred characters.
    return Place(Path(tempfile.mkdtemp(prefix="place-")).resolve())


def remove(place: Place) -> None:
    for process in place.processes():
        process.kill()
    shutil.rmtree(place.root)


@pytest.fixture(scope="module", autouse=True)
def ctrl_c_is_heard() -> None:
    """Hear SIGINT also where the tests run in the background of a shell, which makes them deaf."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def built() -> Iterator[Place]:
    """A place with a good site."""
    place = new_place()
    project = copy_project(place.project.root, pages=False)
    names = [f"stub-{number}" for number in range(STUBS)]
    for name in names:
        project.write(f"{name}.md", f"# {name}\n\nBefore.\n")
    with open(project.root / "docs" / "pages-without-cells.txt", "a", encoding="utf-8") as file:
        file.writelines(f"{name}: a stub\n" for name in names)
    project.write("one.md", page("Nothing yet.\n"))
    with open(project.root / "docs" / "pages-without-cells.txt", "a", encoding="utf-8") as file:
        file.write("one: it gets cells later\ntwo: it too\n")
    project.write("two.md", page("Nothing yet.\n", "Another page"))
    result = project.build()
    assert result.status == 0, result.output
    yield place
    remove(place)


@pytest.fixture
def place(built: Place) -> Iterator[Place]:
    """A copy of that place, in which the next build has new things to publish."""
    place = new_place()
    shutil.copytree(built.project.root, place.project.root)
    docs = place.project.root / "docs"
    without = docs / "pages-without-cells.txt"
    lines = without.read_text("utf-8").splitlines(keepends=True)
    without.write_text("".join(line for line in lines if ": it" not in line), "utf-8")
    for name in ("one", "two"):
        source = BLOCKING.format(place=str(place.root), name=name)
        place.project.write(f"{name}.md", page(cell(source), f"Page {name}"))
    for stub in docs.glob("stub-*.md"):
        stub.write_text(stub.read_text("utf-8").replace("Before", "After"), "utf-8")
    yield place
    remove(place)


def wait_until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.05)


def both_cells_sleep(place: Place) -> bool:
    return all((place.root / name).exists() for name in ("one", "two"))


def kernels(place: Place) -> list[psutil.Process]:
    found = []
    for process in place.processes():
        try:
            if any("page_kernel" in part for part in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def append_to_conf(place: Place, condition: str, action: str) -> None:
    text = INTERRUPT_AT.format(
        condition=condition, action=action, done=str(place.root / "interrupted")
    )
    with open(place.project.root / "conf.py", "a", encoding="utf-8") as file:
        file.write(text)


def shows(place: Place, word: str) -> bool:
    """Tell whether every page of the site is of the build that says `word`."""
    files = place.project.files()
    stubs = [files[f"stub-{number}.html"].decode() for number in range(STUBS)]
    return all(f"<p>{word}.</p>" in stub for stub in stubs)


def assert_tidy(place: Place, build: subprocess.Popen[str], *, rooms_removed: bool = True) -> None:
    """Check what an interrupted build said and left."""
    output, _ = build.communicate(timeout=PATIENCE)
    assert build.returncode != 0
    assert "Traceback" not in output
    assert "Error" not in output
    wait_until(lambda: not place.processes(), f"end of {place.processes()}")
    if rooms_removed:
        assert list(place.temporary.iterdir()) == []


def assert_next_build_works(place: Place) -> None:
    place.unblock()
    build = place.start()
    output, _ = build.communicate(timeout=2 * PATIENCE)
    assert build.returncode == 0, output
    assert shows(place, "After")
    leftovers = [path.name for path in (place.project.root / "_build").iterdir()]
    assert not {"html.old", "html.new"} & set(leftovers)


def test_interrupted_while_kernels_start(place: Place) -> None:
    before = place.project.files()
    build = place.start()
    wait_until(lambda: kernels(place), "a kernel")
    os.killpg(build.pid, signal.SIGINT)
    assert_tidy(place, build)
    assert place.project.files() == before
    assert_next_build_works(place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupted_while_cells_sleep(place: Place, number: signal.Signals) -> None:
    before = place.project.files()
    place.block()
    build = place.start()
    wait_until(lambda: both_cells_sleep(place), "cells that sleep")
    if number == signal.SIGINT:
        os.killpg(build.pid, number)  # as Ctrl-C does
    else:
        build.send_signal(number)
    assert_tidy(place, build, rooms_removed=number != signal.SIGKILL)
    assert place.project.files() == before
    assert_next_build_works(place)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_html_is_written(place: Place, number: signal.Signals) -> None:
    before = place.project.files()
    # Any of the writing processes may be the one; Ctrl-C reaches them all, the other only Sphinx.
    send = "os.killpg" if number == signal.SIGINT else "os.kill"
    append_to_conf(
        place,
        "event == 'open' and str(args[0]).endswith('stub-5.html') and 'w' in str(args[1])",
        f"{send}(os.getsid(0), signal.{number.name})",
    )
    build = place.start()
    assert_tidy(place, build)
    assert (place.root / "interrupted").exists()
    assert place.project.files() == before
    assert_next_build_works(place)


RENAMED = "event == 'os.rename' and str(args[0]).endswith({0!r}) and str(args[1]).endswith({1!r})"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(
    "step", [("/html", "/html.old"), ("/html.new", "/html")], ids=["before", "between"]
)
def test_interrupted_while_publishing(
    place: Place, step: tuple[str, str], number: signal.Signals
) -> None:
    append_to_conf(place, RENAMED.format(*step), f"os.kill(os.getpid(), signal.{number.name})")
    build = place.start()
    assert_tidy(place, build)
    assert (place.root / "interrupted").exists()
    if number == signal.SIGKILL and step[0] == "/html.new":
        # Only in this moment there is no site; the next build, even one that fails, restores it.
        assert not place.project.site.exists()
        index = place.project.root / "docs" / "index.md"
        source = index.read_text("utf-8")
        index.write_text(source + "\n[nowhere](#nowhere)\n", "utf-8")
        failing = place.start()
        failing.communicate(timeout=PATIENCE)
        assert failing.returncode != 0
        index.write_text(source, "utf-8")
    assert shows(place, "Before") or shows(place, "After")
    assert_next_build_works(place)


def test_two_builds_at_once(place: Place) -> None:
    place.block()
    first = place.start()
    wait_until(lambda: both_cells_sleep(place), "cells that sleep")
    second = place.start()
    line = second.stdout.readline()
    assert "waiting for another build" in line
    place.unblock()
    for build in (first, second):
        output, _ = build.communicate(timeout=2 * PATIENCE)
        assert build.returncode == 0, output
    assert shows(place, "After")
    assert list(place.temporary.iterdir()) == []


def test_a_site_that_cannot_be_put_in_place(place: Place) -> None:
    before = place.project.files()
    in_the_way = place.project.root / "_build" / "html.new"
    in_the_way.touch()
    build = place.start()
    output, _ = build.communicate(timeout=2 * PATIENCE)
    assert build.returncode != 0
    assert "the site was built but not put in place: [Errno 17] File exists" in output
    assert "Traceback" not in output
    assert place.project.files() == before
    in_the_way.unlink()
    assert_next_build_works(place)
