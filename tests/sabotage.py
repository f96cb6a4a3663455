"""Changes to PyTorch, and the pages that must notice them.

A sabotage is a way in which another PyTorch could behave. Where the behaviour is written in Python,
its source is edited; where it is written in C++, Python is put in front of it at the end of
``torch/__init__.py``.
"""

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
        edits: the change.
        proof: code that prints something else when PyTorch is changed.
        notices: the pages that must fail, each with a text that its failures must show.
    """

    name: str
    edits: tuple[Edit, ...]
    proof: str
    notices: dict[str, str]


def appended(code: str) -> tuple[Edit, ...]:
    """Put code at the end of ``torch/__init__.py``."""
    return (Edit("torch/__init__.py", None, f"import torch\n{code}"),)


def in_place(code: str) -> tuple[Edit, ...]:
    """Put `change`, a function defined by `code`, in front of in-place operations.

    It is called with the original operation, the tensor, and the operation's arguments.
    """
    return appended(f"""
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


def attribute(name: str, getter: str) -> tuple[Edit, ...]:
    """Replace what reading an attribute of a tensor gives; `read` gives the original value."""
    return appended(f"""
import warnings

def replace_attribute():
    original = getattr(torch.Tensor, {name!r})
    read = original.__get__

    def get(self):
{getter}

    setattr(torch.Tensor, {name!r}, property(get, original.__set__, original.__delete__))

replace_attribute()
""")


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

DECORATED = """
from torch.optim.optimizer import _use_grad_for_differentiable

class Probe:
    def __init__(self, differentiable):
        self.defaults = {"differentiable": differentiable}
        self.param_groups = [{"differentiable": False}]

    @_use_grad_for_differentiable
    def step(self, body):
        return body()

"""

SGD_STEP = """
x = torch.ones(2, requires_grad=True)
x.grad = torch.ones(2)
opt = torch.optim.SGD([x], lr=1.0, momentum=0.5)
opt.step()
"""

CALLS_IN_STEP = f"""
import sys
{SGD_STEP}
sys.setprofile(lambda frame, event, _: event == "call" and print(frame.f_code.co_qualname))
opt.step()
sys.setprofile(None)
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
        appended("""
