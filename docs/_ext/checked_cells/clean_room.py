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
from traitlets import Bool

from checked_cells.normalise import ROOM_PREFIX, parent_of_rooms
from checked_cells.template import PROVISIONER, PageClient, Template, TemplateLost

EXTENSIONS = Path(__file__).resolve().parent.parent

FOR_PAGES = EXTENSIONS.parent / "_lib"
"""Where the modules are that only pages import."""

START = (
    "import sys; sys.path.insert(0, {path!r}); import page_template; del sys.path[0]; "
    "sys.path.append({for_pages!r}); {do}"
)
TEMPLATE = "page_template.main()"
PREPARED = "import os; page_template.prepare(); page_template.page_kernel.main(os.getppid())"
PLAIN = "import os; page_template.page_kernel.main(os.getppid())"


def python_command(do: str) -> list[str]:
    """Return the command that runs `do` in a fresh interpreter that knows `page_template`.

    The modules for pages come last on the path, so that they hide no package.
    """
    # -P and -s: neither the working directory nor the person's own packages are importable.
    code = START.format(path=str(EXTENSIONS), for_pages=str(FOR_PAGES), do=do)
    return [sys.executable, "-P", "-s", "-X", "utf8", "-c", code]


class OwnKernelSpecManager(KernelSpecManager):
    """Knows one kernel: the build's own interpreter running `page_kernel`, forked or fresh."""

    prepared = Bool(help="Whether a fresh one first imports what the template has imported.")

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return that kernel, whatever its name."""
        return KernelSpec(
            argv=[
                *python_command(PREPARED if self.prepared else PLAIN),
                *("-f", "{connection_file}"),
            ],
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
def clean_room(*, prepared: bool) -> Iterator[Room]:
    """Make a room, and remove its directory afterwards. The caller shuts the kernel down.

    Args:
        prepared: whether the page's process has imported PyTorch before the first cell.
    """
    root = Path(tempfile.mkdtemp(prefix=ROOM_PREFIX, dir=parent_of_rooms()))
    try:
        for name in ("home", "tmp", "work"):
            (root / name).mkdir()
        manager = AsyncKernelManager(
            kernel_spec_manager=OwnKernelSpecManager(prepared=prepared),
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
    root = Path(tempfile.mkdtemp(prefix=ROOM_PREFIX, dir=parent_of_rooms()))
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
    else:
        # torch.distributed would look up the machine's name, and warn where nobody knows it.
        env["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    return env
