"""Measure what the project promises about speed, memory and weight; `make bench` runs this.

Every promise is a ratio to something that was measured on the same machine in the same minutes, so
that the table means the same on any machine. It is a measurement and not a test: nothing fails when
a ratio is worse. The numbers go to _build/bench.json too. QUICK=1 takes fewer pages and one run, to
see whether all of it works.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from bench_kernels import kernel_starts
from bench_project import (
    OPTIMIZER_CELLS,
    PROJECT,
    SMALL_CELL,
    command,
    copy_of_site,
    forget_build,
    make_project,
    start,
    write_page,
)
from first_view import chromium, first_view, heaviest_page, served

QUICK = os.environ.get("QUICK", "") not in ("", "0")
RUNS = 1 if QUICK else 3
OPTIMIZER_PAGES = 4 if QUICK else 12
FEW, MANY = (10, 20) if QUICK else (100, 400)
ENOUGH = 12 * 60
"""Seconds after which the longest build is not repeated; the table says how often it was."""
SAMPLE_INTERVAL = 0.5
"""Seconds between two looks at the memory of all processes, so far apart that they cost little."""

IMPORTS = "import torch, torch._dynamo, torch.profiler._cupti_monitor"
"""What the template process imports."""

READ_BACK = """
import pickle, sys
sys.path.insert(0, "docs/_ext")
import sphinx.cmd.build, sphinx.application, sphinx.builders.html
import myst_nb.sphinx_ext, sphinx_book_theme, pydata_sphinx_theme
with open("_build/doctrees/environment.pickle", "rb") as file:
    pickle.load(file)
"""
"""The least that any build with these tools does."""

CELLS_ALONE = f"""
import re, time
from pathlib import Path
began = time.time()
{IMPORTS}
imported = time.time()
for page in sorted(Path("docs").glob("page-*.md")):
    names = {{}}
    for source in re.findall(r"code-cell}} python\\n(.*?)```", page.read_text(), re.DOTALL):
        exec(source, names)
print(imported - began, time.time() - imported)
"""

PAGE_ALONE = f"{IMPORTS}\n" + re.search(r"python\n(.*?)```", SMALL_CELL, re.DOTALL)[1]

MEMORY = "import psutil, torch; print(psutil.Process().memory_full_info().pss)"


@dataclass
class Row:
    """One line of the table: what was measured, and what it is to be compared with."""

    name: str
    unit: str
    values: list[float]
    note: str = ""

    @property
    def median(self) -> float:
        """The value in the middle."""
        return statistics.median(self.values)


@dataclass
class Bench:
    """The measurements so far, and the place for scratch projects."""

    scratch: Path
    rows: list[Row] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long this has taken so far."""
        return time.monotonic() - self.began

    def add(self, name: str, unit: str, values: list[float], note: str = "") -> Row:
        """Add a measurement, and show at once that it is done."""
        row = Row(name, unit, values, note)
        self.rows.append(row)
        print(f"  {name}: {row.median:.3g} {unit}", file=sys.stderr, flush=True)
        return row


def build(root: Path, target: str = "html", **variables: str) -> float:
    """Build a scratch project to its end; return the seconds that it took."""
    command(target)
    began = time.monotonic()
    process = start(root, target, **variables)
    try:
        output, _ = process.communicate()
    finally:
        process.terminate()  # when this is interrupted; an ended process is not there to hear it
        process.wait()
    seconds = time.monotonic() - began
    if process.returncode:
        raise SystemExit(f"a build for the measurement failed:\n{output}")
    return seconds


def cold_build(root: Path, **variables: str) -> float:
    """Build a scratch project of which nothing is built yet."""
    forget_build(root)
    return build(root, **variables)


def python(root: Path, code: str) -> str:
    """Run code in a fresh interpreter; return what it printed."""
    command = [sys.executable, "-I", "-X", "utf8", "-c", code]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def timed(measure: Callable[[], object]) -> float:
    """Return the seconds that a function took."""
    began = time.monotonic()
    measure()
    return time.monotonic() - began


