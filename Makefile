# Every command that a person needs. `make` lists them.

# The Python that makes .venv, 3.11 or newer: make html PYTHON=/opt/python3.12/bin/python
PYTHON ?=
# Processes that build pages.
JOBS ?= auto
# check and accept: only these pages, for example PAGES="docs/leaves/what-is-a-leaf.md docs/grad-mode/no-grad.md"
PAGES ?=
# requirements: package names to bring up to date, or `all`.
UPGRADE ?=
# bench: anything for fewer pages and one run.
QUICK ?=

# Someone's settings for other projects would put other packages before those in .venv.
unexport PYTHONHOME PYTHONPATH
# Sphinx does not start where the person's locale is not installed here; this one always is.
export LC_ALL = C

# -I: nothing of the person's Python settings; utf8: whatever the locale.
PYTHON_HERE = .venv/bin/python -I -X utf8
SPHINX = $(PYTHON_HERE) -m sphinx -b
SPHINX_ARGS = -W -q -j $(JOBS) -d _build/doctrees -c . docs
# check and accept work on pages without building the site.
CHECKED_CELLS = $(PYTHON_HERE) docs/_ext/checked_cells

# Whatever has made .venv before goes first, so that a newer Python on the machine does not make it anew.
PYTHONS = $(if $(PYTHON),"$(PYTHON)",.venv/bin/python python3.14 python3.13 python3.12 python3.11 python3 python)
FITS = import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))
define SET_UP
@for python in $(PYTHONS); do \
	if "$$python" -c '$(FITS)' >/dev/null 2>&1; then exec "$$python" tools/set_up.py $(1); fi; \
done; \
echo 'No Python 3.11 or newer with venv and ensurepip among' $(PYTHONS)': install one' \
	'(Debian, Ubuntu: apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3' >&2; \
exit 1
endef

.DEFAULT_GOAL := help
.PHONY: html check accept live linkcheck test bench lint requirements set-up set-up-tests set-up-browser clean distclean help

html: set-up  ## build the whole site into _build/html and check every output on it
	@$(SPHINX) html $(SPHINX_ARGS) _build/html

check: set-up  ## run and check the pages, write no HTML; PAGES="docs/…md …" for some of them
ifdef PAGES
	@$(CHECKED_CELLS) check $(PAGES)
else
	@$(SPHINX) dummy $(SPHINX_ARGS) _build/check
endif

accept: set-up  ## rewrite the {expect} blocks to what PyTorch showed, and show the changes; PAGES= as above
	@$(CHECKED_CELLS) accept $(PAGES)
ifndef PAGES
	@$(SPHINX) dummy -D permalinks_record=1 $(SPHINX_ARGS) _build/check
endif

live: set-up  ## build again whenever a file is saved, and show the site in a browser
	@.venv/bin/python -m sphinx_autobuild --open-browser --watch conf.py --ignore _build --re-ignore __pycache__ \
		$(SPHINX_ARGS) _build/html

linkcheck: set-up  ## visit every link that leaves the site
	@$(SPHINX) linkcheck $(SPHINX_ARGS) _build/linkcheck

test: set-up-browser  ## run all tests
	@.venv/bin/python -m pytest

bench: set-up-tests  ## measure speed, memory and weight, in about 15 minutes; QUICK=1 to try it
	@QUICK=$(QUICK) .venv/bin/python tools/bench.py

lint: set-up-tests  ## check the Python code's style
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .

requirements: set-up-tests  ## pin requirements.in and tests/requirements.in anew; UPGRADE="numpy …" or UPGRADE=all
	@.venv/bin/python tools/pin_requirements.py $(UPGRADE)

set-up:  ## make .venv, or mend it (the commands above do this themselves)
	$(call SET_UP)

set-up-tests:
	$(call SET_UP,--tests)

set-up-browser:
	$(call SET_UP,--tests --browser)

clean:  ## remove build results and caches
	@rm -rf _build .pytest_cache .ruff_cache .hypothesis
	@find . -path ./.venv -prune -o -type d -name __pycache__ -exec rm -rf {} +

distclean: clean  ## remove .venv as well
	@rm -rf .venv

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile
