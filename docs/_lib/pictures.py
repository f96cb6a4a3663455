"""Pictures for pages: tensors and the nodes behind them, memory, and grad mode.

A picture shows what PyTorch says about the objects it is given, and nothing else. Its words are
names from the cell and from PyTorch, so that nothing in it needs translation.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import networkx as nx
import torch
from drawing import (
    GAP,
    LINE,
    PAD,
    Picture,
    arrow,
    box,
    draw_graph,
    rectangle,
    size_of,
    text,
)

VERSIONS = re.compile(r"(is at version \d+); (expected version \d+)")
ELEMENT = 36
"""Room for the box of a tensor's element."""


def graph(*attributes: str, **tensors: torch.Tensor) -> Picture:
    """Draw tensors and the nodes that ``backward()`` goes through from them, down to the leaves.

    Args:
        attributes: what to say of each tensor beside `is_leaf`, such as ``"grad"``.
        tensors: the tensors, under the names that the cell has for them.
    """
    found = _graph(tensors, ("is_leaf", *attributes), lambda _node: [])
    return draw_graph(found, _tell(found))


def saved(**tensors: torch.Tensor) -> Picture:
    """Draw the same graph, with version counters, and what each node saved at which version.

    Args:
        tensors: as for `graph`; what was saved is called after them where it is one of them.
    """
    found = _graph(tensors, ("_version",), lambda node: _saved(node, tensors))
    return draw_graph(found, _tell(found))


def _graph(
    tensors: dict[str, torch.Tensor],
    attributes: tuple[str, ...],
    describe: Callable[[torch.autograd.graph.Node], list[str]],
) -> nx.DiGraph:
    """Return tensors and nodes as vertices, each with the lines of its box."""
    found = nx.DiGraph()
    for name, tensor in tensors.items():
        kind = "tensor leaf" if tensor.is_leaf else "tensor"
        found.add_node(name, kind=kind, lines=[name, *_facts(tensor, attributes)])
        if tensor.grad_fn is not None:
            found.add_edge(name, tensor.grad_fn, word="grad_fn")
    waiting = [tensor.grad_fn for tensor in tensors.values() if tensor.grad_fn is not None]
    for node in waiting:
        if "kind" in found.nodes[node]:
            continue
        lines = describe(node)
        changed = VERSIONS.search("; ".join(lines))
        kind = "node refused" if changed else "node"
        found.add_node(node, kind=kind, lines=[node.name().rpartition(":")[2], *lines])
        for name, tensor in tensors.items():
            if getattr(node, "variable", None) is tensor:
                found.add_edge(node, name, word="variable")
        for following, _ in node.next_functions:
            if following is not None:
                found.add_edge(node, following, word="next_functions")
                waiting.append(following)
    return found


