"""The site is the same whoever builds it, wherever; and no page sees what another page did."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Project, Result, cell, copy_project, expect, page
from overlay import Edit, check, make_environment

FAKE = "raise SystemExit('{}: this file was to be left alone')\n"

START_UP = "import torch\ntorch.set_grad_enabled(False)\nprint('start-up file')\n"

IPYTHON_CONFIG = """\
c.InteractiveShellApp.pylab = "inline"
c.InteractiveShellApp.exec_lines = ["print('exec line')"]
c.InteractiveShell.ast_node_interactivity = "all"
c.InteractiveShell.xmode = "Verbose"
c.PlainTextFormatter.max_width = 20
c.IPythonKernel.execution_count = 7
"""

BAD_KERNEL = {"argv": ["/bin/false"], "display_name": "Python 3", "language": "python"}

LOG_TORCH = """

def _log_torch(event, args, log={log!r}):
    name = args[0] if event == "import" else getattr(args[0], "co_filename", "")
    if name.split(".")[0] == "torch" or "site-packages/torch/" in name:
        with open(log, "a", encoding="utf-8") as file:
            print(event, name, file=file)

def setup(app):
    import atexit
    import sys

    hook = lambda event, args: _log_torch(event, args) if event in ("import", "exec") else None
    sys.addaudithook(hook)

    @atexit.register
    def log_modules():
        with open({modules!r}, "w", encoding="utf-8") as file:
            file.writelines(name + "\\n" for name in sorted(sys.modules))
"""
"""Behind conf.py: log each import of torch, also in processes that are forked."""

OTHER_MACHINE = Edit(
    "torch/__init__.py",
    None,
    """
os.environ["ATEN_CPU_CAPABILITY"] = "default"
_C._get_cpu_capability()
set_num_threads(2)
get_num_threads = lambda: 1
""",
)
"""No vector instructions, which PyTorch decides when first asked; and two threads.

A page's environment is made from nothing, so no setting of the person's could do this. The page on
how the site is checked shows that pages have one thread, and must not notice.
"""


UNCHANGED = Edit("torch/optim/optimizer.py", None, "")
"""Also a file deeper down is a copy among links, as where pages are to notice a change."""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def hostile_environment(root: Path) -> dict[str, str]:
    """Make a home full of settings for other projects, and the variables of somebody else."""
    home, shadow, temporary = root / "home", root / "shadow", root / "tmp ä"
    temporary.mkdir(parents=True)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    user_packages = home / ".local" / "lib" / python / "site-packages"
    for directory in (shadow, user_packages):
        for name in ("torch", "numpy", "sitecustomize", "usercustomize", "ipykernel"):
            write(directory / f"{name}.py", FAKE.format(name))
    for data in (home / ".local/share/jupyter", home / "Library/Jupyter", root / "jupyter"):
        write(data / "kernels/python3/kernel.json", json.dumps(BAD_KERNEL))
    ipython = home / ".ipython" / "profile_default"
    jupyter = home / ".jupyter"
    for directory in (ipython, jupyter):
        for name in ("ipython", "ipython_kernel", "jupyter", "jupyter_client"):
            write(directory / f"{name}_config.py", IPYTHON_CONFIG)
    write(ipython / "startup" / "00-start.py", START_UP)
    write(root / "startup.py", FAKE.format("PYTHONSTARTUP"))
    write(home / ".docutils", "[general]\ndatestamp: %Y-%m-%d\ngenerator: yes\n")
    write(home / ".config/matplotlib/matplotlibrc", "savefig.dpi: 10\n")
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "JUPYTER_CONFIG_DIR": str(jupyter),
        "JUPYTER_PATH": str(root / "jupyter"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "IPYTHONDIR": str(home / ".ipython"),
        "DOCUTILSCONFIG": str(home / ".docutils"),
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(shadow),
        "PYTHONSTARTUP": str(root / "startup.py"),
        "PYTHONWARNINGS": "error",
        "PYTHONHASHSEED": "12345",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "ascii",
        "PYTHONOPTIMIZE": "2",
        "PYTHONSAFEPATH": "",
        "PYTHONBREAKPOINT": "0",
        "TORCH_LOGS": "+dynamo,+autograd",
        "TORCH_SHOW_CPP_STACKTRACES": "1",
        "TORCH_HOME": str(root / "torch-home"),
        "TORCH_WARN_ONCE": "0",
        "TORCH_CPP_LOG_LEVEL": "INFO",
        "PYTORCH_JIT": "0",
        "ATEN_CPU_CAPABILITY": "default",
        "OMP_NUM_THREADS": "7",
        "MKL_NUM_THREADS": "5",
        "OMP_DISPLAY_ENV": "TRUE",
        "COLUMNS": "20",
        "LINES": "5",
        "LC_ALL": "tr_TR.ISO-8859-9",
        "LANG": "de_DE.UTF-8",
        "LANGUAGE": "de",
        "TZ": "Asia/Kathmandu",
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_COLOR": "1",
        "CLICOLOR_FORCE": "1",
        "MPLBACKEND": "svg",
        "PAGER": "/bin/false",
        "EDITOR": "/bin/false",
        "TERM": "dumb",
        "CI": "true",
    }


@dataclass
class Built:
    """A whole site, and how its build went."""

    project: Project
    result: Result


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The site, built with two processes on another machine in somebody else's surroundings."""
    root = tmp_path_factory.mktemp("elsewhere")
    project = copy_project(root / "Ein anderes Verzeichnis, größer, 目录", pages=True)
    project.python = str(make_environment(root / "v", (OTHER_MACHINE, UNCHANGED)))
    for directory in (project.root, project.root / "docs"):
        for name in ("torch", "numpy", "random", "sitecustomize"):
            write(directory / f"{name}.py", FAKE.format(name))
    with open(project.root / "conf.py", "a", encoding="utf-8") as file:
        file.write(LOG_TORCH.format(log=str(root / "torch.log"), modules=str(root / "modules")))
    return Built(project, project.build("-j2", env=hostile_environment(root / "env")))


