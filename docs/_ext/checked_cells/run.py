"""Execute pages with nbclient, several at a time, and compare what they show.

MyST-NB could execute pages itself, but it stops at a page's first problem, lets a dead kernel end
the build with a traceback, and gives no line. Here every cell that can run runs, and all problems
of all pages are known before the first page is read by Sphinx.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from checked_cells.clean_room import clean_room
from checked_cells.compare import Check, compare_cell
from checked_cells.outputs import CellOutcome, sort_outputs
from checked_cells.page import Failure, Page, notebook

TIMEOUT = 30
"""Seconds that one cell may take, unless told otherwise."""


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
    done: Callable[[PageResult], None] = lambda result: None,
) -> list[PageResult]:
    """Execute and compare pages, `jobs` at a time.

    Args:
        timeout: seconds a cell may take.
        done: called with each result as it comes.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # failures are reported by us

    async def run_all() -> list[PageResult]:
        free = asyncio.Semaphore(jobs)

        async def run_one(page: Page) -> PageResult:
            async with free:
                result = await _run_page(page, timeout)
            done(result)
            return result

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run_one(page)) for page in pages]
        return [task.result() for task in tasks]

    return _in_thread(run_all()) if pages else []


def _in_thread(work: Coroutine[Any, Any, list[PageResult]]) -> list[PageResult]:
    """Run `work` in an event loop of another thread, and cancel it on Ctrl-C.

    In the main thread nbclient would take Ctrl-C for itself, once for each kernel.
    """
    loop = asyncio.new_event_loop()
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


async def _run_page(page: Page, timeout: int) -> PageResult:
    result = PageResult(page, notebook(page))
    if not page.cells:
        return result
    with clean_room() as room:
        client = NotebookClient(
            result.notebook,
            km=room.manager,
            timeout=timeout,
            allow_errors=True,
            shutdown_kernel="immediate",
            startup_timeout=120,
        )
        try:
            async with client.async_setup_kernel(cwd=room.cwd, env=room.env, cleanup_kc=True):
                await _run_cells(client, result, timeout)
        except RuntimeError as error:
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
            return
        except DeadKernelError:
            page.fail(line, "the page's process died in this cell")
            return
        outcome = sort_outputs(node.outputs)
        node.outputs = outcome.rendered
        result.outcomes.append(outcome)
        result.checks.extend(compare_cell(page, cell, outcome))
