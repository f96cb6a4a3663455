"""Readers' words can be translated: those of pages, and those of templates."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from conftest import Project, cell, expect, page, run

PAGE = page("```{search-field}\n```\n\n" + cell("print(1)", expect("1")))
HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
CATALOGS = {
    "page": {"The short answer.": "Die kurze Antwort."},
    "sphinx": {"Paste the error message, or a part of it:": "Die Meldung:", "How?": "Wie?"},
}


@pytest.fixture
def translated(project: Project) -> Project:
    """A project with one page and German catalogs."""
    project.write("page.md", PAGE)
    for name, words in CATALOGS.items():
        text = HEADER + "".join(f'\nmsgid "{old}"\nmsgstr "{new}"\n' for old, new in words.items())
        project.write(f"locale/de/LC_MESSAGES/{name}.po", text)
    return project


def test_translators_get_the_words_of_pages_and_of_templates(translated: Project) -> None:
    command = translated.build_command(target="check")
    command[command.index("dummy")] = "gettext"
    result = run(*command, cwd=translated.root)
    assert result.status == 0, result.output
    for name, words in CATALOGS.items():
        template = (translated.root / "_build" / "check" / f"{name}.pot").read_text("utf-8")
        assert all(f'msgid "{word}"' in template for word in words)


def test_readers_get_the_translations(translated: Project) -> None:
    result = translated.build("-Dlanguage=de")
    assert result.status == 0, result.output
    text = BeautifulSoup((translated.site / "page.html").read_text("utf-8"), "html.parser").main
    assert [
        new for words in CATALOGS.values() for new in words.values() if new not in text.text
    ] == []
