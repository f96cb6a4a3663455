"""Changes that the pages about leaves must notice."""

from __future__ import annotations

from overlay import Edit

from sabotages.kinds import OPTIMIZER, SGD, Sabotage, attribute, in_place, patch

WRITE_TO_LEAF = """
x = torch.tensor([2.0, 10.0], requires_grad=True)
x.add_(1.0)
print(x)
"""

READ_GRAD_OF_NON_LEAF = """
import warnings
w = torch.ones(2, requires_grad=True) * 2
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    w.grad
print([str(warning.message) for warning in caught])
"""

LEAF_ERROR = (
    Sabotage(
        "the leaf error is gone",
        in_place("""
def change(original, self, *args, **kwargs):
    if is_refused(self):
        with torch.no_grad():
            return original(self, *args, **kwargs)
    return original(self, *args, **kwargs)
"""),
        WRITE_TO_LEAF,
        {
            "index": "the cell has the tag raises-exception but raises nothing",
            "how-this-site-is-checked": "got no error",
        },
    ),
    Sabotage(
        "the leaf error has other words",
        in_place("""
def change(original, self, *args, **kwargs):
    if is_refused(self):
        raise RuntimeError(LEAF_ERROR.replace("Variable", "Tensor"))
    return original(self, *args, **kwargs)
"""),
        WRITE_TO_LEAF,
        {"errors/leaf-in-place": "+a leaf Tensor that requires grad"},
    ),
    Sabotage(
        "the leaf error is a subclass of RuntimeError",
        in_place("""
class LeafError(RuntimeError):
    pass

def change(original, self, *args, **kwargs):
    if is_refused(self):
        raise LeafError(LEAF_ERROR)
    return original(self, *args, **kwargs)
"""),
        WRITE_TO_LEAF,
        {"leaves/in-place-on-a-leaf": 'got torch.LeafError "a leaf Variable'},
    ),
    Sabotage(
        "the leaf error comes after the write",
        in_place("""
def change(original, self, *args, **kwargs):
    if is_refused(self):
        with torch.no_grad():
            original(self, *args, **kwargs)
    return original(self, *args, **kwargs)
"""),
        """
x = torch.tensor([2.0, 10.0], requires_grad=True)
try:
    x.add_(1.0)
except RuntimeError:
    print(x)
""",
        {"errors/leaf-in-place": "-[2.0, 10.0]"},
    ),
    Sabotage(
        "the results of operations are refused too",
        in_place("""
def change(original, self, *args, **kwargs):
    if torch.is_grad_enabled() and self.requires_grad:
        raise RuntimeError(LEAF_ERROR)
    return original(self, *args, **kwargs)
"""),
        "print(torch.ones(2, requires_grad=True).clone().mul_(3.0))",
        {"leaves/in-place-on-a-leaf": "RuntimeError raised in a cell without the tag"},
    ),
    Sabotage(
        "leaves that do not require grad are refused too",
        in_place("""
def change(original, self, *args, **kwargs):
    if torch.is_grad_enabled() and self.is_leaf:
        raise RuntimeError(LEAF_ERROR)
    return original(self, *args, **kwargs)
"""),
        "print(torch.ones(2).add_(1.0))",
        {"leaves/what-is-a-leaf": "RuntimeError raised in a cell without the tag"},
    ),
    Sabotage(
        "a view of a leaf may be written to",
        in_place("""
def change(original, self, *args, **kwargs):
    with torch.set_grad_enabled(torch.is_grad_enabled() and original.__name__ != "__setitem__"):
        return original(self, *args, **kwargs)
"""),
        """
x = torch.ones(2, requires_grad=True)
x[0] = 5.0
print(x)
""",
        {"leaves/in-place-on-a-leaf": "a view of a leaf Variable that requires grad"},
    ),
    Sabotage(
        "an in-place module makes a copy",
        (
            Edit(
                "torch/nn/functional.py",
                "result = torch.relu_(input)",
                "result = torch.relu(input)",
            ),
        ),
        "print(torch.nn.ReLU(inplace=True)(torch.ones(2, requires_grad=True)))",
        {"errors/leaf-in-place": "+tensor([ 2., 10.], grad_fn=<ReluBackward0>)"},
    ),
    Sabotage(
        "an initialiser does not turn grad mode off",
        (
            Edit(
                "torch/nn/init.py",
                "    with torch.no_grad():\n        return tensor.zero_()\n",
                "    return tensor.zero_()\n",
            ),
        ),
        "print(torch.nn.init.zeros_(torch.ones(2, requires_grad=True)))",
        {"errors/leaf-in-place": "RuntimeError raised in a cell without the tag"},
    ),
)

