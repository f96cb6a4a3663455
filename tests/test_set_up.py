"""Real runs of tools/set_up.py in folders of their own.

They install packages of a few bytes, made here, from a folder: neither the network nor the
environment that runs the tests is touched. The tests of repair share one folder, since making an
environment takes seconds; each damages it in one way and shows that the next run makes it whole.
"""

import ast
import base64
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Seconds until a command counts as hanging: far more than any takes, even on a busy machine.
PATIENCE = 300
SET_UP = [sys.executable, "tools/set_up.py"]
FRESH = """Making .venv with Python {}.{} …
Installing PyTorch (CPU build) …
Installing requirements.txt …
""".format(*sys.version_info)

# Builds the package `slow`, but only once it is let go: time to kill whoever asked for it.
SLOW_BACKEND = """
import os, pathlib, sys, time, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    parent = os.getppid()
    pathlib.Path(os.environ["SLOW_STARTED"]).touch()
    while not os.path.exists(os.environ["SLOW_RELEASE"]):
        time.sleep(0.05)
        if os.getppid() != parent:
            sys.exit("pip is gone")
    name = "slow-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        info = "slow-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: slow\\nVersion: 1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


def write_wheel(folder: Path, name: str, version: str) -> None:
    """Write a package that holds nothing but its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            record += f"{path},sha256={digest.decode().rstrip('=')},{len(text)}\n"
            wheel.writestr(path, text)
        wheel.writestr(f"{info}/RECORD", record)


