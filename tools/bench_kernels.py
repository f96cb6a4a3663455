"""For `make bench`: how long a page's kernel takes from its start to the first result with torch.

Ours is forked from the template process, which has started; the other is Jupyter's own. Both are
driven by nbclient, which runs the pages of either kind of site.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "_ext"))

from checked_cells.clean_room import clean_room, page_template
from checked_cells.template import Template
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

SOURCE = "import torch\ntorch.ones(1) + 1"
RESULT = "tensor([2.])"


async def first_result(manager: AsyncKernelManager, **options: Any) -> float:
    """Start a kernel, run a cell; return the seconds until its result is there."""
    notebook = new_notebook(cells=[new_code_cell(SOURCE)])
    client = NotebookClient(notebook, km=manager, shutdown_kernel="immediate", startup_timeout=120)
    began = time.monotonic()
    async with client.async_setup_kernel(cleanup_kc=True, **options):
        await client.async_execute_cell(notebook.cells[0], 0)
        seconds = time.monotonic() - began
    [output] = notebook.cells[0].outputs
    if output["data"]["text/plain"] != RESULT:
        raise RuntimeError(f"the kernel gave {output}")
    return seconds


async def forked(template: Template) -> float:
    """Measure a page forked from the template, its room included."""
    began = time.monotonic()
    with clean_room(prepared=True) as room:
        prepared = time.monotonic() - began
        options = {"cwd": room.cwd, "env": room.env, "template": template}
        return prepared + await first_result(room.manager, **options)


async def stock() -> float:
    """Measure Jupyter's own kernel of this interpreter."""
    # It would warn, on stderr, about the sockets that it is used with.
    return await first_result(AsyncKernelManager(kernel_name="python3"), stderr=subprocess.DEVNULL)


async def _repeat(runs: int, measure: Callable[[], Coroutine[Any, Any, float]]) -> list[float]:
    return [await measure() for _ in range(runs)]


def kernel_starts(runs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of `runs` starts of either kind: ours, stock."""

    async def measure() -> tuple[list[float], list[float]]:
        async with page_template(wanted=True) as template:
            if template is None:
                raise RuntimeError("no template process on this machine")
            ours = await _repeat(runs, lambda: forked(template))
        return ours, await _repeat(runs, stock)

    return asyncio.run(measure())
