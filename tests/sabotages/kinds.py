"""What a sabotage is, and ways in which PyTorch is changed for one."""

from __future__ import annotations

from dataclasses import dataclass

from overlay import Edit

OPTIMIZER = "torch/optim/optimizer.py"

SGD = "torch/optim/sgd.py"

GRAD_MODE = "torch/autograd/grad_mode.py"


@dataclass(frozen=True)
class Sabotage:
    """A change to PyTorch.

    Attributes:
        name: what is different, in a few words.
        change: edits of PyTorch's files, or code that runs before a page's first cell.
        proof: code that prints something else when PyTorch is changed.
        notices: the pages that must fail, each with a text that its failures must show.
    """

    name: str
    change: tuple[Edit, ...] | str
    proof: str
    notices: dict[str, str]


def patch(code: str) -> str:
    """Change PyTorch by code that replaces something in it."""
    return f"import torch\n{code}"


def in_place(code: str) -> str:
    """Put `change`, a function defined by `code`, in front of in-place operations.

    It is called with the original operation, the tensor, and the operation's arguments.
    """
    return patch(f"""
LEAF_ERROR = "a leaf Variable that requires grad is being used in an in-place operation."

def is_refused(tensor):
    return torch.is_grad_enabled() and tensor.requires_grad and tensor.is_leaf

{code}

def put_in_front_of(name):
    original = getattr(torch.Tensor, name)

    def operation(self, *args, **kwargs):
        return change(original, self, *args, **kwargs)

    setattr(torch.Tensor, name, operation)

for name in ("add_", "sub_", "mul_", "__iadd__", "__isub__", "__setitem__"):
    put_in_front_of(name)
""")


def attribute(name: str, getter: str) -> str:
    """Replace what reading an attribute of a tensor gives; `read` gives the original value."""
    return patch(f"""
import warnings

def replace_attribute():
    original = getattr(torch.Tensor, {name!r})
    read = original.__get__

    def get(self):
{getter}

    setattr(torch.Tensor, {name!r}, property(get, original.__set__, original.__delete__))

replace_attribute()
""")
