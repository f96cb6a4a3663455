"""Scratch Python environments whose PyTorch is changed, while the real one is never written to.

Such an environment is made of links to the installed packages. Only the changed files, and the
directories on the way to them, are real.
"""

from __future__ import annotations

import json
import shutil
import sysconfig
import venv
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from conftest import Result, run

INSTALLED = Path(find_spec("torch").origin).parents[1]

# The __pycache__ directories are links to the real ones, like all others.
NO_BYTECODE = "import sys; sys.dont_write_bytecode = True\n"

# A proof runs in a forked process of its own: one import of torch does for many.
PROVE = """
import contextlib, io, json, os, sys
import torch

def shown(proof):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(proof, {"torch": torch})
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return out.getvalue()

proofs = json.load(sys.stdin)
if len(proofs) > 1:
    import torch._dynamo  # takes seconds, and every optimizer's step imports it
results = []
for proof in proofs:
    read, write = os.pipe()
    if not os.fork():
        with os.fdopen(write, "w") as stream:
            stream.write(shown(proof))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        results.append(stream.read())
    os.wait()
json.dump(results, sys.stdout)
"""


@dataclass(frozen=True)
class Edit:
    """A change to an installed file.

    Attributes:
        file: from the directory of the installed packages.
        old: text that the file holds exactly once, or None to append.
        new: what takes its place.
    """

    file: str
    old: str | None
    new: str

    def apply(self, text: str) -> str:
        """Return the file's text with the change."""
        if self.old is None:
            return f"{text}\n{self.new}"
        found = text.count(self.old)
        if found != 1:
            raise LookupError(f"{self.file} holds {self.old!r} {found} times, not once")
        return text.replace(self.old, self.new)


def changed_files(edits: tuple[Edit, ...]) -> dict[str, str]:
    """Return the texts of the files that the edits change, by their names."""
    texts: dict[str, str] = {}
    for edit in edits:
        text = texts.get(edit.file) or (INSTALLED / edit.file).read_text("utf-8")
        texts[edit.file] = edit.apply(text)
    return texts


def make_environment(root: Path, edits: tuple[Edit, ...]) -> Path:
    """Make a virtual environment with changed packages; return its interpreter."""
    venv.EnvBuilder(symlinks=True).create(root)
    packages = site_packages(root)
    _link_entries(INSTALLED, packages)
    (packages / "no_bytecode.pth").write_text(NO_BYTECODE, "utf-8")
    for file, text in changed_files(edits).items():
        _own_file(packages, file).write_text(text, "utf-8")
    return root / "bin" / "python"


def site_packages(root: Path) -> Path:
    """Return where an environment holds its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(root)}))


def _link_entries(source: Path, target: Path) -> None:
    for entry in source.iterdir():
        (target / entry.name).symlink_to(entry)


def _own_file(packages: Path, file: str) -> Path:
    """Put a copy in the place of a linked file, and directories in the place of linked ones."""
    path = packages
    for name in Path(file).parts[:-1]:
        path /= name
        if path.is_symlink():
            real = path.readlink()
            path.unlink()
            path.mkdir()
            _link_entries(real, path)
    path = packages / file
    if path.is_symlink():
        real = path.readlink()
        path.unlink()
        shutil.copyfile(real, path)
    return path


def prove(python: str | Path, proofs: list[str], cwd: Path) -> list[str]:
    """Return what each of the proofs prints under an interpreter's PyTorch."""
    script = cwd / "prove.py"
    script.write_text(PROVE, "utf-8")
    done = run(python, "-I", script, cwd=cwd, stdin=json.dumps(proofs))
    assert done.status == 0, done.output
    return json.loads(done.stdout)


def check(python: str | Path, root: Path, pages: list[str], jobs: int = 1) -> Result:
    """Check pages of the project in `root` as `make check PAGES=…` does, by another interpreter."""
    names = [f"docs/{page}.md" for page in pages]
    command = (python, "-I", "docs/_ext/checked_cells", "check", "--jobs", str(jobs), *names)
    return run(*command, cwd=root)
