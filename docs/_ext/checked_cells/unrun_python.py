"""Find Python, or what looks like PyTorch's output, in a fence that nothing runs.

A reader takes it for something that was run, whatever language the fence names. Markdown is left
alone: it is shown to say how a page is written.
"""

from __future__ import annotations

import ast
import re
import textwrap

PROMPT = re.compile(r"^\s*(>>> |\.\.\. |In \[\d+\]:|Out\[\d+\]:)")
OUTPUT = re.compile(r"\btensor\(")
RUNS = (ast.Call, ast.Import, ast.ImportFrom, ast.With, ast.FunctionDef, ast.ClassDef)


def line_of_python(text: str, language: str) -> int | None:
    """Return the line, counted from 0, on which Python or its output begins, or None.

    Args:
        text: the body of a fence.
        language: as the fence names it.
    """
    if language == "markdown":
        return None
    for number, line in enumerate(text.split("\n")):
        if language == "diff":
            line = line[1:]
        if PROMPT.match(line) or OUTPUT.search(line) or _is_python(line):
            return number
    return 0 if _is_python(textwrap.dedent(text)) else None


def _is_python(text: str) -> bool:
    """Tell whether a text is Python that does something; a name or a setting alone is not."""
    text = text.strip()
    for source in (text, f"{text} pass"):  # the head of a `with` or `def` needs a body
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        return any(isinstance(node, RUNS) for node in ast.walk(tree))
    return False
