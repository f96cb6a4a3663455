"""Say how far the execution of pages has come: one line on a terminal, a line a page elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

from checked_cells.page import Page


class Progress:
    """Follows pages from start to end.

    Args:
        total: how many pages will run.
        stream: where to write.
    """

    def __init__(self, total: int, stream: TextIO) -> None:
        self.total = total
        self.stream = stream
        self.on_terminal = stream.isatty()
        self.done = 0
        self.width = 0
        self.running: dict[str, float] = {}

    def started(self, page: Page) -> None:
        """Note that a page runs."""
        self.running[page.path] = time.monotonic()
        self._show_running()

    def finished(self, page: Page) -> None:
        """Note that a page has run."""
        seconds = time.monotonic() - self.running.pop(page.path)
        self.done += 1
        if self.on_terminal:
            self._show_running()
        else:
            self._write(f"[{self.done}/{self.total}] {page.path} {seconds:.1f} s\n")

    def _show_running(self) -> None:
        if self.on_terminal:
            longest = min(self.running, key=self.running.get, default="")
            self._overwrite(f"{self.done}/{self.total} pages {longest}")

    def close(self) -> None:
        """Clear the line on a terminal."""
        if self.on_terminal:
            self._overwrite("")
            self._write("\r")

    def _overwrite(self, text: str) -> None:
        """Write over the line before; spaces clear it on every terminal, in any colour."""
        self._write("\r" + text.ljust(self.width))
        self.width = len(text)

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
