"""Read the Docs builds what `make html` builds, from what `make html` installs.

Nobody sees Read the Docs' configuration fail before it is published, so it is read here. Each check
is also shown configurations that it has to refuse.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIGURATION = (ROOT / ".readthedocs.yaml").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "tests" / "readthedocs.schema.json").read_text(encoding="utf-8"))
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PIN = next(line for line in REQUIREMENTS.splitlines() if line.startswith("torch=="))
CPU_INDEX = "https://download.pytorch.org/whl/cpu"

# Stands in for pip: notes how it was called, and cannot reach what it is told not to.
FAKE_PIP = """
import json, os, sys
with open(os.environ["PIP_CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(os.environ["UNREACHABLE"] in sys.argv)
"""


def unknown_or_wrong_keys(configuration: str) -> list[str]:
    """Return what Read the Docs would refuse to read."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    return [error.message for error in validator.iter_errors(yaml.safe_load(configuration))]


def general(command: str) -> list[str]:
    """Return a build command's words, its interpreter, doctree and output directories left out."""
    words = shlex.split(command)
    words[0] = re.sub(r"^(.*/)?python3?$", "PYTHON", words[0])
    words[words.index("-d") + 1] = "DOCTREES"
    words[-1] = "OUTPUT"
    return words


def makefile_command() -> list[str]:
    """Return the words of the Makefile's build command."""
    # The settings of a `make test JOBS=1` around this test are not the Makefile's.
    environment = {name: v for name, v in os.environ.items() if name not in ("MAKEFLAGS", "JOBS")}
    lines = subprocess.check_output(["make", "-n", "html"], cwd=ROOT, env=environment, text=True)
    (command,) = [line for line in lines.splitlines() if " -m sphinx " in line]
    return general(command)


def builds_otherwise(configuration: str) -> list[str]:
    """Return in which way Read the Docs would build other than the Makefile."""
    (command,) = yaml.safe_load(configuration)["build"]["jobs"]["build"]["html"]
    problems = []
    if general(command) != makefile_command():
        problems.append(f"{general(command)} is not {makefile_command()}")
    if shlex.split(command)[-1] != "$READTHEDOCS_OUTPUT/html":
        problems.append("the site is not written to where Read the Docs publishes from")
    return problems


def pip_calls(configuration: str, folder: Path, unreachable: str = "") -> tuple[bool, list[str]]:
    """Run the install commands with a pip that only takes notes; return success and the notes."""
    venv = folder / "venv"
    subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", venv])
    (package,) = (venv / "lib").glob("python3*/site-packages")
    (package / "pip").mkdir()
    (package / "pip" / "__main__.py").write_text(FAKE_PIP)
    (venv / "bin" / "pip").write_text('#!/bin/sh\nexec python -m pip "$@"\n')
    (venv / "bin" / "pip").chmod(0o755)
    calls = folder / "calls"
    calls.touch()
    environment = os.environ | {
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "PIP_CALLS": str(calls),
        "UNREACHABLE": unreachable,
    }
    commands = yaml.safe_load(configuration)["build"]["jobs"]["install"]
    done = all(
        subprocess.run(command, shell=True, cwd=folder, env=environment).returncode == 0
        for command in commands
    )
    return done, [" ".join(json.loads(line)) for line in calls.read_text().splitlines()]


def installs_cuda(configuration: str, folder: Path) -> list[str]:
    """Return why Read the Docs could come to install a CUDA build of PyTorch, if it could."""
    for name in ("answers", "fails"):
        shutil.copytree(ROOT / "tools", folder / name / "tools")
        shutil.copy(ROOT / "requirements.txt", folder / name)
    done, calls = pip_calls(configuration, folder / "answers")
    assert done, "the install commands fail"
    problems = []
    first, *rest = calls
    if not all(part in first for part in (PIN, f"--index-url {CPU_INDEX}", "--no-deps")):
        problems.append(f"pip does not begin with {PIN} from the CPU index but with: {first}")
    if "--extra-index-url" in " ".join(calls):
        problems.append("pip chooses among several indexes")
    if not any("-r" in call and "requirements.txt" in call for call in rest):
        problems.append("requirements.txt is not installed after PyTorch")
    if pip_calls(configuration, folder / "fails", unreachable=CPU_INDEX)[0]:
        problems.append("where the CPU index does not answer, the build goes on")
    return problems


def test_read_the_docs_can_read_it() -> None:
    assert unknown_or_wrong_keys(CONFIGURATION) == []


def test_read_the_docs_builds_as_the_makefile_does() -> None:
    assert builds_otherwise(CONFIGURATION) == []


def test_read_the_docs_installs_the_cpu_build(tmp_path: Path) -> None:
    assert installs_cuda(CONFIGURATION, tmp_path) == []


def changed(old: str, new: str) -> str:
    """Return the configuration with one thing changed."""
    assert old in CONFIGURATION
    return CONFIGURATION.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("  tools:", "  image: latest\n  tools:", "'image' was unexpected"),
        ("    install:", "    instal: [make]\n    install:", "'instal' was unexpected"),
        ("      html:", "      htmlzip: [make]\n      html:", "'htmlzip' was unexpected"),
        ('python: "3.11"', "python: 3.11", "3.11 is not of type 'string'"),
        ('python: "3.11"', 'python: "3.9"', "'3.9' does not match"),
        ("ubuntu-24.04", "ubuntu-20.04", "'ubuntu-20.04' is not one of"),
        ("version: 2", "version: 1", "2 was expected"),
        ("configuration: conf.py", "configuration: docs/conf.py", "'conf.py' was expected"),
        ("sphinx:\n  configuration: conf.py", "", "'sphinx' is a required property"),
    ],
)
def test_keys_that_are_refused(old: str, new: str, problem: str) -> None:
    problems = unknown_or_wrong_keys(changed(old, new))
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" -W ", " "),
        (" -b html ", " -b dirhtml "),
        (" -j auto ", " -j 1 "),
        (" -c . docs ", " . "),
        ("$READTHEDOCS_OUTPUT/html", "_build/html"),
        ("python -I -X utf8 -m sphinx", "sh -m sphinx"),
    ],
)
def test_build_commands_that_are_refused(old: str, new: str) -> None:
    assert len(builds_otherwise(changed(old, new))) == 1


def test_interpreter_and_doctree_directory_are_free() -> None:
    moved = changed("python -I", "/opt/python3 -I").replace("_build/doctrees", "/d")
    assert builds_otherwise(moved) == []


FROM_CPU_INDEX = f"pip install --no-deps --index-url {CPU_INDEX} {PIN}"


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        (["pip install -r requirements.txt"], f"pip does not begin with {PIN}"),
        ([f"pip install {PIN}", "pip install -r requirements.txt"], "from the CPU index"),
        ([FROM_CPU_INDEX.replace("index", "extra-index")], "pip chooses among several indexes"),
        ([FROM_CPU_INDEX], "requirements.txt is not installed after PyTorch"),
        ([f"{FROM_CPU_INDEX} || true", "pip install -r requirements.txt"], "the build goes on"),
    ],
)
def test_installations_that_are_refused(commands: list[str], problem: str, tmp_path: Path) -> None:
    ours = "- python tools/set_up.py --into-current-environment"
    other = changed(ours, "\n      ".join(f"- {json.dumps(command)}" for command in commands))
    assert problem in "\n".join(installs_cuda(other, tmp_path))
