"""Pin the hand-kept requirements with pip-compile, the same way wherever it is run.

pip-compile alone writes down what it finds at hand: the CPU build of PyTorch under its local
version, or the CUDA build with a dozen packages that nobody here needs. This asks for the CPU build
and writes PyTorch's public version, which every build of it satisfies.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from set_up import CPU_INDEX

ROOT = Path(__file__).resolve().parent.parent
# New releases stop supporting the oldest Python sooner than old ones fail on the newest.
OLDEST_PYTHON = (3, 11)
COMPILE = [
    "--quiet",
    "--strip-extras",
    "--allow-unsafe",  # setuptools: PyTorch needs it to run, so it is pinned like all else.
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
]
CUDA = re.compile(r"^(nvidia|cuda|triton)[\w-]*==", re.MULTILINE)


def main() -> None:
    """Pin the site's requirements, then the tests' on top of them."""
    if sys.version_info[:2] != OLDEST_PYTHON:
        sys.exit(
            "Pins are made on Python 3.11, the oldest that the site is built with: "
            "make requirements PYTHON=python3.11"
        )
    names = sys.argv[1:]
    upgrade = ["--upgrade"] if names == ["all"] else [f"--upgrade-package={n}" for n in names]
    for name in ("requirements", "tests/requirements"):
        pin(name, upgrade)


def pin(name: str, upgrade: list[str]) -> None:
    """Compile one file of requirements and leave nothing of this machine in it."""
    target = ROOT / f"{name}.txt"
    before = target.read_text(encoding="utf-8") if target.exists() else None
    command = [sys.executable, "-m", "piptools", "compile", *COMPILE, *upgrade]
    # An index that does not answer must cost one attempt and not five for each package.
    command += ["--extra-index-url", CPU_INDEX, "--pip-args", "--retries 0 --timeout 5"]
    command += ["--output-file", f"{name}.txt", f"{name}.in"]
    header = {"CUSTOM_COMPILE_COMMAND": "make requirements"}
    status = subprocess.run(command, cwd=ROOT, env=os.environ | header).returncode
    if status:
        sys.exit(status)
    pinned = target.read_text(encoding="utf-8").replace("+cpu", "")
    if CUDA.search(pinned):
        if before is not None:
            target.write_text(before, encoding="utf-8")
        sys.exit(f"Found only a CUDA build of PyTorch, so nothing changed; try {CPU_INDEX}")
    target.write_text(pinned, encoding="utf-8")


if __name__ == "__main__":
    main()
