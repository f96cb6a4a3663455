"""Changes that the pages about messages must notice."""

from __future__ import annotations

from overlay import Edit

from sabotages.kinds import OPTIMIZER, Sabotage, attribute, patch

# The pages named after a message.
IN_PLACE_ERRORS = (
    Sabotage(
        "fill_diagonal_ writes without a view",
        patch("""
fill_diagonal_ = torch.Tensor.fill_diagonal_

def filled(self, value):
    if torch.is_grad_enabled() and self.requires_grad and self.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    return fill_diagonal_(self, value)

torch.Tensor.fill_diagonal_ = filled
"""),
        """
try:
    torch.ones(2, 2, requires_grad=True).fill_diagonal_(0.0)
except RuntimeError as error:
    print(error)
""",
        {"errors/view-of-a-leaf": "-a view of a leaf Variable that requires grad is being used"},
    ),
    Sabotage(
        "sigmoid does not save its result",
        patch("torch.Tensor.sigmoid = lambda self: (self / 2).tanh() / 2 + 0.5\n"),
        """
h = torch.zeros(2, requires_grad=True).sigmoid()
h += 1.0
try:
    h.sum().backward()
    print("accepted")
except RuntimeError:
    print("refused")
""",
        {"errors/modified-by-an-inplace-operation": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "detach makes a copy",
        patch("torch.Tensor.detach = lambda self: self.data.clone()\n"),
        """
x = torch.ones(2, requires_grad=True)
row = x.detach()
with torch.no_grad():
    x.add_(1.0)
print(row)
""",
        {"errors/view-created-in-no-grad": "-tensor([9.])\n+tensor([6.])"},
    ),
    Sabotage(
        "tensor_split makes its views together",
        patch("torch.Tensor.tensor_split = torch.Tensor.chunk\n"),
        "print(torch.ones(2, requires_grad=True).tensor_split(2)[0].grad_fn.name())",
        {"errors/view-of-multiple-outputs": "RuntimeError raised in a cell without the tag"},
    ),
    Sabotage(
        "the result of a custom function is no view",
        (
            Edit(
                "torch/autograd/function.py",
                "            return super().apply(*args, **kwargs)  # type: ignore[misc]\n",
                "            result = super().apply(*args, **kwargs)\n"
                "            return result.clone() if torch.is_tensor(result) else result\n",
            ),
        ),
        """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

print(Same.apply(torch.ones(2, requires_grad=True))._is_view())
""",
        {"errors/view-in-custom-function": "-False True\n+False False"},
    ),
    Sabotage(
        "mark_dirty marks nothing",
        (
            Edit(
                "torch/autograd/function.py",
                "        self.dirty_tensors = args\n",
                "        self.dirty_tensors = ()\n",
            ),
        ),
        """
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

x = torch.ones(2, requires_grad=True).clone()
print(Same.apply(x) is x)
""",
        {"errors/mark-dirty": "-True DoubleBackward\n+False DoubleBackward"},
    ),
    Sabotage(
        "add with out detaches its inputs",
        patch("""
recorded_add = torch.add

def add_detached(input, other, *, out=None):
    if out is None:
        return recorded_add(input, other)
    return recorded_add(input.detach(), other, out=out)

torch.add = add_detached
"""),
        """
out = torch.empty(2)
try:
    torch.add(torch.ones(2, requires_grad=True), 1.0, out=out)
except RuntimeError:
    pass
print(out.tolist() == [2.0, 2.0])
""",
        {"errors/out-does-not-support-autograd": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "inference tensors count their versions",
        attribute("_version", "        return 0 if self.is_inference() else read(self)"),
        """
with torch.inference_mode():
    x = torch.ones(2)
try:
    print(x._version)
except RuntimeError as error:
    print(error)
""",
        {"errors/inference-tensor-inplace": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a linear layer takes a copy of an inference tensor",
        (
            Edit(
                "torch/nn/modules/linear.py",
                "        return F.linear(input, self.weight, self.bias)\n",
                "        if input.is_inference():\n            input = input.clone()\n"
                "        return F.linear(input, self.weight, self.bias)\n",
            ),
        ),
        """
with torch.inference_mode():
    x = torch.ones(2)
try:
    torch.nn.Linear(2, 1)(x)
    print("accepted")
except RuntimeError as error:
    print(error)
""",
        {"errors/inference-tensor-saved-for-backward": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a parameter is made of a copy of an inference tensor",
        (
            Edit(
                "torch/nn/parameter.py",
                "        if data is None:\n            data = torch.empty(0)\n"
                "        if type(data) is torch.Tensor or type(data) is Parameter:\n",
                "        if data is None:\n            data = torch.empty(0)\n"
                "        if data.is_inference():\n            data = data.clone()\n"
                "        if type(data) is torch.Tensor or type(data) is Parameter:\n",
            ),
        ),
        """
with torch.inference_mode():
    x = torch.ones(2)
try:
    print(torch.nn.Parameter(x))
except RuntimeError as error:
    print(error)
""",
        {"errors/inference-tensor-requires-grad": "raises-exception but raises nothing"},
    ),
)

BACKWARD_ERRORS = (
    Sabotage(
        "backward of a loss without history does nothing",
        patch("""
backward = torch.Tensor.backward
torch.Tensor.backward = lambda self, *args, **kwargs: (
    backward(self, *args, **kwargs) if self.requires_grad else None
)
"""),
        "torch.ones(1).backward()",
        {"errors/does-not-require-grad": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "backward always retains the graph",
        (
            Edit(
                "torch/_tensor.py",
                "self, gradient, retain_graph, create_graph, inputs=inputs",
                "self, gradient, True, create_graph, inputs=inputs",
            ),
        ),
        """
loss = torch.ones(1, requires_grad=True).exp()
loss.backward()
loss.backward()
""",
        {"errors/backward-second-time": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "reading .grad of a non-leaf raises",
        attribute(
            "grad",
            """
        if not self.is_leaf and not self.retains_grad:
            raise AttributeError("a non-leaf has no .grad")
        return read(self)
""",
        ),
        "print(hasattr(torch.ones(1, requires_grad=True) * 2, 'grad'))",
        {"errors/non-leaf-grad": "AttributeError raised in a cell without the tag"},
    ),
    Sabotage(
        "an optimizer refuses a result that retains its gradient",
        (
            Edit(
                OPTIMIZER,
                "param.is_leaf or param.retains_grad",
                "param.is_leaf",
            ),
        ),
        """
w = torch.ones(1, requires_grad=True) * 2
w.retain_grad()
torch.optim.SGD([w])
""",
        {"errors/optimize-a-non-leaf": "ValueError raised in a cell without the tag"},
    ),
    Sabotage(
        "assigning requires_grad to a result is ignored",
        patch("""
def ignore_results():
    flag = torch.Tensor.requires_grad

    def assign(self, value):
        if self.is_leaf:
            flag.__set__(self, value)

    torch.Tensor.requires_grad = property(flag.__get__, assign)

ignore_results()
"""),
        "(torch.ones(1, requires_grad=True) * 2).requires_grad = False",
        {"errors/change-requires-grad-of-non-leaf": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a tensor that took no part gets None",
        (
            Edit(
                "torch/autograd/__init__.py",
                "        allow_unused = materialize_grads\n",
                "        allow_unused = True\n",
            ),
        ),
        """
x = torch.ones(1, requires_grad=True)
torch.autograd.grad(x * 2, torch.ones(1, requires_grad=True))
""",
        {"errors/not-used-in-the-graph": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a deep copy of a result is detached",
        patch("""
deepcopy = torch.Tensor.__deepcopy__
torch.Tensor.__deepcopy__ = lambda self, memo: deepcopy(
    self if self.is_leaf else self.detach(), memo
)
"""),
        """
import copy
copy.deepcopy(torch.ones(1, requires_grad=True) * 2)
""",
        {"errors/deepcopy-non-leaf": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a checkpoint is not reentrant unless asked",
        (
            Edit(
                "torch/utils/checkpoint.py",
                """variants.",
            stacklevel=2
        )
        use_reentrant = True""",
                """variants.",
            stacklevel=2
        )
        use_reentrant = False""",
            ),
        ),
        """
from torch.utils.checkpoint import checkpoint
print(checkpoint(torch.nn.Linear(1, 1), torch.ones(1)).requires_grad)
""",
        {"errors/checkpoint-no-grad-inputs": "-False\n+True"},
    ),
    Sabotage(
        "backward of several elements starts with ones",
        patch("""
backward = torch.Tensor.backward
torch.Tensor.backward = lambda self, gradient=None, *args, **kwargs: backward(
    self, torch.ones_like(self) if gradient is None else gradient, *args, **kwargs
)
"""),
        "torch.ones(2, requires_grad=True).backward()",
        {"errors/only-scalar-outputs": "raises-exception but raises nothing"},
    ),
)

OTHER_ERRORS = (
    Sabotage(
        "numpy() detaches by itself",
        patch("""
to_numpy = torch.Tensor.numpy
torch.Tensor.numpy = lambda self, *, force=False: to_numpy(self, force=True)
"""),
        "print(torch.ones(1, requires_grad=True).numpy())",
        {"errors/numpy-on-requires-grad": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a tensor assigned as a parameter becomes one",
        (
            Edit(
                "torch/nn/modules/module.py",
                """            if value is not None:
                raise TypeError(
                    f"cannot assign '{torch.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
""",
                """            if value is not None:
                value = Parameter(value)
""",
            ),
        ),
        "torch.nn.Linear(1, 1).weight = torch.ones(1, 1)",
        {"errors/cannot-assign-to-parameter": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "requires_grad_() of integers is ignored",
        patch("""
require = torch.Tensor.requires_grad_
torch.Tensor.requires_grad_ = lambda self, requires_grad=True: (
    require(self, requires_grad and self.dtype != torch.int64)
)
"""),
        "torch.arange(2).requires_grad_()",
        {"errors/only-floating-point": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "item() keeps the graph",
        patch("torch.Tensor.item = lambda self: self"),
        "print(type(torch.ones(1).item()))",
        {"errors/no-attribute-backward": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "float of a tensor never warns",
        patch("torch.Tensor.__float__ = lambda self: self.item()"),
        """
import warnings
torch.set_warn_always(True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    float(torch.ones(1, requires_grad=True))
print(len(caught))
""",
        {"errors/converting-to-a-scalar": "-float(loss)           warns"},
    ),
    Sabotage(
        "LBFGS without a closure makes no step",
        (
            Edit(
                "torch/optim/lbfgs.py",
                "    def step(self, closure):  # type: ignore[override]\n",
                "    def step(self, closure=None):\n        if closure is None:\n"
                "            return None\n",
            ),
        ),
        "print(torch.optim.LBFGS([torch.ones(1, requires_grad=True)]).step())",
        {"errors/step-lacks-closure": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a leaf without a gradient shows zeros",
        attribute(
            "grad",
            """
        grad = read(self)
        if grad is None and self.is_leaf and self.requires_grad:
            return torch.zeros_like(self)
        return grad
""",
        ),
        "print(torch.ones(1, requires_grad=True).grad)",
        {"errors/grad-is-none": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "retain_grad without requires_grad does nothing",
        patch("""
retain = torch.Tensor.retain_grad
torch.Tensor.retain_grad = lambda self: retain(self) if self.requires_grad else None
"""),
        "torch.ones(1).retain_grad()",
        {"errors/retain-grad-refused": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "a tensor that requires grad counts as a number",
        patch("""
addcdiv_ = torch.Tensor.addcdiv_

def with_number(self, one, other, *, value=1):
    if isinstance(value, torch.Tensor):
        value = value.item()
    return addcdiv_(self, one, other, value=value)

torch.Tensor.addcdiv_ = with_number
"""),
        """
value = torch.ones((), requires_grad=True)
torch.ones(1).addcdiv_(torch.ones(1), torch.ones(1), value=value)
""",
        {
            "errors/must-be-number": "raises-exception but raises nothing",
            "optimizer-step/differentiable-done-right": "-Adagrad          agrees    number",
        },
    ),
)
