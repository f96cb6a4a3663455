"""Changes that the pages about grad mode must notice."""

from __future__ import annotations

from overlay import Edit

from sabotages.kinds import GRAD_MODE, Sabotage, attribute, in_place, patch

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
        patch("""
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
        patch("torch.Tensor.detach = lambda self: self.data\n"),
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
        patch("""
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
        patch("""
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