requires_grad_ = torch.Tensor.requires_grad_
torch.Tensor.requires_grad_ = lambda self: requires_grad_(self.detach_())
"""),
        "print((torch.ones(2, requires_grad=True) * 0.5).requires_grad_().is_leaf)",
        {"leaves/what-is-a-leaf": "+True True"},
    ),
    Sabotage(
        "to always makes a copy",
        appended("""
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
        appended("""
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
        appended("""
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

GRAD_MODES = (
    Sabotage(
        "no_grad does nothing",
        (
            Edit(
                GRAD_MODE,
                "self.prev = torch.is_grad_enabled()\n        torch.set_grad_enabled(False)",
                "self.prev = torch.is_grad_enabled()",
            ),
        ),
        "with torch.no_grad():\n    print(torch.is_grad_enabled())",
        {
            "leaves/in-place-on-a-leaf": "RuntimeError raised in a cell without the tag",
        },
    ),
    Sabotage(
        "no_grad does not restore the mode",
        (Edit(GRAD_MODE, "        torch.set_grad_enabled(self.prev)", "        pass"),),
        "with torch.no_grad():\n    pass\nprint(torch.is_grad_enabled())",
        {"grad-mode/no-grad": "-True\n+False"},
    ),
    Sabotage(
        "no_grad does nothing as a decorator",
        (
            Edit(
                "torch/utils/_contextlib.py",
                "        with ctx_factory():\n            return func(*args, **kwargs)\n",
                "        return func(*args, **kwargs)\n",
            ),
        ),
        "print(torch.no_grad()(torch.is_grad_enabled)())",
        {"optimizer-step/why-step-may-write": "RuntimeError raised in a cell without the tag"},
    ),
    Sabotage(
        "enable_grad does nothing",
        (Edit(GRAD_MODE, "torch._C._set_grad_enabled(True)", "pass"),),
        "with torch.no_grad(), torch.enable_grad():\n    print(torch.is_grad_enabled())",
        {"grad-mode/no-grad": "got no error"},
    ),
    Sabotage(
        "a view made under no_grad does not require grad",
        appended("""
getitem = torch.Tensor.__getitem__

def detached_without_grad(self, index):
    item = getitem(self, index)
    return item if torch.is_grad_enabled() else item.detach()

torch.Tensor.__getitem__ = detached_without_grad
"""),
        """
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    print(x[0].requires_grad)
""",
        {"grad-mode/no-grad": "-None True"},
    ),
    Sabotage(
        "the version counter misses edits under no_grad",
        in_place("""
def change(original, self, *args, **kwargs):
    if torch.is_grad_enabled():
        return original(self, *args, **kwargs)
    with torch.autograd._unsafe_preserve_version_counter(self):
        return original(self, *args, **kwargs)
"""),
        """
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    x.add_(1.0)
print(x._version)
""",
        {"grad-mode/no-grad": "-1\n+0"},
    ),
    Sabotage(
        "the version counter sees edits of .data",
        attribute("data", "        return self.detach()"),
        """
x = torch.ones(2, requires_grad=True)
x.data.add_(1.0)
print(x._version)
""",
        {"errors/leaf-in-place": "has been modified by an inplace operation"},
    ),
)

# The pages about grad mode. Each of these is a behaviour that readers expect, and PyTorch has not.
GRAD_MODE_REACH = (
    Sabotage(
        "detach has a version counter of its own",
        appended("torch.Tensor.detach = lambda self: self.data\n"),
        """
x = torch.ones(2, requires_grad=True)
x.detach().add_(1.0)
print(x._version)
""",
        {"grad-mode/data-detach-or-no-grad": "+x.detach()         True   False"},
    ),
    Sabotage(
        "a decorated generator is like any function",
        (
            Edit(
                "torch/utils/_contextlib.py",
                "if inspect.isgeneratorfunction(func):",
                "if False:",
            ),
        ),
        """
@torch.no_grad()
def modes():
    yield torch.is_grad_enabled()

print(list(modes()))
""",
        {"grad-mode/how-far-it-reaches": "-False True\n+True True"},
    ),
    Sabotage(
        "a decorated async def runs in the decorator's mode",
        (
            Edit(
                "torch/utils/_contextlib.py",
                "    if inspect.isgeneratorfunction(func):\n",
                """\
    if inspect.iscoroutinefunction(func):

        @functools.wraps(func)
        async def coroutine(*args, **kwargs):
            with ctx_factory():
                return await func(*args, **kwargs)

        return coroutine

    if inspect.isgeneratorfunction(func):
""",
            ),
        ),
        """
import asyncio

@torch.no_grad()
async def mode():
    return torch.is_grad_enabled()

print(asyncio.run(mode()))
""",
        {"grad-mode/how-far-it-reaches": "-decorated: True\n+decorated: False"},
    ),
    Sabotage(
        "evaluation mode stops recording",
        appended("""
call = torch.nn.Module.__call__

def call_recorded_in_training(self, *args, **kwargs):
    with torch.set_grad_enabled(torch.is_grad_enabled() and self.training):
        return call(self, *args, **kwargs)

torch.nn.Module.__call__ = call_recorded_in_training
"""),
        "print(torch.nn.Linear(1, 1).eval()(torch.ones(1)).requires_grad)",
        {"grad-mode/what-it-does-not-do": "-eval():    recorded: True"},
    ),
    Sabotage(
        "set_grad_enabled as a decorator leaves its mode behind",
        (
            Edit(
                GRAD_MODE,
                "(self, orig_func: F) -> F:\n        torch._C._set_grad_enabled(self.prev)\n",
                "(self, orig_func: F) -> F:\n",
            ),
        ),
        "torch.set_grad_enabled(False)(print)\nprint(torch.is_grad_enabled())",
        {"grad-mode/enable-grad-and-set-grad-enabled": "+after decorating: False"},
    ),
    Sabotage(
        "a view made under no_grad leads back to its base",
        appended("""
index = torch.Tensor.__getitem__

def recorded_view(self, key):
    with torch.enable_grad():
        return index(self, key)

torch.Tensor.__getitem__ = recorded_view
"""),
        """
x = torch.ones(2, requires_grad=True)
with torch.no_grad():
    print(x[:1].is_leaf)
""",
        {"grad-mode/views-made-without-grad": "-True True\n-None None\n+True False"},
    ),
    Sabotage(
        "inference mode is no_grad",
        (
            Edit(
                GRAD_MODE,
                "self._inference_mode_context = torch._C._InferenceMode(self.mode)",
                "self._inference_mode_context = set_grad_enabled(not self.mode)",
            ),
        ),
        "with torch.inference_mode():\n    print(torch.ones(2).is_inference())",
        {"grad-mode/inference-mode": "-created: True\n"},
    ),
)

SET_MODE = 'torch.set_grad_enabled(self.defaults["differentiable"])'

RESTORE = """\
        finally:
            torch._dynamo.graph_break()
            torch.set_grad_enabled(prev_grad)
        return ret
"""

# The page about the decorator prints its source. Each of these is noticed by more than that cell.
DECORATOR = (
    Sabotage(
        "the decorator does not restore the mode",
        (Edit(OPTIMIZER, RESTORE, RESTORE.replace("torch.set_grad_enabled(prev_grad)", "pass")),),
        DECORATED + "Probe(False).step(dict)\nprint(torch.is_grad_enabled())",
        {"optimizer-step/the-decorator": "+False           True    False   False"},
    ),
    Sabotage(
        "the decorator does not restore the mode when the step raises",
        (
            Edit(
                OPTIMIZER,
                RESTORE,
                """\
        finally:
            torch._dynamo.graph_break()
        torch.set_grad_enabled(prev_grad)
        return ret
""",
            ),
        ),
        DECORATED
        + """
try:
    Probe(False).step(lambda: 1 / 0)
except ZeroDivisionError:
    print(torch.is_grad_enabled())
""",
        {"optimizer-step/the-decorator": " the step failed\n-True\n+False"},
    ),
    Sabotage(
        "the decorator always turns grad mode on",
        (Edit(OPTIMIZER, SET_MODE, "torch.set_grad_enabled(True)"),),
        DECORATED + "print(Probe(False).step(torch.is_grad_enabled))",
        {
            "index": "RuntimeError raised in a cell without the tag",
            "leaves/what-is-a-leaf": "RuntimeError raised in a cell without the tag",
        },
    ),
    Sabotage(
        "the decorator reads the group",
        (Edit(OPTIMIZER, SET_MODE, SET_MODE.replace("defaults", "param_groups[0]")),),
        DECORATED + "print(Probe(True).step(torch.is_grad_enabled))",
        {"optimizer-step/flipping-differentiable": " accepted\n+a leaf Variable"},
    ),
    Sabotage(
        "the decorator reads defaults once",
        (
            Edit(
                OPTIMIZER,
                SET_MODE,
                "mode = self.defaults['differentiable']\n"
                "            torch.set_grad_enabled(self.__dict__.setdefault('_mode', mode))",
            ),
        ),
        DECORATED
        + """
probe = Probe(False)
probe.step(dict)
probe.defaults["differentiable"] = True
print(probe.step(torch.is_grad_enabled))
""",
        {"optimizer-step/why-step-may-write": "got no error"},
    ),
    Sabotage(
        "the decorator does not break graphs",
        (
            Edit(
                OPTIMIZER, f"{SET_MODE}\n            torch._dynamo.graph_break()\n", SET_MODE + "\n"
            ),
            Edit(OPTIMIZER, RESTORE, RESTORE.replace("torch._dynamo.graph_break()", "pass")),
        ),
        DECORATED
        + """
def train(x, probe):
    return probe.step(lambda: x + 1)

try:
    torch.compile(train, backend="eager", fullgraph=True)(torch.ones(2), Probe(False))
    print("one graph")
except torch._dynamo.exc.Unsupported:
    print("more than one graph")
""",
        {"optimizer-step/the-decorator": "-  graph, grad mode False\n+    _set_grad_enabled"},
    ),
    Sabotage(
        "the decorator does not keep the name of step",
        (Edit(OPTIMIZER, "    functools.update_wrapper(_use_grad, func)\n", ""),),
        DECORATED + "print(Probe.step.__name__)",
        {"optimizer-step/the-decorator": "-step | Run the body."},
    ),
)

OPTIMIZERS = (
    Sabotage(
        "an optimizer loses differentiable",
        (Edit("torch/optim/rprop.py", '            "differentiable": differentiable,\n', ""),),
        "print('differentiable' in torch.optim.Rprop([torch.ones(1, 1)]).defaults)",
        {"optimizer-step/every-optimizer": "+Rprop       False  @_use_grad_for_differentiable"},
    ),
    Sabotage(
        "there is one optimizer more",
        (
            Edit(
                "torch/optim/__init__.py",
                None,
                "class Lion(SGD):\n    pass\n\n\n__all__.append('Lion')\n",
            ),
        ),
        "print(len(torch.optim.__all__))",
        {"optimizer-step/every-optimizer": "+Lion "},
    ),
    Sabotage(
        "an optimizer is decorated with no_grad",
        (Edit(SGD, "    @_use_grad_for_differentiable\n", "    @torch.no_grad()\n"),),
        """
p = torch.ones(1, requires_grad=True)
p.grad = torch.ones(1)
torch.optim.SGD([p], differentiable=True).step()
print(p.is_leaf)
""",
        {
            "optimizer-step/every-optimizer": "+SGD         True   @torch.no_grad()",
            "optimizer-step/flipping-differentiable": "+[1.0, 5.0] None",
        },
    ),
    Sabotage(
        "loading a state does not add differentiable to defaults",
        (Edit(OPTIMIZER, '        self.defaults.setdefault("differentiable", False)\n', ""),),
        """
opt = torch.optim.LBFGS([torch.ones(1)])
opt.load_state_dict(opt.state_dict())
print("differentiable" in opt.defaults)
""",
        {"optimizer-step/every-optimizer": " False\n-True\n+False"},
    ),
    Sabotage(
        "foreach is the default on CPU",
        (
            Edit(
                "torch/utils/_foreach_utils.py",
                'return ["cuda", "xpu", "mtia", ',
                'return ["cpu", "cuda", "xpu", "mtia", ',
            ),
        ),
        CALLS_IN_STEP,
        {"optimizer-step/why-step-may-write": '"add_ on x itself: True …", got no output'},
    ),
    Sabotage(
        "the fused implementation refuses leaves",
        (
            Edit(
                SGD,
                "    no_momentum_buffer = momentum == 0\n",
                "    if torch.is_grad_enabled() and any(p.is_leaf for p in params):\n"
                "        raise RuntimeError('a leaf Variable that requires grad')\n"
                "    no_momentum_buffer = momentum == 0\n",
            ),
        ),
        """
p = torch.ones(1, requires_grad=True)
p.grad = torch.ones(1)
opt = torch.optim.SGD([p], fused=True)
opt.defaults["differentiable"] = True
opt.step()
print(p.is_leaf)
""",
        {
            "optimizer-step/every-optimizer": "-SGD         accepted",
            "optimizer-step/why-step-may-write": 'expected output "[1.0, 5.0] version 0", got no',
        },
    ),
    Sabotage(
        "a refused step leaves no trace",
        (
            Edit(
                SGD,
                "        if momentum != 0:\n            buf = momentum_buffer_list[i]\n",
                "        param.add_(0.0)\n"
                "        if momentum != 0:\n            buf = momentum_buffer_list[i]\n",
            ),
        ),
        SGD_STEP
        + """
opt.defaults["differentiable"] = True
try:
    opt.step()
except RuntimeError:
    print(opt.state[x]["momentum_buffer"])
""",
        {
            "optimizer-step/flipping-differentiable": "-[1.0, 5.0] tensor([ 6., 30.])\n"
            "+[1.0, 5.0] tensor([ 4., 20.])",
        },
    ),
    Sabotage(
        "a differentiable Adagrad edits what autograd saved",
        (
            Edit(
                "torch/optim/adagrad.py",
                "if differentiable:\n                std = ",
                "if False:\n                std = ",
            ),
        ),
        """
p = torch.ones(1, requires_grad=True).clone()
p.grad = torch.ones(1, requires_grad=True) * 2
torch.optim.Adagrad([p], differentiable=True).step()
p.sum().backward()
print(p.is_leaf)
""",
        {
            "optimizer-step/flipping-differentiable": 'expected output "tensor([-1.]) '
            'tensor([-0.2500])", got no output',
        },
    ),
    Sabotage(
        "retain_grad does nothing",
        appended("torch.Tensor.retain_grad = lambda self: None\n"),
        """
w = torch.ones(1, requires_grad=True).clone()
w.retain_grad()
print(w.retains_grad)
""",
        {"optimizer-step/the-decorator": "ValueError raised in a cell without the tag"},
    ),
    Sabotage(
        "defaults are saved and restored",
        (
            Edit(
                OPTIMIZER,
                '            "state": packed_state,\n',
                '            "state": packed_state,\n            "defaults": self.defaults,\n',
            ),
            Edit(
                OPTIMIZER,
                '        self.__setstate__({"state": state, "param_groups": param_groups})\n',
                '        self.__setstate__({"state": state, "param_groups": param_groups})\n'
                '        self.defaults.update(state_dict["defaults"])\n',
            ),
        ),
        "print(list(torch.optim.SGD([torch.ones(1)]).state_dict()))",
        {"optimizer-step/flipping-differentiable": "-defaults: False\n+defaults: True"},
    ),
    Sabotage(
        "loading a state keeps the groups' options",
        (
            Edit(
                OPTIMIZER,
                "            return new_group\n",
                "            return {**new_group, **group}\n",
            ),
        ),
        """
old = torch.optim.SGD([torch.ones(1)], lr=0.5)
new = torch.optim.SGD([torch.ones(1)], lr=0.25)
new.load_state_dict(old.state_dict())
print(new.param_groups[0]["lr"])
""",
        {
            "optimizer-step/flipping-differentiable": " defaults: False\n"
            "-   group: True\n"
            "+   group: False",
        },
    ),
)

# The pages about the loop around step(), the groups, the state and the hooks.
STEPS = (
    Sabotage(
        "SGD writes without being counted",
        (
            Edit(
                SGD,
                "        else:\n            param.add_(grad, alpha=-lr)\n",
                "        else:\n            param.data.add_(grad, alpha=-lr)\n",
            ),
        ),
        """
p = torch.ones(1, requires_grad=True)
p.grad = torch.ones(1)
torch.optim.SGD([p]).step()
print(p._version)
""",
        {"optimizer-step/step-between-forward-and-backward": "-version 2\n+version 1"},
    ),
    Sabotage(
        "SGD skips a gradient of zeros",
        (
            Edit(
                SGD,
                "            if p.grad is not None:\n",
                "            if p.grad is not None and p.grad.any():\n",
            ),
        ),
        """
p = torch.ones(1, requires_grad=True)
p.grad = torch.zeros(1)
torch.optim.SGD([p], lr=0.5, weight_decay=1.0).step()
print(p)
""",
        {"optimizer-step/what-step-updates": "-SGD+      moves\n+SGD+      stays"},
    ),
    Sabotage(
        "loading a state copies its tensors",
        (
            Edit(
                OPTIMIZER,
                "                return value.to(dtype=param.dtype, device=param.device)\n",
                "                return value.to(param.device, param.dtype, copy=True)\n",
            ),
        ),
        f"""
{SGD_STEP}
y = torch.ones(2, requires_grad=True)
new = torch.optim.SGD([y], lr=1.0, momentum=0.5)
new.load_state_dict(opt.state_dict())
print(new.state[y]["momentum_buffer"] is opt.state[x]["momentum_buffer"])
""",
        {"optimizer-step/state-and-groups": " tensor([1.])\n-tensor([1.5000])\n+tensor([1.])"},
    ),
    Sabotage(
        "a scheduler does not care when the optimizer steps",
        (
            Edit(
                "torch/optim/lr_scheduler.py",
                '            elif not getattr(self.optimizer, "_opt_called", False):\n',
                "            elif False:\n",
            ),
        ),
        """
import warnings
opt = torch.optim.SGD([torch.ones(1)])
scheduler = torch.optim.lr_scheduler.StepLR(opt, 1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    scheduler.step()
print(len(caught))
""",
        {
            "optimizer-step/learning-rate-schedulers": 'expected UserWarning "Detected call of '
            "`lr_scheduler.step()`"
        },
    ),
    Sabotage(
        "step hooks run with grad mode off",
        (
            Edit(
                OPTIMIZER,
                "                    result = pre_hook(self, args, kwargs)\n",
                "                    with torch.no_grad():\n"
                "                        result = pre_hook(self, args, kwargs)\n",
            ),
        ),
        """
opt = torch.optim.SGD([torch.ones(1)])
opt.register_step_pre_hook(lambda *_: print(torch.is_grad_enabled()))
opt.step()
""",
        {"optimizer-step/hooks-and-compile": "-hook: True"},
    ),
)

# The pages named after a message.
ERROR_PAGES = (
    Sabotage(
        "fill_diagonal_ writes without a view",
        appended("""
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
        appended("torch.Tensor.sigmoid = lambda self: (self / 2).tanh() / 2 + 0.5\n"),
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
        appended("torch.Tensor.detach = lambda self: self.data.clone()\n"),
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
        appended("torch.Tensor.tensor_split = torch.Tensor.chunk\n"),
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
        appended("""
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
        appended("""
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
        appended("""
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
        appended("""
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
        appended("""
backward = torch.Tensor.backward
torch.Tensor.backward = lambda self, gradient=None, *args, **kwargs: backward(
    self, torch.ones_like(self) if gradient is None else gradient, *args, **kwargs
)
"""),
        "torch.ones(2, requires_grad=True).backward()",
        {"errors/only-scalar-outputs": "raises-exception but raises nothing"},
    ),
)

# Pages about the optimizers one writes, closures, and steps that autograd records.
OPTIMIZER_USE = (
    Sabotage(
        "the base class turns grad mode off around hooks and step",
        (
            Edit(
                OPTIMIZER,
                "with torch.autograd.profiler.record_function(profile_name):",
                "with torch.no_grad(), torch.profiler.record_function(profile_name):",
            ),
        ),
        SGD_STEP
        + """
opt.register_step_pre_hook(lambda *_: print(torch.is_grad_enabled()))
opt.step()
""",
        {"optimizer-step/writing-your-own": "-hook: True\n+hook: False"},
    ),
    Sabotage(
        "LBFGS clears the gradients before it calls the closure",
        (
            Edit(
                "torch/optim/lbfgs.py",
                "        closure = torch.enable_grad()(closure)\n",
                "        users_closure = torch.enable_grad()(closure)\n\n"
                "        def closure():\n"
                "            self.zero_grad()\n"
                "            return users_closure()\n\n",
            ),
        ),
        """
p = torch.ones(1, requires_grad=True)
p.grad = torch.ones(1)
torch.optim.LBFGS([p]).step(p.sum)
print(p)
""",
        {"optimizer-step/closures": " at [3.0]\n-at [-11.0]\n+at [0.0]"},
    ),
    Sabotage(
        "the first momentum is not detached",
        (Edit(SGD, "buf = grad.detach().clone()", "buf = grad.clone()"),),
        """
p = torch.ones(1, requires_grad=True).clone()
g = torch.ones(1, requires_grad=True)
p.grad = g.clone()
torch.optim.SGD([p], momentum=0.5, differentiable=True).step()
print(torch.autograd.grad(p.sum(), g, allow_unused=True))
""",
        {"optimizer-step/differentiable-done-right": "+SGD momentum     agrees"},
    ),
)

MORE_ERRORS = (
    Sabotage(
        "numpy() detaches by itself",
        appended("""
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
        appended("""
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
        appended("torch.Tensor.item = lambda self: self"),
        "print(type(torch.ones(1).item()))",
        {"errors/no-attribute-backward": "raises-exception but raises nothing"},
    ),
    Sabotage(
        "float of a tensor never warns",
        appended("torch.Tensor.__float__ = lambda self: self.item()"),
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
        appended("""
retain = torch.Tensor.retain_grad
torch.Tensor.retain_grad = lambda self: retain(self) if self.requires_grad else None
"""),
        "torch.ones(1).retain_grad()",
        {"errors/retain-grad-refused": "raises-exception but raises nothing"},
    ),
)

SABOTAGES = (
    *LEAF_ERROR,
    *LEAVES,
    *GRAD_MODES,
    *GRAD_MODE_REACH,
    *DECORATOR,
    *OPTIMIZERS,
    *STEPS,
    *ERROR_PAGES,
    *BACKWARD_ERRORS,
    *OPTIMIZER_USE,
    *MORE_ERRORS,
)
