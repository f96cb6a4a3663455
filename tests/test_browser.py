"""The site in a real browser: on a phone and a desk, light and dark, with and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlencode, urlsplit

import pytest
from browsing import OpenTab, Tab, contrast, faint_texts, new_tab, schemes, widths
from conftest import DOCNAMES, source_page
from playwright.sync_api import Browser, Locator, expect

PAGES = [*DOCNAMES, "search"]
ERROR_PAGE = "errors/leaf-in-place"
LONG_OUTPUT_PAGE = "optimizer-step/the-decorator"
MESSAGE = "leaf Variable that requires grad"

TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth;
    const scrolls = (box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
    const inside = (element) => {
        for (let box = element.parentElement; box.matches("article *"); box = box.parentElement)
            if (scrolls(box)) return true;
        return false;
    };
    // Sidebars wait outside of a narrow window until they are opened.
    const wide = [...document.querySelectorAll("main *")].filter((element) =>
        !element.closest(".bd-sidebar-secondary") && !inside(element) &&
        element.getBoundingClientRect().width > 0 &&
        element.getBoundingClientRect().right > width + 1);
    const found = wide.map((element) => `too wide: ${element.outerHTML.slice(0, 80)}`);
    if (document.documentElement.scrollWidth > width)
        found.push(`the page scrolls sideways: ${document.documentElement.scrollWidth}`);
    return found;
}"""
"""Without scroll bars of its own a page may also cut off what is too wide: so look at each box."""


@dataclass
class Visit:
    """What a browser shows of one page.

    Attributes:
        trouble: what is too wide or has gone wrong.
        theme: light or dark.
        answer: pixels from the top of the page to the short answer, where there is one.
        words: those of the article, where there is one.
        faint: texts with too little contrast.
        outcomes: how many texts there are in the boxes of errors and warnings.
    """

    trouble: list[str]
    theme: str
    answer: float | None
    words: list[str]
    faint: list[str]
    outcomes: int


def visit(tab: Tab, docname: str) -> Visit:
    """Open a page and look at all of it."""
    tab.open(docname)
    outcomes_faint, outcomes = faint_texts(tab.page, ".outcome")
    faint, _ = faint_texts(tab.page, ".bd-article, .checked-note, .bd-docs-nav, .page-toc")
    answer, articles = tab.page.locator("h1 + p"), tab.page.locator("article")
    tab.problems += tab.page.evaluate(TOO_WIDE)
    trouble, tab.problems = tab.problems, []
    return Visit(
        trouble=trouble,
        theme=tab.page.evaluate("document.documentElement.dataset.theme"),
        answer=answer.bounding_box()["y"] if answer.count() else None,
        words=[word for text in articles.all_inner_texts() for word in text.split()],
        faint=outcomes_faint + faint,
        outcomes=outcomes,
    )


Look = Callable[[int, str], dict[str, Visit]]


@pytest.fixture(scope="module")
def look(browser: Browser, root: str) -> Look:
    """Visit every page at a width and in a scheme, once for all tests that ask."""

    @cache
    def look(width: int, scheme: str) -> dict[str, Visit]:
        tab = new_tab(browser, root, width, scheme)
        visits = {docname: visit(tab, docname) for docname in PAGES}
        tab.page.context.close()
        visits[PAGES[-1]].trouble += tab.problems  # what came late
        return visits

    return look


@widths
@schemes
def test_pages_fit_and_load_without_trouble(look: Look, width: int, scheme: str) -> None:
    visits = look(width, scheme)
    assert {visit.theme for visit in visits.values()} == {scheme}
    assert not {name: visit.trouble for name, visit in visits.items() if visit.trouble}


def test_long_lines_scroll_in_their_own_box(open_tab: OpenTab) -> None:
    tab = open_tab(360)
    tab.open(LONG_OUTPUT_PAGE)
    # A script could scroll what is cut off, too, which a reader cannot.
    long = tab.page.evaluate("""() => [...document.querySelectorAll(".cell pre")]
        .filter((pre) => pre.scrollWidth > pre.clientWidth)
        .map((pre) => {
            pre.scrollLeft = 50;
            return [pre.textContent, getComputedStyle(pre).overflowX, pre.scrollLeft];
        })""")
    assert long
    assert not [box for box in long if box[1] not in ("auto", "scroll") or not box[2]]
    assert tab.page.evaluate("document.documentElement.scrollLeft") == 0


@widths
def test_headings_are_not_larger_than_half_a_phone(look: Look, width: int) -> None:
    answers = {docname: look(width, "light")[docname].answer for docname in DOCNAMES}
    assert not {docname: top for docname, top in answers.items() if top is None or top >= 400}


