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
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from checked_cells.normalise import ROOM_PREFIX
from checked_cells.template import PROVISIONER, PageClient, Template, TemplateLost

EXTENSIONS = Path(__file__).resolve().parent.parent

START = "import sys; sys.path.insert(0, {path!r}); import page_template; del sys.path[0]; {do}"
TEMPLATE = "page_template.main()"
FRESH = "import os; page_template.prepare(); page_template.page_kernel.main(os.getppid())"


def python_command(do: str) -> list[str]:
    """Return the command that runs `do` in a fresh interpreter that knows `page_template`."""
    # -P and -s: neither the working directory nor the person's own packages are importable.
    code = START.format(path=str(EXTENSIONS), do=do)
    return [sys.executable, "-P", "-s", "-X", "utf8", "-c", code]


class OwnKernelSpecManager(KernelSpecManager):
    """Knows one kernel: the build's own interpreter running `page_kernel`, forked or fresh."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return that kernel, whatever its name."""
        return KernelSpec(
            argv=[*python_command(FRESH), "-f", "{connection_file}"],
            display_name="Python 3",
            language="python",
            metadata={"kernel_provisioner": {"provisioner_name": PROVISIONER}},
        )


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
            client_factory=PageClient,
        )
        yield Room(manager, environment(root), str(root / "work"))
    finally:
        shutil.rmtree(root, ignore_errors=True)


@asynccontextmanager
async def page_template(*, wanted: bool) -> AsyncIterator[Template | None]:
    """Start the template process, and end it afterwards with all that it forked.

    Args:
        wanted: False gives None, as does a machine where the template cannot start; pages then
            run in fresh processes, with the same results.
    """
    if not wanted or not hasattr(os, "fork"):
        yield None
        return
    root = Path(tempfile.mkdtemp(prefix=ROOM_PREFIX))
    template = Template(python_command(TEMPLATE), environment(root), str(root / "socket"))
    try:
        try:
            await template.wait_until_ready()
        except TemplateLost:
            print("no template process; every page starts afresh", file=sys.stderr)
            yield None
        else:
            yield template
    finally:
        template.close()
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
        # The order in which threads add numbers is not the same on every machine; and none may
        # exist in the template process, which forks.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if sys.platform == "win32":
        env["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return env