def write_slow_sdist(folder: Path) -> None:
    """Write a source package whose build waits to be let go."""
    system = '[build-system]\nrequires = []\nbuild-backend = "slow_build"\nbackend-path = ["."]\n'
    metadata = "Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n"
    files = {"pyproject.toml": system, "slow_build.py": SLOW_BACKEND, "PKG-INFO": metadata}
    with tarfile.open(folder / "slow-1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"slow-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of small packages."""
    folder = tmp_path_factory.mktemp("packages")
    for name, version in [
        ("torch", "2.13.0"),
        ("torch", "2.13.0+cpu"),
        ("site_tool", "1.0"),
        ("site_tool", "2.0"),
        ("test_tool", "1.0"),
    ]:
        write_wheel(folder, name, version)
    write_slow_sdist(folder)
    return folder


@pytest.fixture(scope="module")
def environment(packages: Path) -> dict[str, str]:
    """Return an environment in which pip finds those packages and no others."""
    ours = ("PIP_", "PYTHON", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(packages),
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INDEX": "1",
        "SLOW_STARTED": str(packages / "started"),
        "SLOW_RELEASE": str(packages / "release"),
    }


class Repository:
    """A folder with the set-up of this repository and requirements of its own."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """Lay the files out as in a fresh clone."""
        self.folder = folder
        self.environment = environment
        (folder / "tools").mkdir(parents=True)
        (folder / "tests").mkdir()
        shutil.copy(ROOT / "Makefile", folder)
        shutil.copy(ROOT / "tools" / "set_up.py", folder / "tools")
        self.require()

    def require(self, *requirements: str) -> None:
        """Write both requirements files."""
        lines = ["torch==2.13.0", *(requirements or ["site_tool==1.0"])]
        (self.folder / "requirements.txt").write_text("\n".join(lines) + "\n")
        (self.folder / "tests" / "requirements.txt").write_text("test_tool==1.0\n")

    def start(self, *command: str, **environment: str) -> "subprocess.Popen[str]":
        """Start a command in a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
            # A shell's background job ignores Ctrl-C, and would hand that down to the command.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, *command: str, **environment: str) -> tuple[int, str]:
        """Run a command to its end; return its status and all it printed."""
        process = self.start(*command, **environment)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output

    def make_whole(self) -> None:
        """Have a complete environment with the usual requirements, whatever was there before."""
        self.require()
        status, output = self.run(*SET_UP)
        assert status == 0, output

    def installed(self) -> dict[str, str]:
        """Return the versions of what is installed, as .venv's own Python sees them."""
        code = (
            "import importlib.metadata as m; [print(d.name, d.version) for d in m.distributions()]"
        )
        lines = subprocess.check_output([self.folder / ".venv/bin/python", "-c", code], text=True)
        versions = dict(line.split() for line in lines.splitlines())
        return {name: v for name, v in versions.items() if name not in ("pip", "setuptools")}


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> Iterator[Repository]:
    """Return the folder that the tests of repair share; its name is a hard one."""
    yield Repository(tmp_path_factory.mktemp("Größe 1, 複製 'of' it"), environment)


@pytest.fixture
def repository(shared: Repository) -> Repository:
    """Return the shared folder, made whole."""
    shared.make_whole()
    return shared


@pytest.fixture
def slow(shared: Repository) -> Repository:
    """Return the shared folder, in whatever state, requiring a package that takes its time."""
    for name in ("SLOW_STARTED", "SLOW_RELEASE"):
        Path(shared.environment[name]).unlink(missing_ok=True)
    shared.require("slow==1.0")
    return shared


@pytest.fixture
def clone(tmp_path: Path, environment: dict[str, str]) -> Repository:
    """Return a folder in which nothing was set up yet."""
    return Repository(tmp_path / "clone", environment)


def wait_for_slow(repository: Repository) -> None:
    """Wait until pip builds the package `slow`."""
    deadline = time.monotonic() + PATIENCE
    while not os.path.exists(repository.environment["SLOW_STARTED"]):
        assert time.monotonic() < deadline, "pip never came to the package that was to be slow"
        time.sleep(0.05)


WHOLE = {"torch": "2.13.0+cpu", "site_tool": "1.0"}


def test_fresh_clone_then_nothing_to_do(shared: Repository) -> None:
    assert shared.run("make", "set-up", PYTHON=sys.executable) == (0, FRESH)
    assert shared.installed() == WHOLE
    # Without packages to find, any call of pip would fail: this is also what being offline means.
    assert shared.run("make", "set-up", PIP_FIND_LINKS="") == (0, "")
    assert shared.run(*SET_UP, PIP_FIND_LINKS="") == (0, "")


def test_changed_requirements_are_installed_into_the_same_environment(
    repository: Repository,
) -> None:
    repository.require("site_tool==2.0")
    status, output = repository.run(*SET_UP)
    assert (status, output) == (0, FRESH.split("\n", 1)[1])
    assert repository.installed() == WHOLE | {"site_tool": "2.0"}


def test_tests_requirements_have_a_stamp_of_their_own(repository: Repository) -> None:
    extra = "Installing tests/requirements.txt …\n"
    assert repository.run(*SET_UP, "--tests") == (0, extra)
    assert repository.run(*SET_UP, "--tests", PIP_FIND_LINKS="") == (0, "")
    assert repository.installed() == WHOLE | {"test_tool": "1.0"}
    repository.require("site_tool==2.0")
    status, output = repository.run(*SET_UP, "--tests")
    assert status == 0
    assert output.endswith(extra)


def test_requirements_that_cannot_be_met_are_a_readable_failure(repository: Repository) -> None:
    repository.require("site_tool==3.0")
    status, output = repository.run(*SET_UP)
    assert status == 1
    assert "No matching distribution found for site_tool==3.0" in output
    assert "Traceback" not in output


def test_control_c_says_one_line(slow: Repository) -> None:
    process = slow.start(*SET_UP)
    wait_for_slow(slow)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert output.splitlines()[-1] == "Interrupted. The next run puts things right."
    assert "Traceback" not in output


def test_power_cut_while_installing(slow: Repository) -> None:
    process = slow.start(*SET_UP)
    wait_for_slow(slow)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)
    slow.require()
    assert slow.run(*SET_UP) == (0, FRESH)
    assert slow.installed() == WHOLE


def test_killed_set_up_leaves_the_lock_to_pip(slow: Repository) -> None:
    """As long as the orphaned pip writes to .venv, nobody else may."""
    process = slow.start(*SET_UP)
    wait_for_slow(slow)
    process.kill()
    process.wait(timeout=PATIENCE)
    second = slow.start(*SET_UP)
    assert second.stdout is not None
    assert second.stdout.readline() == "Waiting for another set-up in this folder to end …\n"
    Path(slow.environment["SLOW_RELEASE"]).touch()
    output, _ = second.communicate(timeout=PATIENCE)
    assert (second.returncode, output) == (0, FRESH)
    assert slow.installed() == {"torch": "2.13.0+cpu", "slow": "1.0"}


def test_moved_folder(repository: Repository, tmp_path: Path) -> None:
    repository.folder = repository.folder.rename(tmp_path / "Größe 2")
    assert repository.run("make", "set-up") == (0, FRESH)
    assert repository.installed() == WHOLE


def test_removed_interpreter(repository: Repository, tmp_path: Path) -> None:
    for link in (repository.folder / ".venv" / "bin").glob("python*"):
        if link.is_symlink():
            link.unlink()
            link.symlink_to(tmp_path / "no-longer-there")
    assert repository.run("make", "set-up", PYTHON=sys.executable) == (0, FRESH)
    assert repository.installed() == WHOLE