LEAVES = (
    Sabotage(
        "is_leaf is False for what does not require grad",
        attribute("is_leaf", "        return self.requires_grad and read(self)"),
        "print(torch.ones(2).is_leaf)",
        {"leaves/what-is-a-leaf": "-torch.ones(2)        True     False"},
    ),
    Sabotage(
        "requires_grad_ makes a result a leaf",
        patch("""
requires_grad_ = torch.Tensor.requires_grad_
torch.Tensor.requires_grad_ = lambda self: requires_grad_(self.detach_())
"""),
        "print((torch.ones(2, requires_grad=True) * 0.5).requires_grad_().is_leaf)",
        {"leaves/what-is-a-leaf": "+True True"},
    ),
    Sabotage(
        "to always makes a copy",
        patch("""
to = torch.Tensor.to
torch.Tensor.to = lambda self, *args, **kwargs: to(self, *args, **{**kwargs, "copy": True})
"""),
        "print(torch.ones(2, requires_grad=True).to(torch.float32).is_leaf)",
        {"leaves/what-is-a-leaf": "+same tensor: False"},
    ),
    Sabotage(
        "an optimizer takes non-leaves",
        (
            Edit(
                OPTIMIZER,
                """raise ValueError("can't optimize a non-leaf Tensor")""",
                "pass",
            ),
        ),
        "print(len(torch.optim.SGD([torch.ones(2, requires_grad=True) * 2]).param_groups))",
        {"leaves/what-is-a-leaf": """expected ValueError "can't optimize"""},
    ),
    Sabotage(
        "reading .grad of a non-leaf does not warn",
        attribute(
            "grad",
            """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(self)
""",
        ),
        READ_GRAD_OF_NON_LEAF,
        {"leaves/what-is-a-leaf": "expected UserWarning"},
    ),
    Sabotage(
        "the warning about .grad of a non-leaf comes twice",
        attribute(
            "grad",
            """
        with warnings.catch_warnings(record=True) as caught:
            value = read(self)
        for warning in caught:
            warnings.warn(str(warning.message), stacklevel=2)
            warnings.warn(str(warning.message), stacklevel=1)
        return value
""",
        ),
        READ_GRAD_OF_NON_LEAF,
        {"leaves/in-place-on-a-leaf": "undeclared UserWarning"},
    ),
    Sabotage(
        "converting a module replaces its parameters",
        (
            Edit(
                "torch/__future__.py",
                "_overwrite_module_params_on_conversion: bool = False",
                "_overwrite_module_params_on_conversion: bool = True",
            ),
        ),
        """
layer = torch.nn.Linear(1, 1)
weight = layer.weight
layer.double()
print(layer.weight is weight)
""",
        {"leaves/how-leaves-stop-being-leaves": "-True True torch.float64"},
    ),
    Sabotage(
        "backward fills every leaf whatever inputs says",
        (
            Edit(
                "torch/autograd/__init__.py",
                "        inputs_tuple,\n        allow_unreachable=True,\n",
                "        (),\n        allow_unreachable=True,\n",
            ),
        ),
        """
x = torch.ones(1, requires_grad=True)
other = torch.ones(1, requires_grad=True)
(x + other).backward(inputs=[x])
print(other.grad)
""",
        {"leaves/where-gradients-land": "+tensor([3., 3.]) None"},
    ),
    Sabotage(
        "iterating takes one view at a time",
        (
            Edit(
                "torch/_tensor.py",
                "        return iter(self.unbind(0))\n",
                "        return (self[i] for i in range(len(self)))\n",
            ),
        ),
        """
image = torch.ones(2, 3, requires_grad=True).clone()
try:
    for channel in image:
        channel.mul_(2.0)
    print(image)
except RuntimeError as error:
    print(error)
""",
        {"leaves/views-and-slices": "Output 0 of Unbind is a view and is being modified inplace."},
    ),
    Sabotage(
        "a module has a flag requires_grad",
        patch("""
torch.nn.Module.requires_grad = property(
    fget=lambda self: all(p.requires_grad for p in self.parameters()),
    fset=lambda self, value: self.requires_grad_(value),
)
"""),
        """
layer = torch.nn.Linear(1, 1)
layer.requires_grad = False
print(layer.weight.requires_grad)
""",
        {"leaves/changing-requires-grad": "-True False\n+False False"},
    ),
    Sabotage(
        "a fused step is counted",
        (
            Edit(
                SGD,
                "        torch._fused_sgd_(\n",
                "        torch.autograd.graph.increment_version(device_params)\n"
                "        torch._fused_sgd_(\n",
            ),
        ),
        """
p = torch.ones(1, requires_grad=True)
p.grad = torch.ones(1)
torch.optim.SGD([p], fused=True).step()
print(p._version)
""",
        {"leaves/version-counter": "+SGD     version 1, written: True"},
    ),
    Sabotage(
        "deepcopy cuts a result off",
        (
            Edit(
                "torch/_tensor.py",
                "        if not self.is_leaf:\n            raise RuntimeError(\n"
                '                "Only Tensors created explicitly by the user "\n',
                "        if False:\n            raise RuntimeError(\n",
            ),
        ),
        """
import copy
try:
    print(copy.deepcopy(torch.ones(1, requires_grad=True) * 2).is_leaf)
except RuntimeError as error:
    print(error)
""",
        {"leaves/copying-and-saving": 'expected RuntimeError "Only Tensors created explicitly'},
    ),
    Sabotage(
        "a state_dict holds copies",
        (
            Edit(
                "torch/nn/modules/module.py",
                "destination[prefix + name] = param if keep_vars else param.detach()",
                "destination[prefix + name] = param if keep_vars else param.detach().clone()",
            ),
        ),
        """
layer = torch.nn.Linear(1, 1)
layer.state_dict()["weight"].fill_(2.0)
print(layer.weight == 2.0)
""",
        {"leaves/parameters-and-modules": "-1.0 1\n-1.0\n+0.0 0\n+0.0"},
    ),
    Sabotage(
        "vector_to_parameters copies",
        (
            Edit(
                "torch/nn/utils/convert_parameters.py",
                "param.data = vec[pointer : pointer + num_param].view_as(param).data",
                "param.data.copy_(vec[pointer : pointer + num_param].view_as(param))",
            ),
        ),
        """
layer = torch.nn.Linear(1, 1, bias=False)
vector = torch.ones(1)
torch.nn.utils.vector_to_parameters(vector, layer.parameters())
print(layer.weight.data_ptr() == vector.data_ptr())
""",
        {"leaves/computed-weights": "-[[0.0, 0.0]] 0\n+[[1.0, 1.0]] 0"},
    ),
    Sabotage(
        "a leaf refuses logical_not_",
        patch("""
logical_not_ = torch.Tensor.logical_not_

def logical_not_refused(self):
    if torch.is_grad_enabled() and self.requires_grad and self.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used")
    return logical_not_(self)

torch.Tensor.logical_not_ = logical_not_refused
"""),
        "print(torch.ones(2, requires_grad=True).logical_not_())",
        {"leaves/every-in-place-method": "+refused: leaf\n+accepted: view, result, no_grad,"},
    ),
    Sabotage(
        "PyTorch has another version",
        (Edit("torch/version.py", "__version__ = '", "__version__ = '9."),),
        "print(torch.__version__)",
        {"how-this-site-is-checked": "+9."},
    ),
)
