"""Which PyTorch, Python and checker a build is made with, without importing torch.

The Sphinx process forks; once an OpenMP thread exists in it, a forked process may hang.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import platform
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]


@cache
def torch_version() -> str:
    """Return the version of the installed PyTorch, such as ``2.13.0``."""
    return importlib.metadata.version("torch").split("+")[0]


def python_version() -> str:
    """Return the version of Python, such as ``3.11.7``."""
    return platform.python_version()


@cache
def torch_git_revision() -> str:
    """Return the git revision that PyTorch was built from."""
    source = (Path(find_spec("torch").origin).parent / "version.py").read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "git_version":
            return ast.literal_eval(node.value)
    raise LookupError("torch/version.py has no git_version")


def fingerprint() -> str:
    """Return a digest of all that a page's result depends on, beside the page itself."""
    parts = [
        importlib.metadata.version("torch"),
        torch_git_revision(),
        sys.version,
        *sorted(path.name for path in _site_packages().glob("*.dist-info")),
    ]
    files = [PROJECT / "requirements.txt", PROJECT / "docs/pages-without-cells.txt"]
    for directory in ("docs/_ext", "docs/_lib"):
        files += sorted((PROJECT / directory).rglob("*.py"))
    digest = hashlib.sha256("\n".join(parts).encode())
    for path in files:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def _site_packages() -> Path:
    return Path(find_spec("sphinx").origin).parent.parent
