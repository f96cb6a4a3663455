"""Attempts to get a wrong page past the build, each of which did once."""

from __future__ import annotations

from conftest import Project, Result, cell, expect, page

ONE = cell("print(1)", expect("1"))


def write_pages(project: Project, bodies: dict[str, str]) -> None:
    """Write a page for each body."""
    for name, body in bodies.items():
        project.write(f"{name}.md", page(body, title=f"Page {name}"))


def failed(result: Result, *starts: str) -> None:
    """Assert that a build failed with one line for each of `starts`, and without a traceback."""
    assert result.status == 1, result.output
    assert "Traceback" not in result.output
    lines = result.output.splitlines()
    for start in starts:
        assert any(line.startswith(start) for line in lines), f"{start}\n{result.output}"


def test_second_build_does_not_forget_warnings(project: Project) -> None:
    write_pages(project, {"warns": ONE + "[a link](nowhere.md)\n\n(warns-a)=\n## A\n\n#### Skip\n"})
    for _ in range(2):
        result = project.build()
        assert result.status == 1
        assert "myst.xref_missing" in result.output
        assert "myst.header" in result.output
    assert not project.site.exists()


def test_html_of_a_removed_page_goes(project: Project) -> None:
    write_pages(project, {"stays": ONE, "goes": ONE})
    assert project.build().status == 0
    (project.root / "docs" / "goes.md").unlink()
    manifest = project.root / "docs" / "permalinks.txt"
    manifest.write_text(manifest.read_text("utf-8").replace("goes\n", ""), "utf-8")
    assert project.build(target="check").status == 0  # this build sees the removal first
    assert project.build().status == 0
    assert (project.site / "stays.html").exists()
    assert not (project.site / "goes.html").exists()


def test_site_is_not_published_in_part(project: Project) -> None:
    write_pages(project, {"a": ONE, "b": ONE})
    assert project.build().status == 0
    write_pages(project, {"b": cell("print(2)", expect("2"))})
    failed(project.build("docs/a.md"), "b was not written")
    assert project.build().status == 0
    assert ">2\n" in (project.site / "b.html").read_text("utf-8")


def test_kernel_lets_nothing_change_or_vanish_after_it_was_compared(project: Project) -> None:
    hidden = "metadata={'scrapbook': {'mime_prefix': 'application/papermill.record/', 'name': 'x'}}"
    write_pages(
        project,
        {
            "clears": cell("import IPython\nprint(1)\nIPython.display.clear_output()"),
            "from-c": cell("import ctypes\n_ = ctypes.CDLL(None).puts(b'from C')"),
            "good-loop": cell(
                "import asyncio\n\nasync def main():\n    print('in')\n\nasyncio.run(main())",
                expect("in"),
            ),
            "good-metadata": cell(f"display('there', {hidden})", expect("'there'")),
            "updates": cell("handle = display('a', display_id='x')", expect("'a'"))
            + cell("handle.update('b')"),
        },
    )
    result = project.build()
    failed(
        result,
        "docs/clears.md:13: the cell clears its output",
        "docs/from-c.md:13: undeclared output",
        "docs/updates.md:20: the cell updates a display",
    )
    assert "good-" not in result.output


def test_sources_that_were_misread(project: Project) -> None:
    write_pages(
        project,
        {
            "bare": "```{code-cell}\nprint(1)\n```\n",
            "empty-lines": "```{code-cell} python\n\n\nx = 1\ny = = 2\n\n```\n",
            "title-html": ONE + "```{admonition} <code>x = 1</code>\nText.\n```\n",
            "title-role": ONE + "~~~{admonition} {code}`import torch`\nText.\n~~~\n",
        },
    )
    project.write("nothing.md", "")
    project.write("null.md", "---\n---\n")
    failed(
        project.build(),
        "docs/bare.md:13: a cell begins with",
        "docs/empty-lines.md:17: syntax error",
        "docs/nothing.md:1: the page is empty",
        "docs/null.md:1: front matter must be a mapping",
        "docs/title-html.md:20: raw HTML",
        "docs/title-role.md:20: role {code}",
    )
