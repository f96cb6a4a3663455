"""Python that nothing ran is found in a fence, whatever the fence calls itself."""

from __future__ import annotations

import pytest
from checked_cells.unrun_python import line_of_python


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("text", "x = torch.ones(2)\nprint(x)\ntensor([3., 3.])\n", 0),
        ("text", "What it shows:\ntensor([3., 3.], grad_fn=<AddBackward0>)\n", 1),
        ("yaml", "import torch\nx.backward()\n", 0),
        ("diff", " same\n-x.add_(1)\n", 1),
        ("console", "$ python\n>>> x\n", 1),
        ("text", "  with torch.no_grad():\n      y\n", 0),
        ("text", "def step(self):\n    pass\n", 0),
        ("toml", "torch.manual_seed(0)\n", 0),
    ],
)
def test_python_is_found(language: str, text: str, line: int) -> None:
    assert line_of_python(text, language) == line


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("text", "RuntimeError: a leaf Variable that requires grad is being used in …\n"),
        ("text", "docs/leaves/x.md:25: expected another output\n"),
        ("yaml", "kernelspec:\n  name: python3\n"),
        ("toml", "[tool.ruff]\nline-length = 100\n"),
        ("bash", "make html PYTHON=python3.12\n"),
        ("diff", "--- declared\n+++ shown\n@@ -1 +1 @@\n-True\n+False\n"),
        ("markdown", "```{code-cell} python\nprint(1)\n```\n"),
    ],
)
def test_other_text_is_left_alone(language: str, text: str) -> None:
    assert line_of_python(text, language) is None
