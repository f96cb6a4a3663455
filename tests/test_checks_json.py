"""checks.json has the form of its schema, and a record for each expectation of the pages."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from conftest import PROJECT, Project, Result, cell, copy_project, expect, page

SCHEMA = json.loads(
    (PROJECT / "docs/_ext/checked_cells/checks.schema.json").read_text(encoding="utf-8")
)
SHOWS = (
    cell("print(1)", expect("1"))
    + cell("x = 1")
    + cell("import sys\nprint(1)\n_ = sys.stderr.write('e')", expect("1"), expect("e", "stderr"))
    + cell("import warnings\nwarnings.warn('w')", expect("w", "UserWarning"))
    + cell("1 / 0", expect("division by zero", "ZeroDivisionError"), tags="raises-exception")
    + cell("from IPython.display import HTML\nHTML('<b>x</b>')", expect("<b>x</b>", "text/html"))
)
GOOD = {"one": page(SHOWS), "two": page(cell("print('```')", "````{expect}\n```\n````"))}
BAD = {
    "one": page(SHOWS.replace("print(1)", "print(2)")),
    "dead": page(
        cell("print(1)", expect("1"))
        + cell("import os\nos._exit(1)", expect("1"))
        + cell("print(2)", expect("2"), expect("3"))
        + cell("x = 1")
    ),
    "input": page(cell("print(1)\ninput()", expect("1"), expect("x", "EOFError"))),
}


def declared_lines(text: str) -> list[int]:
    """Return the line of each ``{expect}`` block of a page, found without the code under test."""
    return [
        number
        for number, line in enumerate(text.split("\n"), 1)
        if re.match(r"`{3,}\{expect\}", line)
    ]


def records(project: Project) -> dict:
    content = json.loads((project.root / "_build" / "checks.json").read_text("utf-8"))
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)
    return content


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict, Result, dict]:
    """A good build and then a failing one, each with its checks.json."""
    project = copy_project(tmp_path_factory.mktemp("json") / "project", pages=False)
    for name, text in GOOD.items():
        project.write(f"{name}.md", text)
    good = project.build()
    assert good.status == 0, good.output
    good_records = records(project)
    for name, text in BAD.items():
        project.write(f"{name}.md", text)
    bad = project.build()
    assert bad.status != 0
    return good, good_records, bad, records(project)


def lines_of(content: dict, name: str) -> list[int]:
    """Return the lines recorded for a page, without those of cells that show nothing."""
    return [
        check["line"]
        for check in content["checks"]
        if check["page"] == f"docs/{name}.md" and check["kind"] != "nothing"
    ]


@pytest.mark.parametrize("name", GOOD)
def test_good_build_records_each_expectation(builds: tuple, name: str) -> None:
    _, content, _, _ = builds
    assert lines_of(content, name) == declared_lines(GOOD[name])
    assert all(check["passed"] for check in content["checks"])


def test_kinds_are_those_of_what_was_shown(builds: tuple) -> None:
    _, content, _, _ = builds
    kinds = [check["kind"] for check in content["checks"] if check["page"] == "docs/one.md"]
    assert kinds == ["output", "nothing", "output", "stderr", "warning", "error", "media"]


def test_summary_counts_the_expectations(builds: tuple) -> None:
    good, _, _, _ = builds
    count = sum(len(declared_lines(text)) for text in GOOD.values())
    assert f" {count} outputs checked on PyTorch " in good.stdout


@pytest.mark.parametrize("name", {**GOOD, **BAD})
def test_failing_build_records_each_expectation(builds: tuple, name: str) -> None:
    _, _, _, content = builds
    assert lines_of(content, name) == declared_lines({**GOOD, **BAD}[name])


def test_failing_build_records_what_did_not_pass(builds: tuple) -> None:
    _, _, _, content = builds
    failed = [
        (check["page"].removeprefix("docs/").removesuffix(".md"), check["line"])
        for check in content["checks"]
        if not check["passed"]
    ]
    one, dead, both = (declared_lines(BAD[name]) for name in ("one", "dead", "input"))
    last_cell = BAD["dead"].split("\n").index("x = 1")
    assert failed == [
        *(("dead", line) for line in (*dead[1:], last_cell)),
        *(("input", line) for line in both),
        *(("one", line) for line in one[:2]),
    ]


@pytest.mark.parametrize("wrong", [{"line": 0}, {"kind": "x"}, {"page": "x.md"}, {"more": 1}])
def test_schema_refuses_other_records(builds: tuple, wrong: dict) -> None:
    _, content, _, _ = builds
    changed = {**content, "checks": [{**content["checks"][0], **wrong}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_schema_refuses_other_facts(builds: tuple) -> None:
    _, content, _, _ = builds
    for changed in ({**content, "more": 1}, {**content, "pytorch": ""}, {"checks": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed, SCHEMA, cls=jsonschema.Draft202012Validator)
