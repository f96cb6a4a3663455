"""Changes to PyTorch, and the pages that must notice them.

A sabotage is a way in which another PyTorch could behave. Where the behaviour is written in Python,
its source is edited; where it is written in C++, Python is put in front of it at the end of
``torch/__init__.py``.
"""

from sabotages.errors import BACKWARD_ERRORS, IN_PLACE_ERRORS, OTHER_ERRORS
from sabotages.grad_modes import GRAD_MODE_REACH, GRAD_MODES
from sabotages.kinds import Sabotage
from sabotages.leaves import LEAF_ERROR, LEAVES
from sabotages.optimizer_step import DECORATOR, OPTIMIZER_USE, OPTIMIZERS, STEPS

__all__ = ["SABOTAGES", "Sabotage"]

SABOTAGES = (
    *LEAF_ERROR,
    *LEAVES,
    *GRAD_MODES,
    *GRAD_MODE_REACH,
    *DECORATOR,
    *OPTIMIZERS,
    *OPTIMIZER_USE,
    *STEPS,
    *IN_PLACE_ERRORS,
    *BACKWARD_ERRORS,
    *OTHER_ERRORS,
)
