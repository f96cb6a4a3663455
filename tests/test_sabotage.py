"""Every page fails under a PyTorch that behaves otherwise: the site's promise, tried out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
import swapping
from checked_cells.site import load_page
from conftest import PROJECT, Result, cell, copy_project, expect, page
from overlay import INSTALLED, Edit, changed_files, check, make_environment, prove, site_packages
from sabotages import SABOTAGES, Sabotage

DOCS = PROJECT / "docs"
PAGES_WITH_CELLS = sorted(
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in DOCS.rglob("*.md")
    if "_ext" not in path.parts and load_page(path, DOCS).cells
)
PLACE = re.compile(r"^docs/(\S+)\.md:\d+: ", re.MULTILINE)
FIRST_CELL = re.compile(r"^```\{code-cell\}", re.MULTILINE)
AT_A_TIME = 2
PROOF = "proof"


@dataclass
class Trial:
    """A sabotage, and the pages that are checked under it.

    Attributes:
        pages: the pages in the scratch project, by the real ones that they stand for.
        edits: what is changed in PyTorch's files; nothing where the pages themselves change it.
    """

    sabotage: Sabotage
    pages: dict[str, str]
    edits: tuple[Edit, ...] = ()


def code_in_front(change: tuple[Edit, ...] | str, scratch: Path) -> str | None:
    """Return code that changes the imported PyTorch, or None where that cannot be done.

    Args:
        scratch: a directory for changed files, which the code reads.
    """
    if isinstance(change, str):
        return change
    code = Path(swapping.__file__).read_text("utf-8")
    for number, (file, text) in enumerate(changed_files(change).items()):
        installed, changed = str(INSTALLED / file), scratch / str(number)
        if not swapping.swappable(installed, text):
            return None
        scratch.mkdir(parents=True, exist_ok=True)
        changed.write_text(text, "utf-8")
        code += f"\nswap({installed!r}, Path({str(changed)!r}).read_text('utf-8'))\n"
    return code


def proof_page(proof: str, shown: str) -> str:
    """Return a page that runs a proof and declares what it prints under the unchanged PyTorch."""
    source = (
        "import warnings\n\nimport torch\n\nwarnings.simplefilter('ignore')\n"
        f"try:\n    exec({proof!r}, {{'torch': torch}})\n"
        "except Exception as error:\n    print(f'{type(error).__name__}: {error}')"
    )
    return page(cell(source, *([expect(shown.removesuffix("\n"))] if shown else [])))


def patched(text: str, code: str) -> str:
    """Return a page in which `code` runs before the first cell, as if it were PyTorch's own."""
    first = FIRST_CELL.search(text).start()
    return text[:first] + cell(f"exec({code!r}, {{'__name__': 'torch'}})") + text[first:]


def write_patched(site: Path, directory: str, name: str, code: str) -> str:
    """Write a copy of a page with `code` in front; return the copy's name."""
    # A page's labels begin with the name of its file, so that stays.
    copy = f"{directory}/{name}"
    text = patched((site / "docs" / f"{name}.md").read_text("utf-8"), code)
    path = site / "docs" / f"{copy}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return copy


def prepare(site: Path, sabotage: Sabotage, number: int, proof: str) -> Trial:
    """Write the pages of a trial, its proof among them, beside the real ones."""
    pages = {name: name for name in sabotage.notices} | {PROOF: f"{PROOF}-{number}"}
    (site / "docs" / f"{pages[PROOF]}.md").write_text(proof, "utf-8")
    code = code_in_front(sabotage.change, site / "changed" / str(number))
    if code is None:
        return Trial(sabotage, pages, sabotage.change)
    copies = {n: write_patched(site, f"patched-{number}", page, code) for n, page in pages.items()}
    return Trial(sabotage, copies)


def chosen(request: pytest.FixtureRequest) -> list[Sabotage]:
    """Return the sabotages whose tests were selected on pytest's command line, or else all."""
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    selected = [spec.params["sabotage"] for spec in specs if spec and "sabotage" in spec.params]
    return selected or list(SABOTAGES)


