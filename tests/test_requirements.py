"""The pinned requirements are those of the hand-kept files, and fit every machine."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ["requirements", "tests/requirements"]


def lines(name: str) -> list[str]:
    """Return the requirements in a file, without comments and options."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if re.match(r"\w", line)]


def distribution(requirement: str) -> str:
    """Return the normalised name in a requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


@pytest.mark.parametrize("name", PAIRS)
def test_pins_follow_the_hand_kept_file(name: str) -> None:
    pinned = {distribution(line): line for line in lines(f"{name}.txt")}
    for line in lines(f"{name}.in"):
        assert distribution(line) in pinned, f"{line}: run `make requirements`"
        if "==" in line:
            assert pinned[distribution(line)] == line


@pytest.mark.parametrize("name", PAIRS)
def test_every_line_is_one_public_version(name: str) -> None:
    for line in lines(f"{name}.txt"):
        assert re.fullmatch(r"[\w.-]+==[\w.]+", line), line


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_of_one_machine_or_one_vendor(name: str) -> None:
    text = (ROOT / f"{name}.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|^-|^\s*# +via +/|\+cpu", text, re.MULTILINE)
    assert not re.search(r"^(nvidia|cuda|triton)", text, re.MULTILINE)


def test_tests_and_site_agree_on_versions() -> None:
    site = {distribution(line): line for line in lines("requirements.txt")}
    for line in lines("tests/requirements.txt"):
        assert site.get(distribution(line), line) == line