def test_environment_of_another_python(repository: Repository) -> None:
    stamp = repository.folder / ".venv" / "installed-site"
    stamp.write_text(stamp.read_text().replace("cpython-3", "cpython-2"))
    assert repository.run(*SET_UP) == (0, FRESH)


@pytest.mark.parametrize("kind", ["a file", "someone's own"])
def test_something_else_stands_at_venv(clone: Repository, kind: str) -> None:
    venv = clone.folder / ".venv"
    if kind == "a file":
        venv.write_text("")
    else:
        subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", venv])
    assert clone.run("make", "set-up", PYTHON=sys.executable) == (0, FRESH)
    assert clone.installed() == WHOLE


def test_two_at_once(clone: Repository) -> None:
    both = [clone.start(*SET_UP), clone.start(*SET_UP)]
    outputs = sorted(process.communicate(timeout=PATIENCE)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0], outputs
    assert outputs == [FRESH, "Waiting for another set-up in this folder to end …\n"]
    assert clone.installed() == WHOLE


def test_ordinary_index_where_the_cpu_index_does_not_answer(
    clone: Repository, packages: Path, tmp_path: Path
) -> None:
    for wheel in packages.glob("*.whl"):
        if "+cpu" not in wheel.name:
            page = tmp_path / "index" / wheel.name.split("-")[0].replace("_", "-") / "index.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            with page.open("a") as links:
                links.write(f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n')
    status, output = clone.run(
        *SET_UP,
        PIP_NO_INDEX="0",
        PIP_FIND_LINKS="",
        PIP_INDEX_URL=(tmp_path / "index").as_uri(),
        # Nobody listens there, so whatever is not a file cannot be reached.
        HTTPS_PROXY="http://127.0.0.1:9",
        https_proxy="http://127.0.0.1:9",
    )
    assert status == 0, output
    assert "Not to be had from https://download.pytorch.org/whl/cpu" in output
    assert clone.installed() == WHOLE | {"torch": "2.13.0"}


def write_interpreter(path: Path, script: str) -> Path:
    """Write a shell script that stands in for a Python."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


# Knows of no module and no version that the Makefile asks for, as Python 3.8 and 2.7 do.
OLD = 'case "$*" in *version_info*) exit 1;; esac; echo SyntaxError >&2; exit 1'


def test_python_that_does_not_fit_gets_one_line(clone: Repository, tmp_path: Path) -> None:
    old = write_interpreter(tmp_path / "an old python", OLD)
    for python in (old, tmp_path / "nowhere"):
        status, output = clone.run("make", "-s", "set-up", f"PYTHON={python}")
        lines = [line for line in output.splitlines() if not line.startswith("make: ***")]
        assert status != 0
        assert len(lines) == 1, output
        assert f"No Python 3.11 or newer with venv and ensurepip among {python}: " in lines[0]
        assert not (clone.folder / ".venv").exists()


def test_newer_python_is_found_behind_an_old_one(clone: Repository, tmp_path: Path) -> None:
    make = shutil.which("make")
    assert make
    write_interpreter(tmp_path / "python3.14", OLD)
    write_interpreter(tmp_path / "python3", OLD)
    write_interpreter(tmp_path / "python3.12", 'echo "python3.12 $*"')
    status, output = clone.run(make, "set-up", PATH=str(tmp_path))
    assert (status, output) == (0, "python3.12 tools/set_up.py\n")


def pretend(statement: str) -> list[str]:
    """Return a command that runs set_up.py after a statement that changes what Python it sees."""
    code = "runpy.run_path('tools/set_up.py', run_name='__main__')"
    return [sys.executable, "-c", f"import runpy, sys; {statement}; {code}"]


def test_missing_venv_modules(clone: Repository) -> None:
    status, output = clone.run(*pretend("sys.modules['ensurepip'] = None; sys.argv[1:] = []"))
    assert status == 1
    assert output.count("\n") == 1
    assert "lacks the modules venv and ensurepip: install them" in output


def test_old_python_can_read_that_it_is_too_old(clone: Repository) -> None:
    ast.parse((ROOT / "tools" / "set_up.py").read_text(encoding="utf-8"), feature_version=(3, 6))
    status, output = clone.run(*pretend("sys.version_info = (3, 8, 18, 'final', 0)"))
    assert status == 1
    assert output.startswith("Python 3.11 or newer is needed, and this is Python 3.8: ")
    assert output.count("\n") == 1
