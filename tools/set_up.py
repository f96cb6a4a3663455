"""Make the environment that the site is built in, and mend it where it is not whole.

``make`` runs this before every build. When there is nothing to do it says nothing, asks no network,
and takes a moment. What it relies on is a stamp: a file in ``.venv`` that names the place, the
interpreter and the requirements that the environment was made for. The stamp is taken away before
anything is changed and written back last, so an environment without the right stamp was
interrupted, moved, or made by something else, and is made again.

The file uses nothing that Python 3.6 cannot parse: it has to be able to tell an old Python that it
is too old.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (this file also meets the Pythons that it refuses)
    sys.exit(
        "Python 3.11 or newer is needed, and this is Python {}.{}: install one, or name it: "
        "make PYTHON=/path/to/python3".format(*sys.version_info)
    )

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Not a POSIX system: two set-ups at once are then not kept apart.
    fcntl = None

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
# Not the link in a virtual environment that may run this: .venv may have to go.
BASE_PYTHON = os.path.realpath(sys.executable)
VERSION = "{}.{}".format(*sys.version_info)

SITE = ROOT / "requirements.txt"
TESTS = ROOT / "tests" / "requirements.txt"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Isolated (-I), so that pip does not take what is on someone's PYTHONPATH for installed. Someone's
# `user = true` in pip.conf would send packages elsewhere, hence --no-user for .venv. Python
# itself compiles the few modules that are ever imported: not to compile all saves half of the time.
PIP_INSTALL = "-I -m pip install --quiet --no-input --no-compile --disable-pip-version-check"
FROM_CPU_INDEX = f"--index-url {CPU_INDEX} --retries 0 --timeout 5 --no-deps"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PLAYWRIGHT_HAS_BROWSER = """
import os, sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    sys.exit(not os.path.exists(playwright.chromium.executable_path))
"""


class SetUpError(Exception):
    """Something that the person at the keyboard has to put right; the message says how."""


def main() -> int:
    """Do what the command line asks for; turn every failure into plain lines and an exit status."""
    parser = argparse.ArgumentParser(
        description="Make .venv, or mend it, and install what is pinned."
    )
    parser.add_argument(
        "--tests", action="store_true", help="install what the tests and the linter need, too"
    )
    parser.add_argument(
        "--browser", action="store_true", help="see to it that there is a Chromium for the tests"
    )
    parser.add_argument(
        "--into-current-environment",
        action="store_true",
        help="install into the environment that runs this, and never a CUDA build (Read the Docs)",
    )
    options = parser.parse_args()
    wanted = [SITE, TESTS] if options.tests else [SITE]
    python = sys.executable if options.into_current_environment else str(VENV_PYTHON)
    try:
        if options.into_current_environment:
            for requirements in wanted:
                install(python, requirements, cpu_only=True)
        elif not all(map(is_installed, wanted)):
            with only_one_at_a_time() as lock:
                set_up(wanted, lock)
        if options.browser:
            provide_browser(python)
    except (SetUpError, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Interrupted. The next run puts things right.")
        return 130
    return 0


def set_up(wanted: list[Path], lock: int | None) -> None:
    """Bring .venv to what is wanted, from whatever state it is in."""
    for requirements in wanted:
        if is_installed(requirements):
            continue
        if requirements == SITE:
            if not is_ours():
                make_venv(lock)
            # The tests' requirements share packages with the site's, so they are looked at again.
            stamp_file(TESTS).unlink(missing_ok=True)
        stamp_file(requirements).unlink(missing_ok=True)
        made_for = stamp(requirements)
        install(str(VENV_PYTHON), requirements, lock=lock)
        stamp_file(requirements).write_text(made_for, encoding="utf-8")


def stamp_file(requirements: Path) -> Path:
    """Tell where it is noted that these requirements were installed."""
    return VENV / f"installed-{requirements.parent.name if requirements == TESTS else 'site'}"


def stamp(requirements: Path) -> str:
    """Tell what .venv has to have been made for: place, interpreter, requirements, a line each."""
    # Scripts in .venv hold its absolute path, and compiled packages fit one interpreter's ABI only.
    interpreter = f"{BASE_PYTHON} {sysconfig.get_config_var('SOABI')}"
    return f"{VENV}\n{interpreter}\n{hashlib.sha256(requirements.read_bytes()).hexdigest()}\n"


def read_stamp(requirements: Path) -> str:
    """Return what is noted about these requirements; nothing where .venv is absent or broken."""
    # Otherwise its interpreter is gone, or is not the one asked for.
    if os.path.realpath(VENV_PYTHON) != BASE_PYTHON:
        return ""
    try:
        return stamp_file(requirements).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def is_installed(requirements: Path) -> bool:
    """Tell whether .venv holds exactly what this requirements file asks for."""
    return read_stamp(requirements) == stamp(requirements)


def is_ours() -> bool:
    """Tell whether .venv was once whole, here and with this Python: then pip can update it."""
    return read_stamp(SITE).splitlines()[:2] == stamp(SITE).splitlines()[:2]


def make_venv(lock: int | None) -> None:
    """Replace whatever stands at .venv by a new virtual environment."""
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        raise SetUpError(
            f"{BASE_PYTHON} lacks the modules venv and ensurepip: install them "
            f"(Debian, Ubuntu: apt install python{VERSION}-venv)"
        )
    say(f"Making .venv with Python {VERSION} …")
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    run([BASE_PYTHON, "-I", "-m", "venv", str(VENV)], lock)


def install(
    python: str, requirements: Path, *, cpu_only: bool = False, lock: int | None = None
) -> None:
    """Install a requirements file; where it pins PyTorch, PyTorch's CPU build first.

    The CPU build is all that the site needs and a fifteenth of the size of what Linux gets
    otherwise. It has an index of its own, which is asked for nothing else and given up at once
    where it does not answer: behind a mirror, the second step takes PyTorch from wherever pip is
    set up to look. `cpu_only` forbids that.
    """
    pip = f"{PIP_INSTALL} --no-user" if python == str(VENV_PYTHON) else PIP_INSTALL
    command = [python, *pip.split()]
    torch = re.search(r"^torch==[^\s;]+", requirements.read_text(encoding="utf-8"), re.MULTILINE)
    if torch:
        say("Installing PyTorch (CPU build) …")
        try:
            run([*command, *FROM_CPU_INDEX.split(), torch[0]], lock)
        except SetUpError as error:
            if cpu_only:
                raise
            reason = str(error).splitlines()[-1].removeprefix("ERROR: ")
            say(f"Not to be had from {CPU_INDEX} ({reason}); trying where pip looks for all else …")
    say(f"Installing {requirements.relative_to(ROOT)} …")
    run([*command, "-r", str(requirements)], lock)


def run(command: list[str], lock: int | None = None) -> None:
    """Run a command, quiet unless it fails.

    The command inherits the lock. Should this process be killed, the lock is then held until the
    command, which goes on changing .venv, has ended as well.
    """
    result = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        pass_fds=() if lock is None else (lock,),
    )
    if result.returncode:
        raise SetUpError(f"This failed: {shlex.join(command)}\n{result.stdout.strip()}")


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[int | None]:
    """Hold a lock on the repository's folder: two set-ups at once would wreck each other's work."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        yield folder if lock_waiting(folder) else None
    finally:
        os.close(folder)


def lock_waiting(folder: int) -> bool:
    """Lock the folder, saying so if that takes a while; False where folders cannot be locked."""
    if fcntl is None:
        return False
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another set-up in this folder to end …")
            fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:  # Some network drives.
        return False
    return True


def provide_browser(python: str) -> None:
    """See to it that the tests find a Chromium: the machine's, or else one from Playwright."""
    if any(map(shutil.which, BROWSERS)):
        return
    if (
        subprocess.run([python, "-I", "-c", PLAYWRIGHT_HAS_BROWSER], capture_output=True).returncode
        == 0
    ):
        return
    say("Installing Chromium for the browser tests …")
    try:
        run([python, "-I", "-m", "playwright", "install", "chromium"])
    except SetUpError:
        raise SetUpError(
            "The tests need a browser: install Chromium (Debian: apt install chromium) or "
            f"Google Chrome, so that one of {', '.join(BROWSERS)} is on PATH"
        ) from None


def say(line: str) -> None:
    """Print to standard error, which takes any character in any locale."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
