"""Take out of a text what differs from run to run and from machine to machine.

The same function is applied to what a cell shows, before it is compared *and* before a reader sees
it, and to what the page declares. So there are no wildcards: both sides are plain text.
"""

from __future__ import annotations

import os
import re
import sysconfig
import tempfile
from functools import cache

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
TRIGGERED = re.compile(r"\s*\(Triggered internally at [^()\n]*\)")
TEMPORARY_NAME = re.compile(r"(?<=/)tmp[a-z0-9_]{8}(?![a-z0-9_])")

ROOM_PREFIX = "page-"
"""How the names of pages' own temporary directories begin."""

LONGEST_PARENT = 70
"""Characters; the address of a Unix socket in a page's directory has at most about 104."""


@cache
def parent_of_rooms() -> str:
    """Return the directory that pages' own temporary directories are made in."""
    parent = tempfile.gettempdir()
    return parent if len(os.fsencode(parent)) <= LONGEST_PARENT else "/tmp"


@cache
def _places() -> re.Pattern[str]:
    """Match the directories that Python's modules are installed in, with a slash at the end."""
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    paths |= {os.path.realpath(path) for path in paths}
    longest_first = sorted(paths, key=len, reverse=True)
    return re.compile("|".join(re.escape(path) + "/" for path in longest_first))


@cache
def _rooms() -> re.Pattern[str]:
    """Match the temporary directory of a page."""
    roots = {parent_of_rooms(), os.path.realpath(parent_of_rooms())}
    root = "|".join(re.escape(path) for path in sorted(roots, key=len, reverse=True))
    return re.compile(rf"(?:{root})/{ROOM_PREFIX}[a-z0-9_]{{8}}")


def normalise(text: str) -> str:
    """Return `text` without addresses, temporary names, installation paths and colour.

    What it returns it would return again, since accepted text is normalised once more.
    """
    while (shorter := _once(text)) != text:
        text = shorter
    return text


def _once(text: str) -> str:
    text = ANSI.sub("", text)
    text = TRIGGERED.sub("", text)
    text = ADDRESS.sub("at 0x…", text)
    text = _rooms().sub("/tmp", text)
    text = TEMPORARY_NAME.sub("tmp…", text)
    return _places().sub("", text)
