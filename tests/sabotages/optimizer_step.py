"""Changes that the pages about `optimizer.step()` must notice."""

from __future__ import annotations

from overlay import Edit

from sabotages.kinds import OPTIMIZER, SGD, Sabotage, patch

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
        patch("torch.Tensor.retain_grad = lambda self: None\n"),
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
