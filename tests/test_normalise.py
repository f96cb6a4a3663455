"""What differs from run to run is taken out, and nothing else."""

import tempfile

import pytest
import torch
from checked import TEXT
from checked_cells.normalise import normalise
from hypothesis import given

PAIRS = {
    "address": ("<A object at 0x7f00ab12>", "<A object at 0x…>"),
    "two addresses": ("at 0x1 at 0xFF", "at 0x… at 0x…"),
    "a number is no address": ("0x7f00ab12 bat 0x12", "0x7f00ab12 bat 0x12"),
    "source of a warning": ("Old. (Triggered internally at /a/b.cpp:12.)", "Old."),
    "source of a warning on its own line": (
        "Old.\n (Triggered internally at x)\nmore",
        "Old.\nmore",
    ),
    "colour": ("\x1b[31mred\x1b[0m \x1b[1;38;5;9mx\x1b[K", "red x"),
    "temporary name": ("/tmp/tmpab12cd_9/x.pt", "/tmp/tmp…/x.pt"),
    "no temporary name": ("/tmp/tmpab12cd_90/x tmpab12cd_9", "/tmp/tmpab12cd_90/x tmpab12cd_9"),
    "room": (f"{tempfile.gettempdir()}/page-ab12cd_9/home/x", "/tmp/home/x"),
    "installation": (f"{torch.__path__[0]}/optim/sgd.py:1", "torch/optim/sgd.py:1"),
    "standard library": (
        f"{pytest.__file__} {tempfile.__file__}",
        "pytest/__init__.py tempfile.py",
    ),
    "spaces and lines": ("  a \n\n\tb  \n", "  a \n\n\tb  \n"),
    "numbers": ("tensor([1.0000, 2.5000])", "tensor([1.0000, 2.5000])"),
}


@pytest.mark.parametrize(("text", "normal"), PAIRS.values(), ids=PAIRS)
def test_normalise(text: str, normal: str) -> None:
    assert normalise(text) == normal


@given(TEXT)
def test_normal_text_stays(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_nested_sources_of_a_warning() -> None:
    text = "(Triggered internally at (Triggered internally at x) y)"
    assert normalise(text) == normalise(normalise(text))
