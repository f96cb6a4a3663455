"""Sphinx extension of `make bench` alone: note when each step of a build has ended.

The times go to the file that BENCH_STEPS names, as seconds since the Unix epoch. The template's
import has no event of Sphinx, so the method that waits for it is wrapped.
"""

from __future__ import annotations

import json
import os
import time
from functools import partial, wraps
from pathlib import Path
from typing import Any

from checked_cells.template import Template
from sphinx.application import Sphinx

EVENTS = {
    "Sphinx started": ("builder-inited", 999),
    "cells run": ("env-before-read-docs", 999),
    "pages read": ("write-started", 0),
    "pages written": ("build-finished", 699),
    "made lighter": ("build-finished", 701),
    "published": ("build-finished", 960),
}
"""The step that has ended when an event comes to a callback of this priority."""

times: dict[str, float] = {}


def note(step: str, *_arguments: object) -> None:
    """Note that a step has ended."""
    times[step] = time.time()


def write(*_arguments: object) -> None:
    """Write the times to the file."""
    Path(os.environ["BENCH_STEPS"]).write_text(json.dumps(times))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension; called by Sphinx."""
    wait = Template.wait_until_ready

    @wraps(wait)
    async def noting(template: Template) -> None:
        await wait(template)
        note("template ready")

    Template.wait_until_ready = noting
    for step, (event, priority) in EVENTS.items():
        app.connect(event, partial(note, step), priority=priority)
    app.connect("build-finished", write, priority=999)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
