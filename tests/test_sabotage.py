"""Every page fails under a PyTorch that behaves otherwise: the site's promise, tried out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from checked_cells.site import load_page
from conftest import PROJECT, Result, cell, copy_project, expect, page
from overlay import INSTALLED, Edit, check, make_environment, prove, site_packages
from sabotages import SABOTAGES, Sabotage

DOCS = PROJECT / "docs"
PAGES_WITH_CELLS = sorted(
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in DOCS.rglob("*.md")
    if "_ext" not in path.parts and load_page(path, DOCS).cells
)
PLACE = re.compile(r"^docs/(\S+)\.md:\d+: ", re.MULTILINE)
AT_A_TIME = 2


def sabotaged(root: Path, sabotage: Sabotage, number: int, project: Path) -> Result:
    """Return how the check of its proof and of its pages ends under a changed PyTorch."""
    python = make_environment(root, sabotage.edits)
    return check(python, project, [proof_name(number), *sabotage.notices])


def proof_name(number: int) -> str:
    """Return the name of the page that holds a sabotage's proof."""
    return f"proof-{number}"


def proof_page(proof: str, shown: str) -> str:
    """Return a page that runs a proof and declares what it prints under the unchanged PyTorch."""
    source = (
        "import warnings\n\nimport torch\n\nwarnings.simplefilter('ignore')\n"
        f"try:\n    exec({proof!r}, {{'torch': torch}})\n"
        "except Exception as error:\n    print(f'{type(error).__name__}: {error}')"
    )
    return page(cell(source, *([expect(shown.removesuffix("\n"))] if shown else [])))


def chosen(request: pytest.FixtureRequest) -> list[Sabotage]:
    """Return the sabotages whose tests were selected on pytest's command line."""
    specs = [getattr(item, "callspec", None) for item in request.session.items]
    return [spec.params["sabotage"] for spec in specs if spec and "sabotage" in spec.params]


@pytest.fixture(scope="module")
def real_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with its real pages."""
    return copy_project(tmp_path_factory.mktemp("site") / "project", pages=True).root


@pytest.fixture(scope="module")
def proofs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Pages with the chosen proofs, and with what they print under the unchanged PyTorch."""
    python = make_environment(tmp_path_factory.mktemp("unchanged") / "v", ())
    sources = [sabotage.proof for sabotage in chosen(request)]
    shown = prove(python, sources, tmp_path_factory.mktemp("proofs"))
    return [proof_page(source, text) for source, text in zip(sources, shown, strict=True)]


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    real_site: Path,
    proofs: list[str],
) -> Iterator[dict[str, Future[Result]]]:
    """The chosen sabotages' results, while the next ones are running."""
    root = tmp_path_factory.mktemp("sabotaged")
    for number, text in enumerate(proofs):
        (real_site / "docs" / f"{proof_name(number)}.md").write_text(text, "utf-8")
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield {
            s.name: pool.submit(sabotaged, root / str(number), s, number, real_site)
            for number, s in enumerate(chosen(request))
        }
        pool.shutdown(cancel_futures=True)


def failures(output: str) -> dict[str, str]:
    """Return what a failed check says, by page."""
    _, *parts = PLACE.split(output)
    told: dict[str, str] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        told[name] = told.get(name, "") + text
    return told


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda s: s.name.replace(" ", "-"))
def test_pages_fail_under_a_changed_pytorch(
    sabotage: Sabotage,
    outcomes: dict[str, Future[Result]],
) -> None:
    result = outcomes[sabotage.name].result()
    assert result.status == 1, result.output
    told = failures(result.stderr)
    proof = next((name for name in told if name.startswith("proof-")), None)
    assert proof, f"the sabotage changes nothing:\n{result.output}"
    del told[proof]
    assert set(told) == set(sabotage.notices), result.output
    for name, text in sabotage.notices.items():
        assert text in told[name], f"{name}: {result.output}"


def test_pages_pass_under_links_to_the_unchanged_pytorch(tmp_path: Path, real_site: Path) -> None:
    edits = (Edit("torch/__init__.py", None, ""), Edit("torch/optim/optimizer.py", None, ""))
    python = make_environment(tmp_path / "v", edits)
    result = check(python, real_site, PAGES_WITH_CELLS, AT_A_TIME)
    assert result.status == 0, result.output
    assert f"{len(PAGES_WITH_CELLS)} pages" in result.stdout


def test_every_page_with_cells_has_a_sabotage() -> None:
    assert PAGES_WITH_CELLS
    assert {page for s in SABOTAGES for page in s.notices} == set(PAGES_WITH_CELLS)


def test_proofs_hold_under_the_unchanged_pytorch(
    request: pytest.FixtureRequest, proofs: list[str], real_site: Path, outcomes: object
) -> None:
    names = [proof_name(number) for number, _ in enumerate(proofs)]
    result = check(sys.executable, real_site, names, AT_A_TIME)
    assert result.status == 0, result.output


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