@pytest.fixture(scope="module")
def real_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with its real pages."""
    return copy_project(tmp_path_factory.mktemp("site") / "project", pages=True).root


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, real_site: Path
) -> list[Trial]:
    """The chosen sabotages, with their pages; proofs declare what the unchanged PyTorch prints."""
    python = make_environment(tmp_path_factory.mktemp("unchanged") / "v", ())
    sabotages = chosen(request)
    shown = prove(python, [s.proof for s in sabotages], tmp_path_factory.mktemp("proofs"))
    pages = [proof_page(s.proof, text) for s, text in zip(sabotages, shown, strict=True)]
    return [prepare(real_site, s, n, pages[n]) for n, s in enumerate(sabotages)]


@pytest.fixture(scope="module")
def unchanged(real_site: Path, trials: list[Trial]) -> list[str]:
    """The proofs, and the pages of patched trials with a cell in front that changes nothing."""
    patched = {name for trial in trials if not trial.edits for name in trial.sabotage.notices}
    names = [write_patched(real_site, "unchanged", name, "") for name in sorted(patched)]
    return names + [f"{PROOF}-{number}" for number, _ in enumerate(trials)]


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Threads in which checks run while tests look at the first results."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def together(
    pool: ThreadPoolExecutor, real_site: Path, trials: list[Trial], unchanged: list[str]
) -> Future[Result]:
    """The result for all pages that run under the installed PyTorch: they share one import."""
    patched = [name for trial in trials if not trial.edits for name in trial.pages.values()]
    return pool.submit(check, sys.executable, real_site, patched + unchanged, AT_A_TIME)


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory,
    pool: ThreadPoolExecutor,
    real_site: Path,
    trials: list[Trial],
    together: Future[Result],
) -> dict[str, Future[Result]]:
    """The results of the trials; edited files need a PyTorch that was imported for them alone."""
    root = tmp_path_factory.mktemp("sabotaged")

    def check_edited(trial: Trial, number: int) -> Result:
        python = make_environment(root / str(number), trial.edits)
        return check(python, real_site, [*trial.pages.values()])

    return {
        trial.sabotage.name: pool.submit(check_edited, trial, number) if trial.edits else together
        for number, trial in enumerate(trials)
    }


def failures(output: str) -> dict[str, str]:
    """Return what a failed check says, by page."""
    _, *parts = PLACE.split(output)
    told: dict[str, str] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        told[name] = told.get(name, "") + text
    return told


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda s: s.name.replace(" ", "-"))
def test_pages_fail_under_a_changed_pytorch(
    sabotage: Sabotage, trials: list[Trial], outcomes: dict[str, Future[Result]]
) -> None:
    [trial] = [trial for trial in trials if trial.sabotage is sabotage]
    result = outcomes[sabotage.name].result()
    assert result.status == 1, result.output
    failed = failures(result.stderr)
    told = {name: failed[page] for name, page in trial.pages.items() if page in failed}
    assert PROOF in told, "the sabotage changes nothing"
    del told[PROOF]
    assert told.keys() == sabotage.notices.keys(), told
    for name, text in sabotage.notices.items():
        assert text in told[name], f"{name}: {told[name]}"


def test_pages_and_proofs_pass_under_the_unchanged_pytorch(
    unchanged: list[str], together: Future[Result]
) -> None:
    told = together.result().stderr
    assert unchanged
    assert not [name for name in unchanged if f" docs/{name}.md " not in told], "it did not run"
    failed = failures(told)
    assert not {name: failed[name] for name in unchanged if name in failed}


def test_every_page_with_cells_has_a_sabotage() -> None:
    assert PAGES_WITH_CELLS
    assert {page for s in SABOTAGES for page in s.notices} == set(PAGES_WITH_CELLS)


def test_names_are_unique() -> None:
    assert len({s.name for s in SABOTAGES}) == len(SABOTAGES)


def test_the_changed_files_are_what_is_imported(tmp_path: Path) -> None:
    files = ("torch/__init__.py", "torch/optim/sgd.py", "torch/autograd/grad_mode.py")
    edits = tuple(Edit(file, None, "SABOTAGED = __file__\n") for file in files)
    python = make_environment(tmp_path / "v", edits)
    proof = """
import sys
for name in ("torch", "torch.optim.sgd", "torch.autograd.grad_mode"):
    print(sys.modules[name].SABOTAGED)
"""
    (shown,) = prove(python, [proof], tmp_path)
    packages = site_packages(tmp_path / "v")
    assert shown.splitlines() == [str(packages / file) for file in files]


def test_the_installed_files_stay_as_they_are(tmp_path: Path) -> None:
    def state() -> list[tuple[Path, int, int]]:
        found = sorted((INSTALLED / "torch/optim").rglob("*"))
        return [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in found]

    before = state()
    python = make_environment(tmp_path / "v", (Edit("torch/optim/sgd.py", None, "SABOTAGED = 1"),))
    prove(python, ["import torch.optim.sgd"], tmp_path)
    assert state() == before


@pytest.mark.parametrize("old", ["not in there", "momentum"])
def test_an_edit_must_fit_exactly_once(old: str) -> None:
    with pytest.raises(LookupError, match="times, not once"):
        Edit("torch/optim/sgd.py", old, "").apply((INSTALLED / "torch/optim/sgd.py").read_text())


@pytest.mark.parametrize(
    ("old", "new", "within_functions"),
    [
        ("return self.step", "return self.stop", True),
        ("def step(self, by=1)", "def step(self, by=2)", False),
        ("    @property\n", "", False),
        ("limit = 3", "limit = 4", False),
    ],
)
def test_only_what_functions_do_is_swapped(
    tmp_path: Path, old: str, new: str, within_functions: bool
) -> None:
    source = """class Optimizer:
    limit = 3

    @property
    def next(self):
        return self.step

    def step(self, by=1):
        return by
"""
    (tmp_path / "module.py").write_text(source, "utf-8")
    assert old in source
    found = swapping.swappable(str(tmp_path / "module.py"), source.replace(old, new))
    assert found is within_functions
