"""Attempts to get a wrong page past the build, each of which did once."""

from __future__ import annotations

import os

import psutil
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


def test_unusual_cells_neither_crash_nor_are_refused(project: Project) -> None:
    start = (
        "import multiprocessing\nnew = multiprocessing.get_context('fork').Process(target=print)"
    )
    write_pages(
        project,
        {
            "good-fork": cell(f"{start}\nnew.start()\nnew.join()", expect("")),
            "good-group": cell(
                "raise ExceptionGroup('both', [ValueError(1), TypeError(2)])",
                expect(
                    "both (2 sub-exceptions)\n  ValueError: 1\n  TypeError: 2", "ExceptionGroup"
                ),
                tags="raises-exception",
            ),
            "good-nameless": cell(
                "class Odd(Exception):\n"
                "    def __str__(self):\n"
                "        return 1 / 0\n\n"
                "odd = Odd()\n"
                "odd.add_note('noted')\n"
                "raise odd",
                expect("<exception str() failed>\nnoted", "__main__.Odd"),
                tags="raises-exception",
            ),
            "long": cell("'x' * 70_000", expect("x")),
            "list": cell("display({'text/plain': ['a', 'b']}, raw=True)", expect("ab")),
            "number": cell("display({'text/plain': 5}, raw=True)", expect("5")),
            "surrogate": cell("print('\\ud800')"),
        },
    )
    result = project.build()
    failed(
        result,
        "docs/long.md:16: expected another output",
        "docs/list.md:16: expected another output",
        "docs/number.md:13: the cell displays what no notebook can hold",
        "docs/surrogate.md:13: UnicodeEncodeError raised",
    )
    assert "good-" not in result.output


def test_sources_that_were_misread(project: Project) -> None:
    write_pages(
        project,
        {
            "bare": "```{code-cell}\nprint(1)\n```\n",
            "empty-lines": "```{code-cell} python\n\n\nx = 1\ny = = 2\n\n```\n",
            "bidi": cell("x = 'a\u202e b'\nprint(1)", expect("1")),
            "download": ONE
            + "[the code](../conf.py) and [a page](bidi.md#x), <https://a.b/c.py>\n",
            "title-html": ONE + "```{admonition} <code>x = 1</code>\nText.\n```\n",
            "title-role": ONE + "~~~{admonition} {code}`import torch`\nText.\n~~~\n",
        },
    )
    project.write("nothing.md", "")
    project.write("null.md", "---\n---\n")
    failed(
        project.build(),
        "docs/bare.md:13: a cell begins with",
        "docs/bidi.md:14: character U+202E",
        "docs/download.md:20: link to ../conf.py",
        "docs/empty-lines.md:17: syntax error",
        "docs/nothing.md:1: the page is empty",
        "docs/null.md:1: front matter must be a mapping",
        "docs/title-html.md:20: raw HTML",
        "docs/title-role.md:20: role {code}",
    )


def test_every_file_that_looks_like_a_page_is_one(project: Project) -> None:
    write_pages(project, {"a": ONE})
    project.write("b.MD", page(ONE))
    project.write("c.markdown", page(ONE))
    project.write("d.rst", page(ONE))
    (project.root / "docs" / "e.md").symlink_to("a.md")
    (project.root / "f.md").write_text(page(ONE), "utf-8")
    (project.root / "docs" / "f.md").symlink_to("../f.md")
    failed(
        project.build(),
        "docs/b.MD:1: not a page",
        "docs/c.markdown:1: not a page",
        "docs/d.rst:1: not a Markdown page",
        "docs/e.md:1: a symbolic link",
        "docs/f.md:1: a symbolic link",
    )


def test_a_page_is_checked_again_whatever_its_time_says(project: Project) -> None:
    write_pages(project, {"a": ONE})
    listed = project.root / "docs" / "pages-without-cells.txt"
    entries = listed.read_text("utf-8")
    listed.write_text(entries + "list: a list\n", "utf-8")
    project.write("list.md", "# A list\n\nOf nothing.\n")
    assert project.build().status == 0
    write_pages(project, {"a": cell("print(2)", expect("1"))})
    os.utime(project.root / "docs" / "a.md", (1e9, 1e9))
    failed(project.build(), "docs/a.md:16: expected another output")
    write_pages(project, {"a": ONE})
    listed.write_text(entries, "utf-8")
    failed(project.build(), "docs/list.md:1: the page has no cell")
    listed.write_text(entries + "list: a list\ngone: a list\n", "utf-8")
    failed(project.build(), "docs/pages-without-cells.txt:4: gone is not a page")


def test_no_command_hides_a_page_or_an_output(project: Project) -> None:
    write_pages(project, {"a": ONE, "b": cell("print(1)", expect("2"))})
    result = project.build(
        "-Dexclude_patterns=_ext,_lib,_static,_templates,b.md",
        "-Dnb_execution_mode=force",
        "-Dnb_remove_code_outputs=1",
        "-Dsuppress_warnings=myst.header",
        "-Dnb_custom_formats.x=1",
        "-Aoutputs_checked=100",
    )
    names = (
        "exclude_patterns",
        "html_context.outputs_checked",
        "nb_custom_formats.x",
        "nb_execution_mode",
        "nb_remove_code_outputs",
        "suppress_warnings",
    )
    failed(result, *(f"conf.py:1: {name} may not be set" for name in names))


def test_nothing_outlives_its_cell(project: Project) -> None:
    pages = {
        "alarm": "import signal\nsignal.signal(signal.SIGALRM, print)\nsignal.alarm(60)",
        "child": "import subprocess\nsubprocess.Popen(['sleep', '444'], start_new_session=True);",
        "closed": "import sys\nsys.stdout.close()\nprint(1)",
        "forked": "import os\nif os.fork():\n    os.wait();",
        "late": "import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 1; echo late']);",
        "markdown": "class Text:\n    def _repr_markdown_(self):\n        return 'x'\n\n\nText()",
    }
    write_pages(project, {name: cell(source) for name, source in pages.items()})
    failed(
        project.build(),
        "docs/alarm.md:13: the cell leaves a timer",
        "docs/child.md:13: the cell leaves a process running: sleep",
        "docs/closed.md:13: undeclared output",
        "docs/late.md:13: undeclared output",
        "docs/markdown.md:13: the cell shows text/markdown",
    )
    assert not [
        p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "444"]
    ]


def test_two_pages_may_have_the_same_text(project: Project) -> None:
    write_pages(project, {"a": ONE, "b": ONE})
    assert project.build().status == 0
    texts = [(project.site / f"{name}.html").read_text("utf-8") for name in "ab"]
    assert all("<span></span>1" in text for text in texts)


def test_pictures_and_names_of_pages_are_what_they_seem(project: Project) -> None:
    figure = "```{figure} x.svg\n:target: javascript:alert(1)\n:alt: x\n\nText.\n```\n"
    write_pages(project, {"figure": ONE + figure})
    (project.root / "docs" / "directory.md").mkdir()
    (project.root / "docs" / "nowhere.md").symlink_to("gone")
    failed(
        project.build(),
        "docs/figure.md:20: a picture with :target:",
        "docs/directory.md:1: not a page",
        "docs/nowhere.md:1: not a page",
    )
