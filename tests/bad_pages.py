"""Pages that must not be built: each line marked with a ¤ must be named by one failure."""

from __future__ import annotations

from dataclasses import dataclass

from conftest import FRONT_MATTER, cell, expect, page

MARK = "¤"


@dataclass(frozen=True)
class Case:
    """A piece of a page, or a whole one.

    Attributes:
        source: with one mark on a line for each failure that the line must have.
        messages: what the failures say, in the order of the marks.
    """

    name: str
    source: str
    messages: tuple[str, ...]

    def __init__(self, name: str, source: str, *messages: str) -> None:
        assert source.count(MARK) == len(messages), name
        for attribute, value in (("name", name), ("source", source), ("messages", messages)):
            object.__setattr__(self, attribute, value)


def bad_cell(source: str, *expectations: str, tags: str = "", failures: int = 1) -> str:
    """Return a cell whose first line is marked."""
    return MARK * failures + cell(source, *expectations, tags=tags)


def bad_expect(text: str, kind: str = "") -> str:
    """Return an expectation whose first line is marked."""
    return MARK + expect(text, kind)


SVG = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="{}"/></svg>'
RAISES = "raises-exception"
GOOD_CELL = cell("print(1)", expect("1"))

# What a cell shows is not what stands under it. The pieces make up one page.
SHOWN = [
    Case(
        "set-up", cell("import os, sys, warnings\nfrom IPython.display import HTML, SVG, display")
    ),
    Case(
        "output that does not come",
        cell("x = 1", bad_expect("1")),
        'expected output "1", got no output',
    ),
    Case(
        "warning that does not come",
        cell("x = 1", bad_expect("old", "FutureWarning")),
        'expected FutureWarning "old", got no warning',
    ),
    Case(
        "exception that does not come",
        bad_cell("x = 1", bad_expect("no", "ValueError"), tags=RAISES),
        "the cell has the tag raises-exception but raises nothing",
        'expected ValueError "no", got no error',
    ),
    Case(
        "raises-exception without a declaration, and nothing raised",
        bad_cell("x = 1", tags=RAISES),
        "the cell has the tag raises-exception but raises nothing",
    ),
    Case("undeclared stdout", bad_cell("print(1)"), "undeclared output"),
    Case("undeclared value", bad_cell("1 + 1"), "undeclared output"),
    Case(
        "undeclared stderr",
        bad_cell("sys.stderr.write('x')\nNone"),
        "undeclared text on stderr",
    ),
    Case("undeclared write to file descriptor 1", bad_cell("_ = os.write(1, b'x')"), "undeclared"),
    Case(
        "undeclared write to file descriptor 2",
        bad_cell("_ = os.write(2, b'x')"),
        "undeclared text on stderr",
    ),
    Case(
        "undeclared output of a child process",
        bad_cell("_ = os.system('echo x')"),
        "undeclared output",
    ),
    Case(
        "undeclared warning",
        bad_cell("warnings.warn('old', FutureWarning)"),
        "undeclared FutureWarning",
    ),
    Case(
        "undeclared exception without the tag",
        bad_cell("1 / 0", failures=2),
        "ZeroDivisionError raised in a cell without the tag raises-exception",
        "undeclared ZeroDivisionError",
    ),
    Case(
        "declared exception without the tag",
        bad_cell("1 / 0", expect("division by zero", "ZeroDivisionError")),
        "ZeroDivisionError raised in a cell without the tag raises-exception",
    ),
    Case(
        "exception with the tag and no declaration",
        bad_cell("1 / 0", tags=RAISES),
        "undeclared ZeroDivisionError",
    ),
    Case("undeclared picture", bad_cell(f"SVG({SVG.format(1)!r})"), "undeclared image/svg+xml"),
    Case("undeclared HTML", bad_cell("HTML('<b>x</b>')"), "undeclared text/html"),
    Case(
        "HTML that does not come",
        cell("x = 1", bad_expect("<b>x</b>", "text/html")),
        "expected text/html, got no rich output",
    ),
    Case(
        "another HTML",
        cell("HTML('<b>x</b>')", bad_expect("<b>y</b>", "text/html")),
        "expected another text/html",
    ),
    Case(
        "another picture under a digest",
        cell(f"SVG({SVG.format(1)!r})", bad_expect("sha256:0123456789abcdef", "image/svg+xml")),
        "expected another image/svg+xml",
    ),
    Case(
        "another class",
        cell("1 / 0", bad_expect("division by zero", "ValueError"), tags=RAISES),
        'expected ValueError "division by zero", got ZeroDivisionError "division by zero"',
    ),
    Case(
        "its base class",
        cell("1 / 0", bad_expect("division by zero", "ArithmeticError"), tags=RAISES),
        'expected ArithmeticError "division by zero", got ZeroDivisionError',
    ),
    Case(
        "a subclass of it",
        cell("raise OSError('x')", bad_expect("x", "FileNotFoundError"), tags=RAISES),
        'expected FileNotFoundError "x", got OSError "x"',
    ),
    Case(
        "a base class of the warning",
        cell("warnings.warn('old', FutureWarning)", bad_expect("old", "Warning")),
        'expected Warning "old", got FutureWarning "old"',
    ),
    Case(
        "another message",
        cell("raise ValueError('a b')", bad_expect("a c", "ValueError"), tags=RAISES),
        "expected another ValueError",
    ),
    Case(
        "a prefix of the message",
        cell("raise ValueError('a b')", bad_expect("a", "ValueError"), tags=RAISES),
        "expected another ValueError",
    ),
    Case(
        "the message and more",
        cell("raise ValueError('a b')", bad_expect("a b c", "ValueError"), tags=RAISES),
        "expected another ValueError",
    ),
    Case(
        "no message",
        cell("raise ValueError('a')", MARK + "```{expect} ValueError\n```\n", tags=RAISES),
        "expected another ValueError",
    ),
    Case(
        "a prefix of the warning",
        cell("warnings.warn('old one')", bad_expect("old", "UserWarning")),
        "expected another UserWarning",
    ),
    Case(
        "an exception declared as output",
        bad_cell("1 / 0", bad_expect("ZeroDivisionError: division by zero"), tags=RAISES),
        "undeclared ZeroDivisionError",
        "expected output",
    ),
    Case("longer output", cell("print(1)", bad_expect("1\n2")), "expected another output"),
    Case("shorter output", cell("print(1)\nprint(2)", bad_expect("1")), "expected another output"),
    Case("a space more", cell("print('1 ')", bad_expect("1")), "expected another output"),
    Case("a line end more", cell("print('1\\n')", bad_expect("1")), "expected another output"),
    Case(
        "stdout declared as stderr",
        bad_cell("print(1)", bad_expect("1", "stderr")),
        "undeclared output",
        "expected text on stderr",
    ),
    Case(
        "one declaration for a warning that comes twice",
        bad_cell("warnings.warn('x')\nwarnings.warn('x')", expect("x", "UserWarning")),
        "undeclared UserWarning",
    ),
    Case(
        "two declarations for a warning that comes once",
        cell("warnings.warn('x')", expect("x", "UserWarning"), bad_expect("x", "UserWarning")),
        'expected UserWarning "x", got no warning',
    ),
    Case(
        "two declarations for an output that comes once",
        cell("print(1)", expect("1"), bad_expect("1")),
        'expected output "1", got no output',
    ),
    Case(
        "output before an exception",
        bad_cell("print(1)\n1 / 0", expect("division by zero", "ZeroDivisionError"), tags=RAISES),
        "undeclared output",
    ),
    Case("the last cell of all is compared too", cell("print(3)", bad_expect("4")), "another"),
]

