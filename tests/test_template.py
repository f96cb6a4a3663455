"""Pages forked from the template process: the same as fresh ones, and no trouble when it dies."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import psutil
import pytest
from checked_cells import run
from checked_cells.page import Page, read_text
from checked_cells.run import run_pages
from conftest import cell, expect, page

# What a page can tell about the process that it runs in, written to a file.
PROBE = """\
import gc, json, locale, logging, os, random, resource, signal, sys, tempfile, threading, warnings

import numpy
import torch

descriptors = []
for name in os.listdir("/proc/self/fd"):
    try:
        descriptors.append(os.readlink(f"/proc/self/fd/{name}").split(":")[0].split("#")[0])
    except OSError:
        pass
loggers = logging.Logger.manager.loggerDict.items()
state = {
    "modules": sorted(sys.modules),
    "environment": dict(os.environ),
    "arguments": sys.argv,
    "path": sys.path,
    "flags": str(sys.flags),
    "descriptors": sorted(descriptors),
    "threads": [thread.name for thread in threading.enumerate()],
    "tasks": len(os.listdir("/proc/self/task")),
    "filters": [str(entry) for entry in warnings.filters],
    "once": str(warnings.onceregistry),
    "registries": sorted(
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__dict__", {}).get("__warningregistry__")
    ),
    "grad mode": torch.is_grad_enabled(),
    "inference mode": torch.is_inference_mode_enabled(),
    "dtype": str(torch.get_default_dtype()),
    "torch threads": [torch.get_num_threads(), torch.get_num_interop_threads()],
    "deterministic": torch.are_deterministic_algorithms_enabled(),
    "signals": {s.name: str(signal.getsignal(s)).split(" at ")[0] for s in signal.Signals},
    "blocked": str(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "temporary files": tempfile.gettempdir(),
    "directory": os.getcwd(),
    "locale": locale.setlocale(locale.LC_ALL),
    "collector": [gc.get_threshold(), gc.get_freeze_count() > 0],
    "loggers": {n: [x.level, len(x.handlers)] for n, x in loggers if hasattr(x, "handlers")},
    "limits": {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if "RLIMIT" in n},
    "mask": os.umask(0o22),
    "leader": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "recursion": sys.getrecursionlimit(),
    "hash": hash("abc"),
    "names": sorted(globals()),
}
unseeded = [random.random(), float(numpy.random.random()), torch.initial_seed()]
with open(FILE, "w") as file:
    json.dump({"state": state, "unseeded": unseeded}, file, sort_keys=True)
"""


def probing(file: Path) -> Page:
    """Return a page that writes what it can tell to `file`."""
    source = PROBE.replace("FILE", repr(str(file)))
    return read_text(page(cell(source)), f"docs/{file.stem}.md", file.stem)


def known(file: Path) -> tuple[dict, list[float]]:
    """Return what a probing page told, without the name of its room."""
    told = json.loads(re.sub(r"page-[a-z0-9_]{8}", "page-ROOM", file.read_text("utf-8")))
    return told["state"], told["unseeded"]


def test_a_forked_page_sees_what_a_fresh_one_sees(tmp_path: Path) -> None:
    # The first page leaves its mark on everything; the others are forked after it, or fresh.
    marks = "import torch, random, warnings\ntorch.set_grad_enabled(False)\nrandom.seed(1)\n"
    marks += "torch.manual_seed(1)\nwarnings.simplefilter('ignore')\n"
    marks += "torch.set_default_dtype(torch.float64)\nx = torch.ones(3) @ torch.ones(3)\n"
    marker = read_text(page(cell(marks) * 6), "docs/marker.md", "marker")
    names = ("first", "second", "fresh")
    probes = {name: probing(tmp_path / name) for name in names}
    run_pages([marker, probes["first"], probes["second"]], 1, stream=io.StringIO())
    run_pages([probes["fresh"]], 1, stream=io.StringIO(), forked=False)
    state, unseeded = zip(*(known(tmp_path / name) for name in names), strict=True)
    assert state[0] == state[2]
    assert state[1] == state[2]
    for numbers in zip(*unseeded, strict=True):
        assert len(set(numbers)) == 3, "pages share random numbers"


def sleeping(number: int) -> Page:
    """Return a page that sleeps, so that something can happen meanwhile."""
    body = cell("import time, torch\ntime.sleep(1)") + cell("print(1)", expect("1"))
    return read_text(page(body), f"docs/p{number}.md", f"p{number}")


def children_of_the_run() -> list[psutil.Process]:
    """Return this process's children that run pages; the browser of other tests is not one."""
    return [child for child in psutil.Process().children() if "python" in child.name()]


def test_a_lost_template_is_a_failure_or_a_fresh_start(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    started = run.Progress.started

    def kill_template_at_second_page(self: run.Progress, started_page: Page) -> None:
        started(self, started_page)
        if started_page.docname == "p1":
            for child in children_of_the_run():
                if "page_template.main" in " ".join(child.cmdline()):
                    child.kill()
                    child.wait()

    monkeypatch.setattr(run.Progress, "started", kill_template_at_second_page)
    results = run_pages([sleeping(number) for number in range(4)], 1, stream=io.StringIO())
    told = {result.page.docname: [f.message for f in result.failures] for result in results}
    assert told == {"p0": [], "p1": [], "p2": [], "p3": []}
    assert "the template process was lost" in capfd.readouterr().err
    assert not children_of_the_run()


def test_a_page_dies_with_the_template_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = run.NotebookClient.async_execute_cell

    async def kill_template(self: run.NotebookClient, *args: object) -> object:
        for child in children_of_the_run():
            child.kill()
        return await execute(self, *args)

    monkeypatch.setattr(run.NotebookClient, "async_execute_cell", kill_template)
    results = run_pages([sleeping(number) for number in range(2)], 1, stream=io.StringIO())
    for result in results:
        assert [f.message for f in result.failures] == ["the page's process died in this cell"]


def test_without_a_template_pages_start_afresh(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("checked_cells.clean_room.TEMPLATE", "raise SystemExit(1)")
    results = run_pages([sleeping(number) for number in range(2)], 2, stream=io.StringIO())
    assert [result.failures for result in results] == [[], []]
    assert "every page starts afresh" in capfd.readouterr().err


def test_a_template_that_hangs_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("checked_cells.template.START_LIMIT", 1)
    monkeypatch.setattr("checked_cells.clean_room.TEMPLATE", "import time; time.sleep(10**6)")
    results = run_pages([sleeping(number) for number in range(2)], 2, stream=io.StringIO())
    assert [result.failures for result in results] == [[], []]
    assert "every page starts afresh" in capfd.readouterr().err
    assert not children_of_the_run()
