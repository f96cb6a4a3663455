"""Pictures that cells draw: the same everywhere, readable, and told in words as well."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from itertools import combinations

import pytest
from browsing import AA, OpenTab, contrast, schemes, widths
from checked_cells.page import read_text
from checked_cells.run import run_pages
from conftest import DOCNAMES, PROJECT, Project, cell, expect, page, run, source_page

LIBRARY = PROJECT / "docs" / "_lib"
WITH_PICTURES = [
    name
    for name in DOCNAMES
    if any("from pictures import" in cell.source for cell in source_page(name).cells)
]

DRAW = """\
import torch
from pictures import Modes, graph, memory, saved

x = torch.tensor([2.0, 10.0], requires_grad=True)
y = x[0] ** 2 + x[1] ** 2
e = x.exp()
z = e * 2 + e
h = x.exp()
loss = h.sum()
h.add_(1.0)
mode_at = Modes()
mode_at("before")
with torch.no_grad():
    mode_at("inside")
pictures = {
    "graph": graph(x=x, y=y),
    "past a row": graph(x=x, z=z),
    "saved": saved(x=x, h=h, loss=loss),
    "memory": memory(x=x, view=x[:1], detached=x.detach(), data=x.data, clone=x.clone()),
    "modes": mode_at,
}
"""
NAMES = ("graph", "past a row", "saved", "memory", "modes")
PRINT = "import sys; sys.path.append(sys.argv[1])\n" + DRAW + "for p in pictures.values():\n"
PRINT += "    print(p._repr_html_())\n"


@pytest.fixture(scope="module")
def drawn() -> dict[str, object]:
    """What `DRAW` leaves behind, run in this process."""
    sys.path.append(str(LIBRARY))
    names: dict[str, object] = {}
    exec(DRAW, names)
    return names


def label(picture: object) -> str:
    return unescape(re.search('aria-label="([^"]*)"', picture._repr_html_())[1])


def test_two_processes_draw_the_same_bytes(project: Project) -> None:
    # Names, sets and objects would come in another order.
    shown = [
        run(sys.executable, "-c", PRINT, LIBRARY, cwd=project.root, env={"PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    ]
    assert [result.status for result in shown] == [0, 0], shown[0].output
    assert shown[0].stdout.count("<svg") == len(NAMES)
    assert shown[0].stdout == shown[1].stdout


def test_a_forked_page_draws_what_a_fresh_one_does() -> None:
    shows = [f'{DRAW}\npictures["{name}"]' for name in NAMES]
    body = "".join(cell(code, expect("sha256:0", "text/html")) for code in shows)
    results = []
    for forked in (True, False):
        pages = [read_text(page(body), "docs/p.md", "p")]
        (result,) = run_pages(pages, 1, stream=io.StringIO(), forked=forked)
        results.append(result)
    assert str(results[0].notebook).count("<svg") == len(NAMES)
    assert results[0].notebook == results[1].notebook


def reached(*tensors: object) -> Counter[str]:
    """Return the names of the nodes from which gradients can reach the leaves of `tensors`."""
    nodes = {tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None}
    while more := {n for node in nodes for n, _ in node.next_functions if n} - nodes:
        nodes |= more
    return Counter(node.name().split(":")[-1] for node in nodes)


@pytest.mark.parametrize(
    ("name", "tensors"), [("graph", "xy"), ("past a row", "xz"), ("saved", ["x", "h", "loss"])]
)
def test_the_alternative_names_every_node_and_tensor(
    drawn: dict[str, object], name: str, tensors: list[str]
) -> None:
    told = label(drawn["pictures"][name])
    entries = Counter(entry.split(" #")[0] for entry in re.findall(r"(?:^|\. )([^:]+):", told))
    assert entries == reached(*(drawn[tensor] for tensor in tensors)) + Counter(tensors)


def test_the_alternative_tells_memory_versions_and_modes(drawn: dict[str, object]) -> None:
    told = {name: label(picture) for name, picture in drawn["pictures"].items()}
    storages = told["memory"].split("untyped_storage: ")[1:]
    assert [re.findall(r"(\w+) \[", storage) for storage in storages] == [
        ["x", "view", "detached", "data"],
        ["clone"],
    ]
    assert "_version 0 of x, view, detached;" in told["memory"]
    assert "_base x" in told["memory"]
    assert "_saved_result, is at version 1, expected version 0" in told["saved"]
    assert told["modes"] == "before: grad mode on; inside: grad mode off."


def test_drawing_leaves_version_counters_as_they_were(drawn: dict[str, object]) -> None:
    versions = {name: drawn[name]._version for name in ("x", "h", "y")}
    drawn["memory"](**{name: drawn[name] for name in versions})
    assert {name: drawn[name]._version for name in versions} == versions == {"x": 0, "h": 1, "y": 0}


def test_every_word_drawn_is_in_the_alternative(drawn: dict[str, object]) -> None:
    for picture in drawn["pictures"].values():
        for word in re.findall(r"<text[^>]*>([^<]*)</text>", picture._repr_html_()):
            whole_word = rf"(?<!\w){re.escape(unescape(word))}(?!\w)"
            assert re.search(whole_word, label(picture)), f"{word!r} is not in {label(picture)!r}"


def test_what_is_too_wide_for_a_phone_is_refused(drawn: dict[str, object]) -> None:
    x = drawn["x"]
    with pytest.raises(ValueError, match="draw less"):
        drawn["graph"](x=x, first=x + 1, second=x * 2, third=x.exp())


class Pictures(HTMLParser):
    """Collects the attributes of a page's pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str]]) -> None:
        """Keep those of each picture."""
        if tag == "svg" and "picture" in (dict(attrs).get("class") or ""):
            self.found.append(dict(attrs))


