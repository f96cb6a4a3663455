"""Execute pages with nbclient, several at a time, and compare what they show.

MyST-NB could execute pages itself, but it stops at a page's first problem, lets a dead kernel end
the build with a traceback, and gives no line. Here every cell that can run runs, and all problems
of all pages are known before the first page is read by Sphinx.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TextIO

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode, ValidationError
from nbformat.v4 import new_code_cell

from checked_cells.clean_room import clean_room, page_template
from checked_cells.compare import Check, compare_cell, not_passed
from checked_cells.outputs import CellOutcome, sort_outputs
from checked_cells.page import TIMEOUT, Failure, Page, notebook
from checked_cells.progress import Progress
from checked_cells.template import Template

PAGE_MEMORY = 400 * 1024**2
"""Bytes that a page's process may need beside what it shares with the template."""


@dataclass
class PageResult:
    """A page that was executed: its notebook ready to render, and what the comparison found."""

    page: Page
    notebook: NotebookNode
    checks: list[Check] = field(default_factory=list)
    outcomes: list[CellOutcome] = field(default_factory=list)

    @property
    def failures(self) -> list[Failure]:
        """The page's failures."""
        return self.page.failures


def run_pages(
    pages: list[Page],
    jobs: int,
    timeout: int = TIMEOUT,
    stream: TextIO | None = None,
    *,
    forked: bool = True,
) -> list[PageResult]:
    """Execute and compare pages, `jobs` at a time or as many as memory allows.

    Args:
        timeout: seconds a cell may take.
        stream: where progress is shown; stderr unless another is given.
        forked: whether pages may come from a template process; the results are the same.

    Returns:
        The results, the page with the most cells first.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # failures are reported by us

    async def run_all() -> list[PageResult]:
        free = asyncio.Semaphore(min(jobs, jobs_in_memory()))

        async def run_one(page: Page, template: Template | None) -> PageResult:
            if not page.cells:
                return PageResult(page, notebook(page))
            async with free:
                progress.started(page)
                result = await _run_page(page, timeout, template)
                progress.finished(page)
                return result

        # One page alone would wait for the template's imports and gain nothing.
        wanted = forked and sum(map(uses_torch, pages)) > 1
        async with page_template(wanted=wanted) as template, asyncio.TaskGroup() as group:
            # Long pages first, so that none of them is left for the end.
            ordered = sorted(pages, key=lambda page: -len(page.cells))
            tasks = [group.create_task(run_one(page, template)) for page in ordered]
        return [task.result() for task in tasks]

    if not pages:
        return []
    with_cells = sum(bool(page.cells) for page in pages)
    progress = Progress(with_cells, stream or sys.stderr)
    try:
        return _in_thread(run_all())
    finally:
        progress.close()


def uses_torch(page: Page) -> bool:
    """Tell whether a page can notice that PyTorch is imported; one that cannot starts without."""
    return any("torch" in cell.source for cell in page.cells)


def jobs_in_memory() -> int:
    """Return how many pages the free memory holds at a time, at least one."""
    if "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return sys.maxsize
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, free // PAGE_MEMORY)


def _in_thread(work: Coroutine[Any, Any, list[PageResult]]) -> list[PageResult]:
    """Run `work` in an event loop of another thread, and cancel it on Ctrl-C.

    In the main thread nbclient would take Ctrl-C for itself, once for each kernel.
    """
    loop = asyncio.new_event_loop()
    # Nobody waits for nbclient's own tasks when a kernel is lost; what matters comes with `task`.
    loop.set_exception_handler(lambda _loop, _context: None)
    task = loop.create_task(work)

    # Thread.join would do, but Python 3.11 takes a thread for ended when a join was interrupted.
    ended = threading.Event()

    def run() -> None:
        try:
            loop.run_until_complete(asyncio.wait([task]))
            if left := asyncio.all_tasks(loop):  # nbclient's, of cells that were interrupted
                for other in left:
                    other.cancel()
                loop.run_until_complete(asyncio.wait(left))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            ended.set()

    threading.Thread(target=run, name="pages").start()
    try:
        ended.wait()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        ended.wait()
        raise
    finally:
        if ended.is_set():
            loop.close()
    return task.result()


async def _run_page(page: Page, timeout: int, template: Template | None) -> PageResult:
    result = PageResult(page, notebook(page))
    prepared = uses_torch(page)
    template = template if prepared else None
    with clean_room(prepared=prepared) as room:
        client = NotebookClient(
            result.notebook,
            km=room.manager,
            timeout=timeout,
            allow_errors=True,
            shutdown_kernel="immediate",
            record_timing=False,
            startup_timeout=120,
        )
        try:
            async with client.async_setup_kernel(
                cwd=room.cwd, env=room.env, template=template, cleanup_kc=True
            ):
                await _run_cells(client, result, timeout)
        except RuntimeError as error:
            atexit.unregister(client._cleanup_kernel)  # nbclient forgets it when a start fails
            page.fail(page.cells[0].first + 1, f"the page's process did not start: {error}")
        finally:
            if room.manager.has_kernel:  # interrupted while it started
                await room.manager.shutdown_kernel(now=True)
    return result


async def _run_cells(client: NotebookClient, result: PageResult, timeout: int) -> None:
    """Run and compare cell after cell, until the end or until the process is lost."""
    page = result.page
    code_cells = [
        (index, cell)
        for index, cell in enumerate(result.notebook.cells)
        if cell.cell_type == "code"
    ]
    for cell, (index, node) in zip(page.cells, code_cells, strict=True):
        line = cell.first + 1
        try:
            await client.async_execute_cell(node, index)
        except CellTimeoutError:
            page.fail(line, f"the cell takes more than {timeout} s")
            break
        except DeadKernelError:
            page.fail(line, "the page's process died in this cell")
            break
        except ValidationError as error:
            page.fail(line, f"the cell displays what no notebook can hold: {error.message}")
            break
        outcome = sort_outputs(node.outputs)
        node.outputs = outcome.rendered
        result.outcomes.append(outcome)
        result.checks.extend(compare_cell(page, cell, outcome))
    if page.cells and len(result.outcomes) == len(page.cells):
        await _end_page(client, result)
    for cell in page.cells[len(result.outcomes) :]:
        result.checks.extend(not_passed(cell))


async def _end_page(client: NotebookClient, result: PageResult) -> None:
    """Run a cell that does nothing: the kernel then tells what came after the last one's end."""
    node = new_code_cell("pass")
    client.nb.cells.append(node)
    try:
        await client.async_execute_cell(node, len(client.nb.cells) - 1)
    except (CellTimeoutError, DeadKernelError):
        result.page.fail(result.page.cells[-1].first + 1, "the page's process died after this cell")
    client.nb.cells.pop()
    for text in sort_outputs(node.outputs).violations:
        result.page.fail(result.page.cells[-1].first + 1, text)
