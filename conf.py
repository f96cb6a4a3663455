"""Sphinx configuration of Autograd Ground Rules: the pages are in docs/, so ``-c . docs``."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "docs" / "_ext"))

project = "Autograd Ground Rules"
author = "the Autograd Ground Rules contributors"
copyright = author  # no year: the bytes must not depend on it
language = "en"

extensions = [
    "publish",  # first, since it changes the output directory
    "checked_cells.extension",
    "outcomes",
    "rewriting",
    "permalinks",
    "myst_nb",
    "sphinx_copybutton",
    "description",
    "navigation",
    "page_weight",
    "compiled_templates",
    "search_field",
]
exclude_patterns = ["_ext", "_lib", "_static", "_templates"]
# From here, where the HTML builder looks, and from docs/, where translators get the words.
templates_path = ["docs/_templates", "_templates"]
locale_dirs = ["locale"]  # in docs/
gettext_compact = False
smartquotes = False  # titles are messages, word for word

# Pages are read by checked_cells, which has run their cells; MyST-NB only renders.
nb_custom_formats = {".md": ["checked_cells.extension.read_executed", {}, False]}
nb_execution_mode = "off"
# Pictures are HTML, also to builders that write none (check, linkcheck, gettext) and would warn.
nb_mime_priority_overrides = [("*", "text/html", 0)]

# Labels are explicit: an automatic one would change with its heading.
myst_heading_anchors = 0
# checked_cells reports pages outside every table of contents itself, with the other failures.
suppress_warnings = ["toc.not_included"]
nitpicky = True

# On code, and not on what it shows.
copybutton_selector = 'div[class^="highlight-"] pre'  # it stands between single quotes in a script

html_theme = "sphinx_book_theme"
html_title = project
html_baseurl = os.environ.get(
    "READTHEDOCS_CANONICAL_URL", "https://autograd-ground-rules.readthedocs.io/en/latest/"
)
html_static_path = ["docs/_static"]
html_css_files = ["site.css"]
html_search_scorer = "docs/_ext/search_scorer.js"
html_copy_source = False  # cells with {expect} blocks are not what a reader wants to download
html_use_index = False  # there is nothing in it
html_show_sphinx = False
html_last_updated_fmt = None  # a date would change the bytes
html_theme_options = {
    "article_footer_items": ["checked.html"],
    "footer_content_items": ["copyright.html"],
    "navbar_persistent": [],  # the theme below would add a second search field
    "use_download_button": False,
    "use_fullscreen_button": False,
}
