"""Where a page runs: a fresh process of the build's own interpreter, and nothing of the person's.

Jupyter would look for a kernel in the person's directories and hand it the person's environment.
Both are replaced here: the kernel specification is made in memory, and the environment is made
from nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from checked_cells.normalise import ROOM_PREFIX

EXTENSIONS = Path(__file__).resolve().parent.parent

START = (
    "import sys; sys.path.insert(0, {path!r}); import page_kernel; del sys.path[0]; "
    "page_kernel.main()"
)


class OwnKernelSpecManager(KernelSpecManager):
    """Knows one kernel: the build's own interpreter running `page_kernel`."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return that kernel, whatever its name."""
        start = START.format(path=str(EXTENSIONS))
        # -P and -s: neither the working directory nor the person's own packages are importable.
        argv = [sys.executable, "-P", "-s", "-X", "utf8", "-c", start, "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


@dataclass(frozen=True)
class Room:
    """What one page gets: a kernel manager, an environment and an empty working directory."""

    manager: AsyncKernelManager
    env: dict[str, str]
    cwd: str


@contextmanager
def clean_room() -> Iterator[Room]:
    """Make a room, and remove its directory afterwards. The caller shuts the kernel down."""
    root = Path(tempfile.mkdtemp(prefix=ROOM_PREFIX))
    try:
        for name in ("home", "tmp", "work"):
            (root / name).mkdir()
        manager = AsyncKernelManager(
            kernel_spec_manager=OwnKernelSpecManager(),
            # Sockets in the room's own directory: TCP ports would race between pages.
            transport="ipc",
            connection_file=str(root / "kernel.json"),
            ip=str(root / "ipc"),
        )
        yield Room(manager, environment(root), str(root / "work"))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def environment(root: Path) -> dict[str, str]:
    """Return a page's whole environment.

    Args:
        root: the room's directory, which holds ``home`` and ``tmp``.
    """
    env = {
        "HOME": str(root / "home"),
        "IPYTHONDIR": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "PYTHONHASHSEED": "0",
        # The order in which threads add numbers is not the same on every machine.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    if sys.platform == "win32":
        env["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return env
