"""Weigh what a browser loads for the first view of a page, with nothing in its cache.

Both the test of the limits and `make bench` measure with this, in a real browser: what a page
really loads is not to be seen in its HTML alone.
"""

from __future__ import annotations

import gzip
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a directory on this machine; the value is its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def chromium_path(playwright: Playwright) -> str | None:
    """Return a Chromium of the machine, or the one that playwright has installed, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


@contextmanager
def chromium() -> Iterator[Browser | None]:
    """Start a headless Chromium; None where there is none."""
    with sync_playwright() as playwright:
        if path := chromium_path(playwright):
            browser = playwright.chromium.launch(executable_path=path, args=["--disable-gpu"])
            yield browser
            browser.close()
        else:
            yield None


@dataclass
class FirstView:
    """What was loaded.

    Attributes:
        sizes: bytes of each response, by its address.
        gzipped: bytes of all of them, each compressed as a web server does.
    """

    sizes: dict[str, int]
    gzipped: int

    @property
    def raw(self) -> int:
        """Bytes of all responses."""
        return sum(self.sizes.values())

    @property
    def requests(self) -> int:
        """How many responses there were."""
        return len(self.sizes)


def first_view(browser: Browser, url: str) -> FirstView:
    """Open a page in a fresh profile, and weigh all that it loads."""
    context = browser.new_context()
    page = context.new_page()
    responses = []
    page.on("response", lambda response: responses.append(response))
    page.goto(url, wait_until="networkidle")
    bodies = {r.url: r.body() for r in responses if not r.url.startswith("data:")}
    context.close()
    sizes = {url: len(body) for url, body in bodies.items()}
    return FirstView(sizes, sum(len(gzip.compress(body, 6)) for body in bodies.values()))


def heaviest_page(site: Path) -> str:
    """Return the path of the page with the most HTML; all else is shared by all pages.

    The search page is left out: it loads the index of the site, as it must.
    """
    pages = [p for p in site.rglob("*.html") if "_static" not in p.parts and p.stem != "search"]
    return max(pages, key=lambda path: path.stat().st_size).relative_to(site).as_posix()