@widths
@pytest.mark.parametrize("docname", ["index", ERROR_PAGE])
def test_there_is_one_way_to_search(open_tab: OpenTab, width: int, docname: str) -> None:
    tab = open_tab(width)
    tab.open(docname)
    buttons = tab.page.locator(".search-button__button").all()
    # On a narrow screen the sidebar is outside of the window until it is opened.
    assert sum(button.is_visible() for button in buttons) == 1


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("rgb(0, 0, 0)", ["rgb(255, 255, 255)"]) == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", ["rgba(0, 0, 0, 0)"]) == pytest.approx(4.48, abs=0.005)
    assert contrast("color(srgb 0 0 0 / 0.5)", ["rgb(255, 255, 255)"]) == pytest.approx(
        contrast("rgb(127.5, 127.5, 127.5)", ["rgb(255, 255, 255)"])
    )


def test_the_same_words_in_two_colours_are_two_texts(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<p style='color: #bbb'>words</p><p>words</p><p>words</p>")
    assert faint_texts(page, "p") == (["'words': 1.92"], 3)
    page.close()


@widths
@schemes
def test_text_has_contrast(look: Look, width: int, scheme: str) -> None:
    visits = look(width, scheme)
    assert sum(visit.outcomes for visit in visits.values())
    assert not {name: visit.faint for name, visit in visits.items() if visit.faint}


def test_error_is_not_painted_as_a_broken_page(open_tab: OpenTab) -> None:
    """The message has the colour of any text, and words stand above it."""
    tab = open_tab(1280)
    tab.open(ERROR_PAGE)
    box = tab.page.locator(".outcome.error").first
    expect(box.locator(".outcome-title")).to_be_visible()
    colours = box.locator("pre, pre span").evaluate_all(
        "all => all.map((element) => getComputedStyle(element).color)"
    )
    assert set(colours) == {
        tab.page.locator("h1 + p").evaluate("(element) => getComputedStyle(element).color")
    }


@widths
def test_theme_switch_works_and_persists(open_tab: OpenTab, width: int) -> None:
    tab = open_tab(width, "light")
    tab.open("index")
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(background)
    tab.page.locator(".theme-switch-button:visible").click()
    tab.page.locator(".theme-change-button[data-mode=dark]:visible").click()
    for docname in ("", "index", ERROR_PAGE):
        if docname:
            tab.open(docname)
        expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
        assert tab.page.evaluate(background) != light, docname
    tab.page.locator(".theme-switch-button:visible").click()
    tab.page.locator(".theme-change-button[data-mode=light]:visible").click()
    expect(tab.page.locator("html")).to_have_attribute("data-theme", "light")
    assert tab.page.evaluate(background) == light
    assert not tab.problems


@widths
def test_search_finds_the_page_of_a_message(open_tab: OpenTab, width: int) -> None:
    tab = open_tab(width)
    tab.open("index")
    tab.page.locator(".search-button__button:visible").click()
    tab.page.locator("#pst-search-dialog input").fill(MESSAGE)
    tab.page.keyboard.press("Enter")
    found = tab.page.locator("#search-results li a").first
    expect(found).to_contain_text(MESSAGE)
    # Every page found is fetched for its summary; leaving before would count as failed requests.
    tab.page.wait_for_load_state("networkidle")
    found.click()
    expect(tab.page.locator("h1")).to_contain_text(MESSAGE)
    assert not tab.problems


# As they are pasted: whole, with what only the reader's program has.
PASTED = {
    "errors/leaf-in-place": """\
Traceback (most recent call last):
  File "/home/me/train.py", line 31, in <module>
    weights += 1
RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.""",
    "errors/modified-by-an-inplace-operation": """\
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace \
operation: [torch.cuda.FloatTensor [256, 128]], which is output 0 of AsStridedBackward0, is at \
version 4; expected version 3 instead.""",
    "errors/view-in-custom-function": """\
Output 0 of BackwardHookFunctionBackward is a view and is being modified inplace. This view was \
created inside a custom Function (or because an input was returned as-is) and the autograd logic \
to handle view+inplace would override the custom backward associated with it.""",
    "errors/out-does-not-support-autograd": """\
add(): functions with out=... arguments don't support automatic differentiation, but one of the \
arguments requires grad.""",
}


@widths
@pytest.mark.parametrize("start", ["index", "errors/index"])
def test_a_pasted_message_leads_to_its_page(open_tab: OpenTab, width: int, start: str) -> None:
    tab = open_tab(width)
    for docname, message in PASTED.items():
        tab.open(start)
        tab.page.get_by_role("searchbox").fill(message.replace("\n", " "))
        tab.page.get_by_role("button", name="Search", exact=True).last.click()
        found = tab.page.locator("#search-results li a").first
        expect(found).to_have_attribute("href", re.compile(rf"^{docname}\.html"))
        tab.page.wait_for_load_state("networkidle")
    assert not tab.problems


def results(tab: Tab, query: str) -> Locator:
    """Search for `query`, and wait until every result has its summary."""
    tab.page.goto(f"{tab.root}/search.html?{urlencode({'q': query})}")
    expect(tab.page.locator("#search-results .context").first).not_to_be_empty()
    tab.page.wait_for_load_state("networkidle")
    return tab.page.locator("#search-results")


def test_a_result_begins_with_the_answer(open_tab: OpenTab) -> None:
    # Pages without one of these words as it is written are shown by how they begin.
    code = "for channel, m, s in zip(img, mean, std): channel.mul_(s).add_(m)"
    summaries = results(open_tab(1280), code).locator(".context").all_inner_texts()
    assert summaries
    assert not [text for text in summaries if "System Settings" in text]


def test_a_result_marks_words_and_no_letters(open_tab: OpenTab) -> None:
    found = results(open_tab(1280), "can't optimize a non-leaf Tensor")
    marked = {text.lower() for text in found.locator(".highlighted").all_inner_texts()}
    assert "leaf" in marked
    assert "t" not in marked


def test_without_scripts_the_search_leads_to_the_list(open_tab: OpenTab) -> None:
    tab = open_tab(360, scripts=False)
    tab.open("index")
    tab.page.get_by_role("searchbox").fill(MESSAGE)
    tab.page.keyboard.press("Enter")
    tab.page.locator("noscript a").click()
    expect(tab.page.locator("h1")).to_contain_text("Errors")


def test_sidebars_open_on_a_phone(open_tab: OpenTab) -> None:
    tab = open_tab(360)
    tab.open(ERROR_PAGE)
    tab.page.locator(".bd-header-article .secondary-toggle").click()
    tab.page.locator("dialog[open] .page-toc a").nth(1).click()
    label = urlsplit(tab.page.url).fragment
    assert label
    expect(tab.page.locator(f"#{label}")).to_be_in_viewport()
    expect(tab.page.locator("dialog[open]")).to_have_count(0)
    tab.page.locator(".bd-header-article .primary-toggle").click()
    tab.page.locator("dialog[open] nav .toctree-toggle").first.click()
    tab.page.locator("dialog[open] nav a", has_text="What is a leaf tensor?").click()
    expect(tab.page.locator("h1")).to_contain_text("What is a leaf tensor?")
    tab.page.locator(".right-next").click()
    expect(tab.page.locator("h1")).not_to_contain_text("What is a leaf tensor?")
    tab.page.locator(".left-prev").click()
    expect(tab.page.locator("h1")).to_contain_text("What is a leaf tensor?")
    assert not tab.problems


FOCUS = """() => {
    const element = document.activeElement;
    const visible = [element, ...element.children].some((box) => {
        const style = getComputedStyle(box);
        const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
        return outline || /[1-9]px/.test(style.boxShadow);
    });
    return [element.outerHTML.slice(0, 80), visible, element === document.body];
}"""


@widths
def test_keyboard_focus_is_visible(open_tab: OpenTab, width: int) -> None:
    tab = open_tab(width)
    tab.open(ERROR_PAGE)
    tab.page.keyboard.press("Tab")
    skip_link = tab.page.locator("#pst-skip-link a")
    expect(skip_link).to_be_focused()
    expect(skip_link).to_be_in_viewport()
    unseen, stops = [], 0
    for _ in range(300):
        element, visible, end = tab.page.evaluate(FOCUS)
        if end:
            break
        stops += 1
        if not visible:
            unseen.append(element)
        tab.page.keyboard.press("Tab")
    assert not unseen
    assert stops > len(tab.page.locator("article a[href]:not(.headerlink)").all())


def test_copy_buttons_copy_the_code_of_cells_alone(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.open(ERROR_PAGE)
    copied = []
    for button in tab.page.locator("article button.copybtn").all():
        button.click()
        copied.append(tab.page.evaluate("navigator.clipboard.readText()"))
    assert copied == [cell.source.rstrip("\n") for cell in source_page(ERROR_PAGE).cells]


def test_skip_link_leads_to_the_text(open_tab: OpenTab) -> None:
    tab = open_tab(1280)
    tab.open(ERROR_PAGE)
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.closest('main') !== null")


@widths
def test_text_is_readable_without_scripts(open_tab: OpenTab, look: Look, width: int) -> None:
    tab, scripted = open_tab(width, scripts=False), look(width, "light")
    for docname in DOCNAMES:
        tab.open(docname)
        assert tab.page.locator("article").inner_text().split() == scripted[docname].words, docname
        faint, count = faint_texts(tab.page, "article")
        assert count and not faint, docname
        assert not tab.page.evaluate(TOO_WIDE), docname
    # Chromium gives up the scripts that it has begun to load ahead.
    assert not [problem for problem in tab.problems if "/_static/scripts/" not in problem]
