"""Boxes, arrows and rows of boxes, as SVG: what `pictures` draws with.

Sizes are in pixels, the same whatever the machine's fonts; the widest is that of a phone. Colours
and fonts are in ``_static/site.css``.
"""

from __future__ import annotations

from collections.abc import Hashable
from html import escape
from itertools import pairwise
from statistics import fmean

import networkx as nx

WIDEST = 320
CHAR = 8
"""Room for one character of a name: 13 pixels high, monospace."""
FACT_CHAR = 7.4
"""Room for one character of the lines below it: 12 pixels high."""
LINE = 18
PAD = 8
GAP = 24

Point = tuple[float, float]


class Picture:
    """A drawing, and the text that says the same."""

    def __init__(self, text: str, width: float, height: float, shapes: list[str]) -> None:
        if width > WIDEST:
            raise ValueError(f"{width:g} pixels wide, but a phone shows {WIDEST}; draw less")
        self.text = text
        label = f'role="img" aria-label="{escape(text)}"'
        size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
        self.svg = f'<svg class="picture" {label} {size}>{"".join(shapes)}</svg>'

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.svg


def text(kind: str, x: float, y: float, words: str) -> str:
    """Return text whose base line is at `y`."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


def rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle whose left upper corner is at `x` and `y`."""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect class="{kind}" {place} rx="4"/>'


def size_of(lines: list[str]) -> Point:
    """Return the width and height of a box with these lines."""
    facts = max((FACT_CHAR * len(line) for line in lines[1:]), default=0)
    return round(max(CHAR * len(lines[0]), facts)) + 2 * PAD, LINE * len(lines) + PAD


def box(kind: str, x: float, y: float, lines: list[str]) -> str:
    """Return a box centred on `x`, with its top at `y`; its first line is a name."""
    width, height = size_of(lines)
    shapes = [rectangle(kind, x - width / 2, y, width, height)]
    for number, line in enumerate(lines, 1):
        shapes.append(text("fact" if number > 1 else "name", x, y + LINE * number - 1, line))
    return "".join(shapes)


def arrow(points: list[Point]) -> str:
    """Return a curve through `points`, from the top down, with a head at its end."""
    end_x, end_y = points[-1]
    path = "M{:g} {:g}".format(*points[0])
    for (x, y), (to_x, to_y) in pairwise([*points[:-1], (end_x, end_y - 5)]):
        middle = (y + to_y) / 2
        path += f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"
    head = f"M{end_x - 4:g} {end_y - 7:g}h8l-4 7z"
    return f'<path class="line" d="{path}"/><path class="head" d="{head}"/>'


def draw_graph(graph: nx.DiGraph, words: str) -> Picture:
    """Return the picture of a graph without cycles, each row above those that it leads to.

    Args:
        graph: each vertex has ``kind`` and ``lines``, for its box.
        words: the text alternative.
    """
    bent, routes, rows = _rows(graph)
    places = _places(bent, rows)
    lines = graph.nodes(data="lines")
    sizes = {vertex: size_of(lines[vertex]) if vertex in graph else (0, 0) for vertex in bent}
    column = max(width for width, _ in sizes.values()) + PAD
    y = 1.0
    for row in rows:
        height = max(sizes[vertex][1] for vertex in row)
        for vertex in row:
            places[vertex] = 1 + column * (places[vertex] + 0.5) - PAD / 2, y
            sizes[vertex] = sizes[vertex][0], sizes[vertex][1] or height
        y += height + GAP
    width = max(places[v][0] + (column - PAD) / 2 for v in bent)
    shapes = [_line(route, places, sizes) for route in routes]
    shapes += [box(graph.nodes[v]["kind"], *places[v], lines[v]) for v in graph]
    return Picture(words, width + 1, y - GAP + 1, shapes)


def _rows(graph: nx.DiGraph) -> tuple[nx.DiGraph, list[list[Hashable]], list[list[Hashable]]]:
    """Return the graph with a bend where an edge passes a row, the edges' ways, and the rows."""
    generations = list(nx.topological_generations(graph.reverse()))
    level = {vertex: number for number, row in enumerate(generations) for vertex in row}
    bent = nx.DiGraph()
    bent.add_nodes_from(graph)
    routes = []
    for start, end in graph.edges:
        bends = [(start, end, number) for number in range(level[start] - 1, level[end], -1)]
        level.update({bend: bend[2] for bend in bends})
        routes.append([start, *bends, end])
        nx.add_path(bent, routes[-1])
    numbers = reversed(range(len(generations)))
    return bent, routes, [[v for v in bent if level[v] == number] for number in numbers]


def _places(bent: nx.DiGraph, rows: list[list[Hashable]]) -> dict[Hashable, float]:
    """Return each vertex's place in its row, in columns: below what leads to it, or else last."""
    places: dict[Hashable, float] = {}
    for row in rows:
        # A vertex at which nothing arrives does not pull what it leads to out of its column.
        above = {v: [u for u in bent.predecessors(v) if bent.in_degree(u)] for v in row}
        above = {v: above[v] or list(bent.predecessors(v)) for v in row}
        wanted = {v: fmean(places[u] for u in above[v]) for v in row if above[v]}
        taken: list[float] = []
        for vertex in sorted(wanted, key=wanted.get):
            taken.append(max([wanted[vertex], *(place + 1 for place in taken[-1:])]))
            places[vertex] = taken[-1]
        for vertex in wanted:
            places[vertex] += fmean(wanted.values()) - fmean(taken)
        for vertex in row:
            if vertex not in wanted:
                places[vertex] = max((places[v] + 1 for v in row if v in places), default=0)
    first = min(places.values())
    return {vertex: place - first for vertex, place in places.items()}


def _line(route: list[Hashable], places: dict[Hashable, Point], sizes: dict) -> str:
    start, *bends, end = route
    points = [(places[start][0], places[start][1] + sizes[start][1])]
    for bend in bends:
        x, y = places[bend]
        points += [(x, y), (x, y + sizes[bend][1])]
    return arrow([*points, places[end]])