def test_build_says_one_line(build_output: str, elsewhere: Built) -> None:
    result = elsewhere.result
    assert result.status == 0, result.output
    assert result.output == result.stdout
    for output in (build_output, result.stdout):
        assert len(output.splitlines()) == 1
        assert "Failed to initialize NumPy" not in output


def test_every_file_is_the_same(built_project: Project, elsewhere: Built) -> None:
    files, others = built_project.files(), elsewhere.project.files()
    assert sum(name.endswith(".html") for name in files) > 10
    assert files.keys() == others.keys()
    assert [name for name in files if files[name] != others[name]] == []


def test_the_record_of_checks_is_the_same(built_project: Project, elsewhere: Built) -> None:
    records = [p.root / "_build" / "checks.json" for p in (built_project, elsewhere.project)]
    assert records[0].read_bytes() == records[1].read_bytes()


def test_pages_elsewhere_see_another_machine(elsewhere: Built, project: Project) -> None:
    show = """\
import torch

print(torch.backends.cpu.get_cpu_capability())
print(torch.__config__.parallel_info().splitlines()[1])"""
    for name in ("one", "two"):
        shown = expect("DEFAULT\n\tat::get_num_threads() : 2")
        project.write(f"{name}.md", page(cell(show, shown)))
    for pages in (["one"], ["one", "two"]):  # in a fresh process, and forked
        result = check(elsewhere.project.python, project.root, pages)
        assert result.status == 0, result.output


def test_sphinx_never_imports_torch(elsewhere: Built) -> None:
    root = elsewhere.project.root.parent
    modules = (root / "modules").read_text("utf-8").split()
    assert "sphinx.application" in modules
    assert "torch" not in modules
    assert not (root / "torch.log").exists()


SHOW_STATE = """\
import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

print(torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_anomaly_enabled())
print(torch.are_deterministic_algorithms_enabled(), torch.get_num_threads())
print(torch.get_default_device(), torch.initial_seed() == 7, torch.is_warn_always_enabled())
print(random.random() == random.Random(7).random(), np.get_printoptions()["precision"])
print(torch.tensor(0.123456789))
print("LEFT" in os.environ, os.environ["TZ"], sys.getrecursionlimit(), Path.cwd().name)
print(os.listdir(), os.listdir(tempfile.gettempdir()), [*Path.home().rglob("left*")])
print(warnings.filters[0][0] == "error", hasattr(torch, "left"))
print("left" in globals(), "left" in sys.path, os.umask(0o022) == 0o022)"""

DEFAULT_STATE = """\
True torch.float32 False
False 1
cpu False False
False 8
tensor(0.1235)
False UTC 1000 work
[] [] []
False False
False False True"""

CHANGE_STATE = """\
torch.set_grad_enabled(False)
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.set_anomaly_enabled(True)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(2)
torch.set_warn_always(True)
torch.manual_seed(7)
torch.set_printoptions(precision=2)
torch.left = True
random.seed(7)
np.set_printoptions(precision=2)
warnings.simplefilter("error")
left = True
os.environ.update(LEFT="1", TZ="Asia/Kathmandu", TORCH_LOGS="+autograd", PYTHONWARNINGS="error")
sys.path.insert(0, "left")
sys.setrecursionlimit(2000)
for place in (".", Path.home(), tempfile.gettempdir()):
    Path(place, "left.txt").touch()
start_up = Path.home() / "profile_default" / "startup"
start_up.mkdir(parents=True, exist_ok=True)
_ = (start_up / "left.py").write_text("print('left')")
_ = os.umask(0o077)
os.chdir(Path.home())"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_page_sees_what_another_changed(project: Project, jobs: int) -> None:
    # Each page first shows the state and then changes it, so it does not matter which comes first.
    source = cell(SHOW_STATE, expect(DEFAULT_STATE)) + cell(CHANGE_STATE)
    for name in ("one", "two", "three"):
        project.write(f"{name}.md", page(source, f"Page {name}"))
    result = project.build(f"-j{jobs}", target="check")
    assert result.status == 0, result.output
