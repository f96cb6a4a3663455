"""Scratch projects for `make bench`: the project's own code with pages made for measuring.

The stock one differs in its conf.py alone. MyST-NB runs the cells there and nothing compares what
they show, with the same theme, options, templates and pages.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from made_pages import FRONT_MATTER, INDEX

PROJECT = Path(__file__).resolve().parents[1]

SMALL_CELL = """\
```{code-cell} python
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
(x**2).sum().backward()
x.grad
```
```{expect}
tensor([2., 4.])
```
"""

OPTIMIZER_CELLS = """\
```{code-cell} python
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.25)
(w**2).sum().backward()
opt.step()
w.tolist()
```
```{expect}
[0.5, 1.0]
```

```{code-cell} python
opt = torch.optim.Adam([w], lr=0.25)
opt.step()
opt.state[w]["step"]
```
```{expect}
tensor(1.)
```
"""

CONF = f"""\
import sys
from functools import cache
from pathlib import Path
sys.path[:0] = [str(Path(__file__).parent), {str(PROJECT / "tools")!r}]
from project_conf import *
"""
"""How a conf.py begins that differs from the project's own, which stands beside it."""

STOCK_CONF = """
from docutils.parsers.rst import Directive

extensions = ["myst_nb"]
nb_custom_formats = {}
nb_execution_mode = "force"
nb_execution_timeout = 600


class Expect(Directive):
    has_content, optional_arguments = True, 1

    def run(self):
        return []


def setup(app):
    app.add_directive("expect", Expect)
"""

STEPS_CONF = """
extensions = [*extensions, "bench_steps"]
"""

CONFS = {"ours": "", "stock": CONF + STOCK_CONF, "steps": CONF + STEPS_CONF}


def make_project(root: Path, pages: int, cells: str, conf: str = "ours") -> Path:
    """Make a scratch project, and return its directory.

    Args:
        pages: how many there are beside the index.
        cells: what is on each of them.
        conf: which of `CONFS` it gets.
    """
    (root / "docs").mkdir(parents=True)
    for name in ("_ext", "_lib", "_templates", "_static"):
        shutil.copytree(PROJECT / "docs" / name, root / "docs" / name)
    shutil.copy2(PROJECT / "requirements.txt", root)
    text = CONFS[conf]
    shutil.copy2(PROJECT / "conf.py", root / ("project_conf.py" if text else "conf.py"))
    if text:
        (root / "conf.py").write_text(text)
    names = [f"page-{number:03}" for number in range(1, pages + 1)]
    for name in names:
        write_page(root, name, cells)
    docs = {
        "index.md": INDEX,
        "how-this-site-is-checked.md": "# How\n\nNot here.\n",
        "pages-without-cells.txt": "index: a list\nhow-this-site-is-checked: a stub\n",
        "permalinks.txt": "\n".join(sorted(["how-this-site-is-checked", "index", *names])) + "\n",
    }
    for name, text in docs.items():
        (root / "docs" / name).write_text(text)
    return root


def write_page(root: Path, name: str, cells: str, answer: str = "The short answer.") -> None:
    """Write a page, for the first time or changed."""
    text = f"{FRONT_MATTER}\n# The rule of {name}\n\n{answer}\n\n{cells}"
    (root / "docs" / f"{name}.md").write_text(text)


def copy_of_site(root: Path) -> Path:
    """Make a copy of the project with its own pages, and return its directory."""
    root.mkdir(parents=True)
    for name in ("conf.py", "requirements.txt"):
        shutil.copy2(PROJECT / name, root)
    shutil.copytree(PROJECT / "docs", root / "docs")
    return root


@cache
def command(target: str) -> list[str]:
    """Return the command that `make TARGET` runs for Sphinx, with this very interpreter.

    Kept, for asking `make` takes time that belongs to no measurement.
    """
    shown = subprocess.run(
        ["make", "-n", target], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    line = next(line for line in shown.stdout.splitlines() if " -m sphinx " in line)
    return [sys.executable, *shlex.split(line)[1:]]


def environment(**variables: str) -> dict[str, str]:
    """Return the environment in which `make` runs Sphinx; see the Makefile."""
    kept = {k: v for k, v in os.environ.items() if not re.match("PYTHON(HOME|PATH)$", k)}
    return {**kept, "LC_ALL": "C", **variables}


def start(root: Path, target: str = "html", **variables: str) -> subprocess.Popen[str]:
    """Start what `make TARGET` runs, in a scratch project."""
    return subprocess.Popen(
        command(target),
        cwd=root,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def forget_build(root: Path) -> None:
    """Remove what was built, so that the next build is a cold one."""
    shutil.rmtree(root / "_build", ignore_errors=True)
