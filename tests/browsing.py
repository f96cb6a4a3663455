"""A tab of a real browser, and the contrast of what it shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

AA = 4.5
WIDTHS = (360, 1280)
SCHEMES = ("light", "dark")
widths = pytest.mark.parametrize("width", WIDTHS)
schemes = pytest.mark.parametrize("scheme", SCHEMES)


class Tab:
    """An open page, with what went wrong on it."""

    def __init__(self, page: Page, root: str) -> None:
        self.page = page
        self.root = root
        self.problems: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._problem(f"script error: {error}"))
        page.on("requestfailed", lambda request: self._problem(f"failed: {request.url}"))
        page.on("request", self._request)
        page.on("response", self._response)

    def _problem(self, text: str) -> None:
        self.problems.append(f"{urlsplit(self.page.url).path}: {text}")

    def _console(self, message: object) -> None:
        if message.type in ("error", "warning"):
            self._problem(f"console: {message.text}")

    def _request(self, request: object) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and f"{parts.scheme}://{parts.netloc}" != self.root:
            self._problem(f"request to another host: {request.url}")

    def _response(self, response: object) -> None:
        if response.status >= 400:
            self._problem(f"status {response.status}: {response.url}")

    def open(self, docname: str) -> None:
        """Open a page of the site."""
        self.page.goto(f"{self.root}/{docname}.html")


OpenTab = Callable[..., Tab]


def new_tab(
    browser: Browser, root: str, width: int = 1280, scheme: str = "light", scripts: bool = True
) -> Tab:
    """Open a tab of a fresh browser profile, whose context the caller closes."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    return Tab(context.new_page(), root)


Colour = tuple[float, ...]


def colour(css: str) -> Colour:
    """Return red, green and blue from 0 to 1, and alpha, of a computed colour."""
    numbers = [float(number) for number in re.findall(r"[\d.]+(?:e-?\d+)?", css)]
    scale = 1 if css.startswith("color(srgb") else 255
    red, green, blue = (number / scale for number in numbers[:3])
    return red, green, blue, numbers[3] if len(numbers) > 3 else 1.0


def over(front: Colour, back: Colour) -> Colour:
    """Return the opaque colour of `front` painted over the opaque colour `back`."""
    alpha = front[3]
    return *(f * alpha + b * (1 - alpha) for f, b in zip(front[:3], back[:3], strict=True)), 1.0


def luminance(opaque: Colour) -> float:
    """Return the relative luminance as WCAG 2 defines it."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in opaque[:3]]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(text: str, backgrounds: list[str]) -> float:
    """Return the contrast of a text colour on backgrounds, listed from the innermost."""
    back: Colour = (1.0, 1.0, 1.0, 1.0)
    for background in reversed(backgrounds):
        back = over(colour(background), back)
    light, dark = sorted([luminance(over(colour(text), back)), luminance(back)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXTS = """(selector) => {
    const backgrounds = new Map();
    const behind = (box) => {
        if (!box) return [];
        if (!backgrounds.has(box))
            backgrounds.set(box,
                [getComputedStyle(box).backgroundColor, ...behind(box.parentElement)]);
        return backgrounds.get(box);
    };
    const texts = [...document.querySelectorAll(selector)]
        .flatMap((box) => [box, ...box.querySelectorAll("*")])
        .filter((element) => [...element.childNodes].some(
            (node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
        .filter((element) => !element.matches(".headerlink") && element.checkVisibility());
    const examples = new Map();
    for (const element of texts) {
        const colours = JSON.stringify([getComputedStyle(element).color, behind(element)]);
        if (!examples.has(colours))
            examples.set(colours, element.textContent.trim().slice(0, 40));
    }
    return [[...examples].map(([colours, text]) => [text, ...JSON.parse(colours)]), texts.length];
}"""
"""One text for each colour on its backgrounds, and how many texts there are."""


def faint_texts(page: Page, selector: str) -> tuple[list[str], int]:
    """Return texts with too little contrast, one of each colour, and how many texts there are."""
    examples, count = page.evaluate(TEXTS, selector)
    found = [(text, contrast(front, backgrounds)) for text, front, backgrounds in examples]
    return sorted(f"{text!r}: {ratio:.2f}" for text, ratio in found if ratio < AA), count