# What no page may do, whatever it declares. The pieces make up one page.
DONE = [
    Case("set-up of a page", cell("import os, sys, threading, time")),
    *(
        Case(f"{code}{how}", text, f"the cell ends with {name}")
        for code, name in (
            ("exit()", "SystemExit"),
            ("quit()", "SystemExit"),
            ("sys.exit(1)", "SystemExit"),
            ("raise SystemExit", "SystemExit"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        )
        for how, text in (
            (" without a tag", bad_cell(code)),
            (" tagged and declared", bad_cell(code, expect("1", name), tags=RAISES)),
        )
    ),
    Case("input()", bad_cell("input()"), "reads standard input"),
    Case(
        "input() in a try",
        bad_cell("try:\n    input('name? ')\nexcept EOFError:\n    pass"),
        "reads standard input",
    ),
    Case(
        "input() tagged and declared",
        bad_cell("input()", expect("a page has no standard input", "EOFError"), tags=RAISES),
        "reads standard input",
    ),
    Case("sys.stdin.read()", bad_cell("sys.stdin.read()"), "reads standard input"),
    Case("sys.stdin.readline()", bad_cell("sys.stdin.readline()"), "reads standard input"),
    Case(
        "lines of sys.stdin", bad_cell("for line in sys.stdin:\n    pass"), "reads standard input"
    ),
    Case("next(sys.stdin)", bad_cell("next(sys.stdin)"), "reads standard input"),
    Case(
        "os.read(0, 1)",
        bad_cell("os.read(0, 1)", failures=2),
        "OSError raised in a cell without the tag",
        "undeclared OSError",
    ),
    Case(
        "an exception in a thread",
        bad_cell("threading.Thread(target=lambda: 1 / 0).start()"),
        "a thread ended with ZeroDivisionError: division by zero",
    ),
    Case(
        "a thread left running",
        bad_cell("threading.Thread(target=time.sleep, args=(999,), name='sleeper').start()"),
        "the cell leaves a thread running: sleeper",
    ),
    Case(
        "sys.stdout left replaced",
        bad_cell("import io\nsys.stdout = io.StringIO()\nprint('unseen')"),
        "the cell leaves sys.stdout or sys.stderr replaced",
    ),
    Case(
        "sys.stderr left replaced",
        bad_cell("sys.stderr = io.StringIO()"),
        "the cell leaves sys.stdout or sys.stderr replaced",
    ),
    Case(
        "an exception in __del__",
        bad_cell("class A:\n    def __del__(self):\n        1 / 0\n\na = A()\ndel a"),
        "an exception was ignored by Python: ZeroDivisionError: division by zero",
    ),
    *(
        Case(
            f"the character {name}",
            bad_cell(f"print({f'a{character}b'!a})", expect("ab")),
            f"the cell shows the character U+{ord(character):04X}",
        )
        for name, character in (
            ("carriage return", "\r"),
            ("backspace", "\b"),
            ("null", "\0"),
            ("form feed", "\f"),
            ("line separator", "\u2028"),
            ("next line", "\x85"),
            ("byte order mark", "\ufeff"),
        )
    ),
    Case(
        "a carriage return in a message",
        bad_cell("raise ValueError('a\\rb')", expect("ab", "ValueError"), tags=RAISES),
        "the cell shows the character U+000D",
    ),
    Case(
        "endless printing",
        bad_cell("while True:\n    print('x' * 99)"),
        "the cell prints more than 64 KiB",
    ),
    Case(
        "endless printing to stderr",
        bad_cell("while True:\n    print('x' * 99, file=sys.stderr)"),
        "the cell prints more than 64 KiB",
    ),
    Case(
        "endless writing to file descriptor 1",
        bad_cell("while True:\n    os.write(1, b'x' * 9999)"),
        "the cell prints more than 64 KiB",
    ),
    Case(
        "endless output of a child process",
        bad_cell("_ = os.system('yes')"),
        "the cell prints more than 64 KiB",
    ),
    Case("the page goes on after all that", bad_cell("print('still here')"), "undeclared output"),
]

# Python that nothing runs, and other blocks that no page may hold. The pieces make up one page.
LANGUAGES = ("python", "py", "pycon", "ipython", "python3", "Python", "PYTHON", "{python}", "py ")
BLOCKS = [
    Case("a cell that runs", GOOD_CELL),
    *(
        Case(f"a {name!r} fence", f"{MARK}```{name}\nx = 1\n```\n\n", message)
        for name, message in (
            *((name, "fence '") for name in LANGUAGES if name[0] != "{"),
            ("", "fence ''"),
            ("{python}", "directive {python}"),
            ("text title", "fence 'text title'"),
            ("{code-block} python", "directive {code-block}"),
            ("{code} python", "directive {code}"),
            ("{sourcecode} python", "directive {sourcecode}"),
            ("{literalinclude} x.py", "directive {literalinclude}"),
            ("{include} x.md", "directive {include}"),
            ("{eval-rst}", "directive {eval-rst}"),
            ("{parsed-literal}", "directive {parsed-literal}"),
            ("{doctest}", "directive {doctest}"),
            ("{testcode}", "directive {testcode}"),
            ("{raw} html", "directive {raw}"),
            ("{only} html", "directive {only}"),
            ("{eval} x", "directive {eval}"),
            ("{eval:figure} x", "directive {eval:figure}"),
            ("{glue} x", "directive {glue}"),
            ("{glue:figure} x", "directive {glue:figure}"),
            ("{nb-exec-table}", "directive {nb-exec-table}"),
            ("{raw-cell}", "a cell begins with"),
            ("{code-cell}", "a cell begins with"),
            ("{code-cell} python3", "a cell begins with"),
            ("{code-cell} ipython3", "a cell begins with"),
            ("{code-cell}python", "a cell begins with"),
            ("{code-cel} python", "directive {code-cel}"),
            ("{Code-Cell} python", "a cell begins with"),
            ("code-cell python", "a cell begins with"),
            ("{expect}{expect}", "an expectation is"),
            ("{expcet}", "directive {expcet}"),
        )
    ),
    Case("tildes", MARK + "~~~python\nx = 1\n~~~\n\n", "fence 'python'"),
    Case("a longer fence", MARK + "``````python\nx = 1\n``````\n\n", "fence 'python'"),
    Case("an indented fence", MARK + "  ```python\n  x = 1\n  ```\n\n", "fence 'python'"),
    Case("indented code", MARK + "    x = 1\n\n", "indented code block"),
    Case("a fence in a list", f"- item\n\n  {MARK}```python\n  x = 1\n  ```\n\n", "fence 'python'"),
    Case(
        "a fence in a list in a list",
        f"1. item\n   - item\n\n     {MARK}```py\n     x = 1\n     ```\n\n",
        "fence 'py'",
    ),
    Case(
        "indented code in a list",
        f"- item\n\n      {MARK}x = 1\n\n",
        "indented code block",
    ),
    Case("a fence in a quote", f"> quote\n>\n> {MARK}```python\n> x = 1\n> ```\n\n", "'python'"),
    Case(
        "a fence in an admonition",
        f"````{{note}}\nNote.\n\n{MARK}```python\nx = 1\n```\n````\n\n",
        "fence 'python'",
    ),
    Case(
        "a fence in an admonition with a title and options",
        f"````{{admonition}} A title\n:class: tip\n\n{MARK}```python\nx = 1\n```\n````\n\n",
        "fence 'python'",
    ),
    Case(
        "a fence in an admonition in a list",
        f"- item\n\n  ````{{tip}}\n  Tip.\n\n  {MARK}```python\n  x = 1\n  ```\n  ````\n\n",
        "fence 'python'",
    ),
    Case(
        "a fence in an admonition in an admonition",
        f"`````{{note}}\n````{{tip}}\n{MARK}```python\nx = 1\n```\n````\n`````\n\n",
        "fence 'python'",
    ),
    Case(
        "a fence in a list-table",
        f"````{{list-table}}\n* - {MARK}```python\n    x = 1\n    ```\n````\n\n",
        "fence 'python'",
    ),
    Case(
        "Python in a text fence",
        f"```text\nsome words\n{MARK}import torch\n```\n\n",
        "Python or its output in a",
    ),
    Case(
        "a prompt in a text fence",
        f"```text\n{MARK}>>> 1 + 1\n2\n```\n\n",
        "Python or its output in a",
    ),
    Case("doctest", f"{MARK}>>> x + 1\n2\n\n", "doctest"),
    Case("doctest in a list", f"- item\n\n  {MARK}>>> x + 1\n\n", "doctest"),
    Case(
        "a cell in a list",
        f"- item\n\n  {MARK}```{{code-cell}} python\n  x = 1\n  ```\n\n",
        "a cell inside a list or directive is not run",
    ),
    Case(
        "a cell in a quote",
        f"> {MARK}```{{code-cell}} python\n> x = 1\n> ```\n\n",
        "a cell inside a list or directive is not run",
    ),
    Case(
        "a cell in an admonition",
        f"````{{note}}\n{MARK}```{{code-cell}} python\nx = 1\n```\n````\n\n",
        "a cell inside a list or directive is not run",
    ),
    Case(
        "an expectation in a list",
        f"- item\n\n  {MARK}```{{expect}}\n  1\n  ```\n\n",
        "an expectation is",
    ),
    Case("a block of HTML", MARK + "<div>x</div>\n\n", "raw HTML"),
    Case("a script", MARK + "<script>\nalert(1)\n</script>\n\n", "raw HTML"),
    Case("an HTML comment", MARK + "<!-- hidden -->\n\n", "raw HTML"),
    Case("HTML in a line", MARK + "a <b>c</b>\n\n".replace("</b>", ""), "raw HTML"),
    Case("HTML in a list", f"- {MARK}a <br> b\n\n", "raw HTML"),
    Case("the role eval", MARK + "Now {eval}`x`.\n\n", "role {eval}"),
    Case("the role glue", MARK + "Now {glue}`x`.\n\n", "role {glue}"),
    Case("the role glue:text", MARK + "Now {glue:text}`x`.\n\n", "role {glue:text}"),
    Case("the role nb-download", MARK + "Now {nb-download}`x`.\n\n", "role {nb-download}"),
    Case("a block break", MARK + "+++\n\n" + GOOD_CELL, "block break"),
    Case(
        "a block break with tags",
        MARK + '+++ {"tags": ["remove-output"]}\n\n' + GOOD_CELL,
        "block break",
    ),
]

# Cells and expectations in the wrong form. The pieces make up one page.
NO_CELL = "{expect} with no cell right above it"
FORM = [
    Case("first of all, no cell", bad_expect("1") + "\n", NO_CELL),
    Case("a cell in the right form", GOOD_CELL),
    Case("text between", cell("x = 2") + "Text.\n\n" + bad_expect("2"), NO_CELL),
    Case("a comment between", cell("x = 3") + "% comment\n\n" + bad_expect("3"), NO_CELL),
    Case(
        "a heading between",
        cell("x = 4") + "### Heading\n\n" + bad_expect("4"),
        NO_CELL,
    ),
    Case("a label between", cell("x = 5") + "(bad-form-x)=\n" + bad_expect("5"), NO_CELL),
    Case(
        "another fence between",
        cell("x = 6") + "```text\nx\n```\n" + bad_expect("6"),
        NO_CELL,
    ),
    *(
        Case(f"the tag {tag}", bad_cell("x = 7", tags=tag), f"unknown tag '{tag}'")
        for tag in (
            "raises-exceptions",
            "raise-exception",
            "Raises-Exception",
            "raises_exception",
            "skip-execution",
            "remove-output",
            "hide-output",
            "remove-input",
            "hide-input",
            "hide-cell",
            "remove-cell",
            "remove-stderr",
            "scroll-output",
            "output_scroll",
        )
    ),
    *(
        Case(
            f"the cell option {option}",
            f"{MARK}```{{code-cell}} python\n:{option}: {value}\nx = 8\n```\n\n",
            f"unknown cell option '{option}'",
        )
        for option, value in (
            ("tag", "[raises-exception]"),
            ("Tags", "[raises-exception]"),
            ("mystnb", "{remove_code_outputs: true}"),
            ("execution", "{x: y}"),
            ("name", "x"),
            ("class", "x"),
        )
    ),
    Case(
        "a cell option in a block of YAML",
        MARK + cell("---\nmystnb: {output_stderr: remove}\n---\nx = 8"),
        "unknown cell option 'mystnb'",
    ),
    Case("an empty cell", MARK + "```{code-cell} python\n```\n\n", "empty cell"),
    Case("a cell of blank lines", MARK + "```{code-cell} python\n\n\n```\n\n", "empty cell"),
    *(
        Case(
            f"the argument {argument}",
            cell("x = 9") + f"{MARK}```{{expect}} {argument}\n9\n```\n\n",
            "an expectation is",
        )
        for argument in ("ValueError TypeError", "ValueError: x", " ValueError")
    ),
    *(
        Case(
            f"the argument {argument}",
            cell("x = 9") + f"{MARK}{MARK}```{{expect}} {argument}\n9\n```\n\n",
            f'expected {argument} "9", got no error',
            "name an exception or warning class, stderr, or a media type",
        )
        for argument in ("*", "Value-Error", ":stdout", "ValueError:", "(ValueError)")
    ),
    *(
        Case(
            f"the misspelled argument {argument}",
            cell("print(9)", MARK + f"```{{expect}} {argument}\n9\n```\n").replace(
                "```{code-cell}", MARK + "```{code-cell}"
            ),
            "undeclared output",
            f"expected {argument}",
        )
        for argument in ("stdout", "output", "strerr")
    ),
    Case(
        "a misspelled class",
        cell("1 / 0", bad_expect("division by zero", "ZeroDivisonError"), tags=RAISES),
        "expected ZeroDivisonError",
    ),
    Case(
        "get_ipython",
        bad_cell(MARK + "get_ipython()", failures=2),
        *("NameError", "undeclared NameError", "get_ipython is not"),
    ),
    Case("IPython", cell(MARK + "from IPython import get_ipython as g"), "get_ipython is not"),
    Case("IPython's modules", cell(MARK + "import IPython.core"), "IPython.core is not"),
    Case(
        "the checker's media type",
        cell(MARK + "x = 'application/vnd.autograd-ground-rules.note+json'"),
        "note",
    ),
    Case("pwd", bad_cell("pwd", failures=2), "NameError raised", "undeclared NameError"),
    Case("ls -l", bad_cell("ls -l", failures=2), "NameError raised", "undeclared NameError"),
]

# Code that is not Python, which is found without running the page. The pieces make up one page.
SYNTAX = [
    Case(f"the code {code!r}", cell("x = 1\n" + MARK + code), message)
    for code, message in (
        ("%time x", "IPython magic or shell escape '%time x'"),
        ("%pwd", "IPython magic or shell escape"),
        ("!ls", "IPython magic or shell escape '!ls'"),
        ("x?", "IPython magic or shell escape 'x?'"),
        ("?x", "IPython magic or shell escape '?x'"),
        ("y = !ls", "syntax error"),
        ("y = %pwd", "syntax error"),
        ("print 1", "syntax error"),
        ("x = (", "syntax error"),
        ("return x", "syntax error: 'return' outside function"),
        ("await x", "syntax error: 'await' outside function"),
        ("async with x: pass", "syntax error"),
        ("break", "syntax error: 'break' outside loop"),
        ("yield x", "syntax error: 'yield' outside function"),
    )
]
SYNTAX += [
    Case(
        "blank lines around",
        cell("\n\nx = 1\n" + MARK + "x = )\n\n"),
        "syntax error: unmatched ')'",
    ),
    Case(
        "options above",
        MARK.join(
            ("```{code-cell} python\n:tags: [stands-alone]\n\n\nx = 1\n", "x = )\n\n```\n\n")
        ),
        "syntax error: unmatched ')'",
    ),
    Case("a cell magic", cell(MARK + "%%timeit\nx"), "IPython magic or shell escape '%%timeit'"),
    Case(
        "a declared syntax error",
        cell(MARK + "x = (", expect("'(' was never closed", "SyntaxError"), tags=RAISES),
        "syntax error: '(' was never closed",
    ),
]

# Cells that MyST-NB cannot read. The pieces make up one page.
UNREADABLE = [
    Case("a cell that can be read", GOOD_CELL),
    *(
        Case(
            f"the options {options!r}",
            f"{MARK}```{{code-cell}} python\n{options}\nx = 1\n```\n{expect('1')}\n",
            "the cell's options cannot be read",
        )
        for options in (
            ":load: x.py",
            ":tags: [a",
            ":tags: [raises-exception, raises-exception]",
            ":execution: {allow_errors: true}",
            "---\n- x\n---",
        )
    ),
]

# One page each: what ends a page's process or its turn.
ENDS = [
    Case(
        f"ends-{name}",
        page(GOOD_CELL + bad_cell(code) + cell("print(2)", expect("3"))),
        message,
    )
    for name, code, message in (
        ("exit", "import os\nos._exit(0)", "the page's process died in this cell"),
        (
            "kill",
            "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
            "the page's process died in this cell",
        ),
        ("hang", "import time\ntime.sleep(999)", "the cell takes more than 12 s"),
        (
            "hang-in-a-loop",
            "while True:\n    pass",
            "the cell takes more than 12 s",
        ),
    )
]


def matter(*lines: str) -> str:
    """Return a page whose front matter has more lines, which may be marked."""
    return page(GOOD_CELL).replace(
        "\n---\n", "\n" + "".join(f"{line}\n" for line in lines) + "---\n"
    )


KERNEL_LINES = FRONT_MATTER.split("\n")[2:6]

# One page each: front matter, and the form of a page.
PAGES = [
    *(
        Case(f"matter-{name}", matter(*lines), f"unknown front matter key '{key}'")
        for name, key, lines in (
            ("allow-errors", "mystnb", [MARK + "mystnb:", "  execution_allow_errors: true"]),
            ("mode-off", "mystnb", [MARK + "mystnb:", "  execution_mode: off"]),
            ("execution", "execution", [MARK + "execution:", "  allow_errors: true"]),
            ("orphan", "orphan", [MARK + "orphan: true"]),
            ("misspelled", "kernelspecs", [MARK + "kernelspecs: {}"]),
        )
    ),
    Case("matter-not-yaml", matter(MARK + "a: b: c"), "front matter: mapping values"),
    Case(
        "matter-list",
        MARK + "---\n- x\n---\n# A page\n\nAnswer.\n\n" + GOOD_CELL,
        "front matter must be a mapping",
    ),
    Case(
        "matter-empty",
        MARK + "---\n---\n# A page\n\nAnswer.\n\n" + GOOD_CELL,
        "front matter must be a mapping",
    ),
    Case(
        "matter-kernel-number",
        f"---\nfile_format: mystnb\n{MARK}kernelspec: 5\n---\n# A page\n\nAnswer.\n\n" + GOOD_CELL,
        "the kernelspec must be",
    ),
    Case("form-empty", MARK, "the page is empty"),
    Case("form-blank", MARK + "\n\n\n", "the page is empty"),
    Case("form-break", page(MARK + "+++ {x\n\n" + GOOD_CELL), "block break"),
    Case(
        "matter-missing",
        MARK * 2 + "# A page\n\nThe short answer.\n\n" + GOOD_CELL,
        "a page with cells needs `file_format: mystnb`",
        "the kernelspec must be",
    ),
    Case(
        "matter-no-format",
        MARK + page(GOOD_CELL).replace("file_format: mystnb\n", ""),
        "a page with cells needs `file_format: mystnb`",
    ),
    Case(
        "matter-no-kernel",
        MARK + page(GOOD_CELL).replace("\n".join(KERNEL_LINES) + "\n", ""),
        "the kernelspec must be",
    ),
    *(
        Case(
            f"matter-kernel-{number}",
            page(GOOD_CELL).replace("kernelspec:", MARK + "kernelspec:").replace(old, new),
            "the kernelspec must be",
        )
        for number, (old, new) in enumerate(
            (("name: python3", "name: julia"), ("language: python\n", "language: julia\n"))
        )
    ),
    Case(
        "form-no-title",
        MARK + page(GOOD_CELL).replace("# A page\n\n", ""),
        "must begin with its title",
    ),
    Case(
        "form-no-answer",
        page(GOOD_CELL).replace("# A page\n\nThe short answer.", MARK + "# A page"),
        "the title must be followed by the short answer",
    ),
    Case(
        "form-long-answer",
        page(GOOD_CELL).replace("The short answer.", MARK + "word " * 61),
        "the short answer has 61 words; at most 60",
    ),
    Case(
        "form-link-in-answer",
        page(GOOD_CELL).replace("The short answer.", MARK + "The [link](index.md)."),
        "the short answer must be plain text",
    ),
    Case(
        "form-no-label",
        page(GOOD_CELL + MARK + "## A section\n\nText.\n"),
        "a section needs a lasting label",
    ),
    Case(
        "form-label-of-another-page",
        page(GOOD_CELL + "(other-page)=\n" + MARK + "## A section\n\nText.\n"),
        "a section needs a lasting label",
    ),
    Case("form-no-cell", MARK + page("Text.\n"), "the page has no cell"),
    Case(
        "form-listed-with-cell",
        page(bad_cell("x = 1")),
        "the page has cells but is listed in docs/pages-without-cells.txt",
    ),
    Case("form-unclosed-fence", page(GOOD_CELL + MARK + "```text\nnever closed\n"), "never closed"),
    Case(
        "form-unclosed-cell",
        page(GOOD_CELL + MARK + "```{code-cell} python\nx = 1\n"),
        "never closed",
    ),
    Case(
        "form-unclosed-expect",
        page(cell("print(1)") + MARK + "```{expect}\n1\n"),
        "never closed",
    ),
]

TOGETHER = {
    "bad-shown": SHOWN,
    "bad-done": DONE,
    "bad-blocks": BLOCKS,
    "bad-form": FORM,
    "bad-syntax": SYNTAX,
    "bad-options": UNREADABLE,
}
"""Cases that make up one page, by the page's name."""

# Bytes, and the line that must be named.
GOOD = page(GOOD_CELL).encode()
NEXT = GOOD.count(b"\n") + 1
BYTES = {
    "bytes-latin-1": (GOOD + "Straße\n".encode("latin-1"), NEXT, "not UTF-8: byte 0xdf"),
    "bytes-utf-16": (GOOD.decode().encode("utf-16"), 1, "not UTF-8: byte 0xff"),
    "bytes-crlf": (GOOD.replace(b"\n", b"\r\n"), 1, "carriage return"),
    "bytes-one-crlf": (GOOD + b"Text.\r\n", NEXT, "carriage return"),
    "bytes-cr": (GOOD + b"Text.\rText.\n", NEXT, "carriage return"),
    "bytes-form-feed": (GOOD + b"Te\fxt.\n", NEXT, "character U+000C"),
    "bytes-null": (GOOD + b"Te\0xt.\n", NEXT, "character U+0000"),
    "bytes-line-separator": (GOOD + "Te\u2028xt.\n".encode(), NEXT, "character U+2028"),
    "bytes-byte-order-mark": (b"\xef\xbb\xbf" + GOOD, 1, "character U+FEFF"),
}