def _facts(tensor: torch.Tensor, attributes: tuple[str, ...]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is known that a result's `.grad` is looked at
        return [f"{attribute} {_value(getattr(tensor, attribute))}" for attribute in attributes]


def _value(value: object) -> str:
    """Return a value, a tensor's as a list, without the zeros behind a point."""
    shown = value.tolist() if isinstance(value, torch.Tensor) else value
    return re.sub(r"\.0\b", "", str(shown))


def _saved(node: torch.autograd.graph.Node, tensors: dict[str, torch.Tensor]) -> list[str]:
    """Return lines about each tensor that a node saved."""
    lines = []
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        try:
            value = getattr(node, attribute)
        except RuntimeError as error:
            # PyTorch hands it out only as it was when it was saved, and before it was freed.
            versions = VERSIONS.search(str(error))
            lines += [attribute, *(versions.groups() if versions else ["freed"])]
            continue
        if isinstance(value, torch.Tensor):
            same = [name for name, tensor in tensors.items() if _is_same(tensor, value)]
            what = same[0] if same else _value(value)
            lines += [f"{attribute} {what}", f"version {value._version}"]
    return lines


def _is_same(tensor: torch.Tensor, kept: torch.Tensor) -> bool:
    """Tell whether a saved tensor is `tensor` to autograd: for a result it is another object."""
    if tensor.grad_fn is None:
        return tensor is kept
    return tensor.grad_fn is kept.grad_fn and tensor.output_nr == kept.output_nr


def _tell(found: nx.DiGraph) -> str:
    """Return a graph in words: each box with its lines, and where its arrows lead."""
    titles = Counter(lines[0] for _, lines in found.nodes(data="lines"))
    names, used = {}, Counter()
    for vertex, (title, *_) in found.nodes(data="lines"):
        used[title] += 1
        names[vertex] = f"{title} #{used[title]}" if titles[title] > 1 else title
    told = []
    for vertex, (_, *facts) in found.nodes(data="lines"):
        for _, end, word in found.out_edges(vertex, data="word"):
            facts.append(f"{word} {names[end]}")
        told.append(f"{names[vertex]}: {', '.join(facts)}.")
    return " ".join(told)


def memory(**tensors: torch.Tensor) -> Picture:
    """Draw the elements of tensors, a frame around each storage, and the version counters.

    Args:
        tensors: the tensors; elements in the same memory stand below one another.
    """
    titles = {name: _title(name, tensors) for name in tensors}
    left = max(size_of(lines)[0] for lines in titles.values()) + PAD
    counters = _counters(tensors)
    shapes, told, widths, y = [], [], [], 1.0
    for names in _by(tensors, lambda name: tensors[name].untyped_storage().data_ptr()):
        right, top = left + ELEMENT * _length(tensors[names[0]]) + PAD, y
        facts, inner = [], [text("caption left", 2 * PAD, y + LINE, "untyped_storage")]
        y += LINE + PAD
        for sharers in _by(names, counters.get):
            start = y
            for name in sharers:
                inner += _elements(tensors[name], titles[name], left, y)
                facts.append(", ".join([f"{name} {_value(tensors[name])}", *titles[name][1:]]))
                y += size_of(titles[name])[1] + PAD
            version = f"_version {tensors[sharers[0]]._version}"
            inner += _counter(version, right, start, y - PAD)
            facts[-1] += f"; {version} of {', '.join(sharers)}"
        widths.append(right + size_of(["", version])[0] + PAD)
        shapes += [rectangle("storage", 1, top, widths[-1] - 1, y - top), *inner]
        told.append(f"untyped_storage: {'; '.join(facts)}.")
        y += PAD
    return Picture(" ".join(told), max(widths) + 1, y - PAD + 1, shapes)


def _by(names: Iterable[str], key: Callable[[str], object]) -> list[list[str]]:
    """Return the names in groups with the same key, in the order of their first ones."""
    groups: dict[object, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return list(groups.values())


def _title(name: str, tensors: dict[str, torch.Tensor]) -> list[str]:
    base = tensors[name]._base
    return [name, *(f"_base {other}" for other, tensor in tensors.items() if tensor is base)]


def _counters(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[str, ...]]:
    """Return for each tensor those that have its version counter: moved, it moves for them."""
    shared = {}
    for name, tensor in tensors.items():
        before = {other: kept._version for other, kept in tensors.items()}
        with torch.autograd.grad_mode._unsafe_preserve_version_counter(tensor):
            torch.autograd.graph.increment_version(tensor)
            shared[name] = tuple(n for n, kept in tensors.items() if kept._version != before[n])
    return shared


def _length(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes() // tensor.itemsize


def _elements(tensor: torch.Tensor, title: list[str], left: float, y: float) -> list[str]:
    """Return a tensor's name, and a box for each element at its place in the storage."""
    shapes = []
    for number, line in enumerate(title, 1):
        kind = "fact left" if number > 1 else "name left"
        shapes.append(text(kind, 2 * PAD, y + LINE * number, line))
    strided = tensor.shape, tensor.stride(), tensor.storage_offset()
    places = torch.arange(_length(tensor)).as_strided(*strided).flatten().tolist()
    for place, value in zip(places, tensor.detach().flatten().tolist(), strict=True):
        x = left + ELEMENT * place
        shapes.append(rectangle("element", x, y, ELEMENT - PAD / 2, LINE + PAD))
        shapes.append(text("fact", x + ELEMENT / 2 - PAD / 4, y + LINE - 1, f"{value:g}"))
    return shapes


def _counter(version: str, x: float, start: float, end: float) -> list[str]:
    width = size_of(["", version])[0]
    middle = (start + end) / 2 + 4
    shape = rectangle("counter", x, start, width, end - start)
    return [shape, text("fact", x + width / 2, middle, version)]


class Modes:
    """Grad mode at named moments: call the object at each of them, then show it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bool]] = []

    def __call__(self, moment: str) -> None:
        """Note grad mode as it is now.

        Args:
            moment: its name in the picture.
        """
        self.seen.append((moment, torch.is_grad_enabled()))

    def __repr__(self) -> str:
        return "; ".join(f"{moment}: {_switch(mode)}" for moment, mode in self.seen) + "."

    def _repr_html_(self) -> str:
        column = max(size_of([moment])[0] for moment in (*dict(self.seen), _switch(False)))
        centres = {True: column / 2 + 1, False: column * 1.5 + GAP + 1}
        height = size_of(["moment"])[1]
        top = LINE + PAD
        bottom = top + (height + GAP) * len(self.seen) - GAP + 1
        shapes, ends = [], []
        for mode, x in centres.items():
            shapes.append(text("caption", x, LINE - 4, _switch(mode)))
            shapes.append(f'<path class="lane" d="M{x:g} {LINE + 2}V{bottom:g}"/>')
        for number, (moment, mode) in enumerate(self.seen):
            ends.append((centres[mode], top + number * (height + GAP)))
            shapes.append(box("moment on" if mode else "moment", *ends[-1], [moment]))
        for (x, y), end in pairwise(ends):
            shapes.append(arrow([(x, y + height), end]))
        return Picture(repr(self), 2 * column + GAP + 2, bottom, shapes)._repr_html_()


def _switch(mode: bool) -> str:
    return f"grad mode {'on' if mode else 'off'}"