def test_pictures_on_the_site_have_words_and_a_size(built_project: Project) -> None:
    for docname in WITH_PICTURES:
        parser = Pictures()
        parser.feed((built_project.site / f"{docname}.html").read_text("utf-8"))
        assert parser.found, docname
        for picture in parser.found:
            assert picture["role"] == "img" and picture["aria-label"].strip()
            assert 0 < float(picture["width"]) <= 320 and float(picture["height"]) > 0


def test_no_cell_to_paste_needs_a_picture() -> None:
    for docname in DOCNAMES:
        for found in source_page(docname).cells:
            assert not ("pictures" in found.source and "stands-alone" in found.tags), docname


MEASURE = """() => [...document.querySelectorAll("svg.picture")].map((svg) => {
    const box = (element) => {
        const {left, top, right, bottom} = element.getBoundingClientRect();
        return [left, top, right, bottom];
    };
    const paint = (element) => {
        const fill = getComputedStyle(element).fill;
        return fill === "none" ? "rgba(0, 0, 0, 0)" : fill;
    };
    const grounds = [];
    for (let outer = svg; outer; outer = outer.parentElement)
        grounds.push(getComputedStyle(outer).backgroundColor);
    const {left, top} = svg.getBoundingClientRect();
    return {
        frame: box(svg),
        width: svg.width.baseVal.value,
        grounds,
        texts: [...svg.querySelectorAll("text")].map((t) => [t.textContent, box(t), paint(t)]),
        boxes: [...svg.querySelectorAll("rect")].map((r) => [box(r), paint(r)]),
        ways: [...svg.querySelectorAll(".line")].map((line) => {
            const length = line.getTotalLength();
            return Array.from({length: 50}, (_, n) => {
                const point = line.getPointAtLength(length * n / 49);
                return [left + point.x, top + point.y];
            });
        }),
    };
})"""

Box = list[float]


def inside(inner: Box, outer: Box) -> bool:
    """Tell whether a box lies in another, give or take a rounded pixel."""
    low = all(a >= b - 1 for a, b in zip(inner[:2], outer[:2], strict=True))
    return low and all(a <= b + 1 for a, b in zip(inner[2:], outer[2:], strict=True))


def apart(one: Box, other: Box) -> bool:
    """Tell whether two boxes have nothing in common."""
    return min(one[2], other[2]) <= max(one[0], other[0]) or min(one[3], other[3]) <= max(
        one[1], other[1]
    )


def problems(picture: dict) -> list[str]:
    """Return what is wrong with a picture as the browser shows it."""
    found = []
    left, _, right, _ = picture["frame"]
    if right - left < picture["width"] - 1:
        found.append(f"shrunk from {picture['width']} to {right - left} pixels")
    boxes = [box for box, _ in picture["boxes"]]
    for words, place, front in picture["texts"]:
        around = [(box, fill) for box, fill in picture["boxes"] if not apart(place, box)]
        if not all(inside(place, box) for box in [picture["frame"], *(box for box, _ in around)]):
            found.append(f"{words!r} sticks out")
        # What is drawn last is on top.
        backs = [*(fill for _, fill in reversed(around)), *picture["grounds"]]
        if contrast(front, backs) < AA:
            found.append(f"{words!r} is faint: {contrast(front, backs):.2f}")
    for (words, one, _), (others, other, _) in combinations(picture["texts"], 2):
        if not apart(one, other) and min(one[3], other[3]) - max(one[1], other[1]) > 2:
            found.append(f"{words!r} and {others!r} overlap")
    for one, other in combinations(boxes, 2):
        if not apart(one, other) and not inside(one, other) and not inside(other, one):
            found.append(f"boxes overlap: {one}, {other}")
    for box in boxes:
        for x, y in (point for way in picture["ways"] for point in way):
            if box[0] + 2 < x < box[2] - 2 and box[1] + 2 < y < box[3] - 2:
                found.append(f"an arrow crosses the box {box}")
    return found


@widths
@schemes
def test_pictures_are_readable(open_tab: OpenTab, width: int, scheme: str) -> None:
    tab = open_tab(width, scheme)
    for docname in WITH_PICTURES:
        tab.open(docname)
        pictures = tab.page.evaluate(MEASURE)
        assert pictures, docname
        assert [problem for picture in pictures for problem in problems(picture)] == [], docname
    assert not tab.problems


def test_pictures_that_no_page_has_are_readable(
    open_tab: OpenTab, drawn: dict[str, object]
) -> None:
    tab = open_tab(360)
    tab.open(WITH_PICTURES[0])
    for name, picture in drawn["pictures"].items():
        tab.page.locator("svg.picture").first.evaluate(
            "(old, picture) => { old.outerHTML = picture; }", picture._repr_html_()
        )
        assert problems(tab.page.evaluate(MEASURE)[0]) == [], name
