"""Ctrl-C and a polite kill: what is under way is cleaned up, and nothing half done is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


def clean_up_when_terminated() -> None:
    """Make SIGTERM what Ctrl-C is: an exception, so that kernels and their directories go."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_end_without_a_word)


def _end_without_a_word() -> None:
    """Let a process that only reads or writes pages for the build end at once."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put Ctrl-C and SIGTERM off to the end of the block."""
    arrived: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _frame: arrived.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if arrived:
        raise KeyboardInterrupt