def memory(process: psutil.Process) -> int:
    """Return the bytes of a process and all that it started; shared ones count once in all.

    What a program outside of these shares with them, such as another PyTorch, counts in part.
    """
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_full_info().pss
        except psutil.Error:
            continue  # it has ended meanwhile
    return total


def peak_memory(measure: Callable[[], float]) -> tuple[float, int]:
    """Return what a function returned, and the highest memory of what it started meanwhile."""
    ended = threading.Event()
    seen = [0]
    own = psutil.Process()

    def watch() -> None:
        while not ended.wait(SAMPLE_INTERVAL):
            seen.append(memory(own) - own.memory_full_info().pss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        return measure(), max(seen)
    finally:
        ended.set()
        watcher.join()


def measure_cold_build(bench: Bench) -> None:
    """Compare a cold build with stock MyST-NB's, in turns; and say where its time goes."""
    pages = OPTIMIZER_PAGES
    roots = {
        conf: make_project(bench.scratch / conf, pages, OPTIMIZER_CELLS, conf)
        for conf in ("ours", "stock", "steps")
    }
    seconds: dict[str, list[float]] = {"ours": [], "stock": []}
    cold_build(roots["ours"])  # not counted: it reads PyTorch from the disk, for the others too
    for _ in range(RUNS):
        for conf, values in seconds.items():
            values.append(cold_build(roots[conf]))
    name = f"cold build of {pages} pages with optimizers"
    stock = bench.add(f"{name}, stock MyST-NB", "s", seconds["stock"])
    ratio = statistics.median(seconds["ours"]) / stock.median
    bench.add(name, "s", seconds["ours"], f"{ratio:.2f} of stock (target 0.25)")
    measure_steps(bench, roots["steps"])


def measure_steps(bench: Bench, root: Path) -> None:
    """Say where the time of a cold build goes, against the least that it could take."""
    steps: dict[str, list[float]] = {}
    file = root / "steps.json"
    for _ in range(RUNS):
        before = time.time()
        cold_build(root, BENCH_STEPS=str(file))
        ended = time.time()
        for name, after in json.loads(file.read_text()).items():
            steps.setdefault(name, []).append(after - before)
            before = after
        steps.setdefault("process ended", []).append(ended - before)
    for name, values in steps.items():
        bench.add(f"  step: {name}", "s", values)
    runs = [[float(part) for part in python(root, CELLS_ALONE).split()] for _ in range(RUNS)]
    imports, cells = zip(*runs, strict=True)
    bench.add("  limit: one import of torch", "s", list(imports))
    bench.add("  limit: the cells alone, in one process", "s", list(cells))


def measure_kernels(bench: Bench) -> None:
    """Compare the start of a page's kernel with that of Jupyter's own."""
    ours, stock = kernel_starts(2 if QUICK else 5)
    other = bench.add("kernel's start to a first result with torch, stock", "s", stock)
    ratio = statistics.median(ours) / other.median
    bench.add(
        "kernel's start to a first result with torch", "s", ours, f"{ratio:.2f} (target 0.2 s)"
    )


def measure_sizes(bench: Bench) -> Path:
    """Compare a few pages with many: time a page, and memory. Return the smaller project."""
    one_import = bench.add(
        "memory of one import of torch",
        "MB",
        [int(python(PROJECT, MEMORY)) / 1e6 for _ in range(RUNS)],
    )
    a_page: dict[int, float] = {}
    peaks: dict[int, float] = {}
    for pages in (FEW, MANY):
        root = make_project(bench.scratch / f"{pages}", pages, SMALL_CELL)
        runs: list[tuple[float, int]] = []
        while not runs or (len(runs) < RUNS and bench.seconds + runs[-1][0] < ENOUGH):
            runs.append(peak_memory(lambda root=root: cold_build(root)))
        each = [seconds / pages for seconds, _ in runs]
        a_page[pages] = statistics.median(each)
        note = ""
        if pages == MANY:
            note = f"{a_page[MANY] / a_page[FEW]:.2f} of {FEW} pages (target 1.10)"
        bench.add(f"cold build of {pages} small pages", "s", [s for s, _ in runs])
        bench.add(f"  a page of {pages}", "s", each, note)
        megabytes = [peak / 1e6 for _, peak in runs]
        peaks[pages] = statistics.median(megabytes)
        note = f"{peaks[pages] / one_import.median:.1f} imports of torch"
        if pages == MANY:
            note += f", {peaks[MANY] / peaks[FEW]:.2f} of {FEW} pages"
        bench.add(f"  peak memory with {pages} pages", "MB", megabytes, note)
    return bench.scratch / f"{FEW}"


def measure_changes(bench: Bench, root: Path) -> None:
    """Compare builds of a site that is built, unchanged and with one page edited."""
    runs = 1 if QUICK else 5
    build(root, "check")
    least = bench.add(
        f"import Sphinx, MyST-NB, theme; unpickle {FEW} pages",
        "s",
        [timed(lambda: python(root, READ_BACK)) for _ in range(runs)],
    )
    nothing = {target: [build(root, target) for _ in range(runs)] for target in ("html", "check")}
    for target, values in nothing.items():
        ratio = statistics.median(values) / least.median
        name = f"make {target}, nothing changed of {FEW} pages"
        bench.add(name, "s", values, f"{ratio:.2f} of that")
    own = bench.add(
        "  that page alone: one import of torch, and its cells",
        "s",
        [timed(lambda: python(root, PAGE_ALONE)) for _ in range(runs)],
    )
    for target in ("check", "html"):
        values = []
        for number in range(runs):
            write_page(root, "page-001", SMALL_CELL, f"Answer {number} for {target}.")
            values.append(build(root, target))
        ratio = (statistics.median(values) - own.median) / statistics.median(nothing[target])
        name = f"make {target}, 1 page edited of {FEW}"
        note = f"without the page's own, {ratio:.2f} of nothing changed (target 2)"
        bench.add(name, "s", values, note)


def measure_weight(bench: Bench) -> None:
    """Weigh the first view of the heaviest page of the site itself."""
    root = copy_of_site(bench.scratch / "site")
    build(root)
    site = root / "_build" / "html"
    with served(site) as address, chromium() as browser:
        if browser is None:
            print("no Chromium: the weight of pages is not measured", file=sys.stderr)
            return
        view = first_view(browser, f"{address}/{heaviest_page(site)}")
    bench.add("first view of a page", "kB", [view.raw / 1e3], "at most 500")
    bench.add("  compressed with gzip", "kB", [view.gzipped / 1e3], "at most 150")
    bench.add("  requests", "", [view.requests], "at most 12")


def machine() -> dict[str, object]:
    """Return what the numbers depend on, beside the project."""
    packages = ("torch", "sphinx", "myst-nb", "sphinx-book-theme", "ipykernel", "nbclient")
    return {
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
        "system": platform.platform(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "load_before": round(psutil.getloadavg()[0], 2),
    }


def shown(value: float) -> str:
    """Return a number as the table shows it."""
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def table(rows: list[Row]) -> str:
    """Return the measurements as a table."""
    lines = [("", "median", "min", "max", "runs", "")]
    for row in rows:
        middle = f"{shown(row.median)} {row.unit}".rstrip()
        low, high = shown(min(row.values)), shown(max(row.values))
        lines.append((row.name, middle, low, high, str(len(row.values)), row.note))
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(line[i].rjust(widths[i]) for i in range(1, 5)), line[5]]
        ).rstrip()
        for line in lines
    )


def main() -> None:
    """Measure everything; print the table and write the file."""
    facts = machine()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        bench = Bench(Path(scratch))
        measure_cold_build(bench)
        measure_kernels(bench)
        measure_changes(bench, measure_sizes(bench))
        measure_weight(bench)
    minutes = bench.seconds / 60
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print(table(bench.rows))
    rows = [
        {
            "name": row.name.strip(),
            "unit": row.unit,
            "median": row.median,
            "min": min(row.values),
            "max": max(row.values),
            "values": row.values,
            "note": row.note,
        }
        for row in bench.rows
    ]
    file = PROJECT / "_build" / "bench.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"machine": facts, "quick": QUICK, "rows": rows}, indent=2) + "\n")
    print(f"{minutes:.1f} minutes: {file.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
