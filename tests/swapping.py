"""Give the functions of an imported module the code of a changed file, without importing anew.

A page runs the text of this module in front of its first cell. Only code within functions can be
changed so, and only for what they do from then on: what a module, a class or a decorator did when
it was imported has been done.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all within it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def made_alike(old: CodeType, new: CodeType) -> bool:
    """Tell whether two modules or classes are made in the same way, but for their functions."""

    def way(code: CodeType) -> tuple:
        consts = [const for const in code.co_consts if not isinstance(const, CodeType)]
        return code.co_code, code.co_names, repr(consts)

    return way(old) == way(new)


def versions(file: str, text: str) -> tuple[CodeType, CodeType]:
    """Return the code of a file as it is, and as it would be with another text."""
    texts = Path(file).read_text("utf-8"), text
    # As when the file is imported, whatever this file has from __future__.
    return tuple(compile(source, file, "exec", dont_inherit=True) for source in texts)


def swappable(file: str, text: str) -> bool:
    """Tell whether a file and its changed text differ within functions alone."""
    old, new = (list(codes(code)) for code in versions(file, text))
    return [code.co_qualname for code in old] == [code.co_qualname for code in new] and all(
        first.co_flags & CO_OPTIMIZED or made_alike(first, second)
        for first, second in zip(old, new, strict=True)
    )


def swap(file: str, text: str) -> None:
    """Give the functions of an imported file the code that they have in its changed text."""
    old, new = versions(file, text)
    swapped = {
        # The line is where a page that shows the source finds it, in the file as it is.
        before: after.replace(co_firstlineno=before.co_firstlineno)
        for before, after in zip(codes(old), codes(new), strict=True)
    }
    gc.unfreeze()  # what the template has imported is not listed otherwise
    for found in gc.get_objects():
        # Not isinstance, which asks each object, and some of PyTorch's then warn.
        if type(found) is FunctionType and found.__code__.co_filename == file:
            found.__code__ = swapped.get(found.__code__, found.__code__)
