"""What a cell showed: a notebook's outputs, sorted into the kinds that a page declares."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field

from nbformat import NotebookNode
from nbformat.v4 import new_output
from page_note import NOTE

from checked_cells.normalise import normalise

PLAIN = "text/plain"
DIGEST = "sha256:"
MEDIA = re.compile(r"text/html|image/[\w.+-]+")
TEXTS = ("text/html", "image/svg+xml")
UNDECLARABLE = {"SystemExit", "KeyboardInterrupt", "GeneratorExit"}


@dataclass(frozen=True)
class Shown:
    """One thing that a cell showed.

    Attributes:
        category: output, stderr, warning, error or media.
        kind: the argument that ``{expect}`` declares it with.
        text: what was shown, normalised, with a newline at the end unless it is empty.
    """

    category: str
    kind: str
    text: str


@dataclass
class CellOutcome:
    """All that a cell showed, what it did that no page may declare, and how it is rendered."""

    shown: list[Shown] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    rendered: list[NotebookNode] = field(default_factory=list)


def with_final_newline(text: str) -> str:
    """Return `text` ending in a newline, unless it is empty: only the final newline is free."""
    return text if text.endswith("\n") or not text else text + "\n"


def digest(content: str) -> str:
    """Return the short digest that stands for a picture or a long piece of HTML."""
    return DIGEST + hashlib.sha256(content.encode()).hexdigest()[:16]


def sort_outputs(outputs: list[NotebookNode]) -> CellOutcome:
    """Sort a cell's outputs and make them ready for rendering.

    Streams are joined, since their pieces come as timing has it, and stderr is put behind stdout
    for the same reason.
    """
    outcome = CellOutcome()
    plain: list[str] = []
    errors: list[NotebookNode] = []
    joined, stderr = _join_streams(outputs)
    for output in joined:
        match output.output_type:
            case "stream":
                text = with_final_newline(normalise(output.text))
                plain.append(text)
                outcome.rendered.append(new_output("stream", name="stdout", text=text))
            case "error":
                errors.append(_error(output, outcome))
            case _:
                _add_data(output, plain, outcome)
    if plain:
        outcome.shown.insert(0, Shown("output", "", "".join(plain)))
    if stderr:
        text = with_final_newline(normalise(stderr))
        outcome.shown.append(Shown("stderr", "stderr", text))
        outcome.rendered.append(new_output("stream", name="stderr", text=text))
    outcome.rendered.extend(errors)
    outcome.violations.extend(_unprintable(outcome.shown))
    return outcome


def _join_streams(outputs: list[NotebookNode]) -> tuple[list[NotebookNode], str]:
    """Return the outputs with neighbouring pieces of stdout joined, and all of stderr apart."""
    joined: list[NotebookNode] = []
    stderr = ""
    for output in outputs:
        if output.output_type != "stream":
            joined.append(output)
        elif output.name == "stderr":
            stderr += output.text
        elif joined and joined[-1].output_type == "stream":
            joined[-1].text += output.text
        else:
            joined.append(new_output("stream", name="stdout", text=output.text))
    return [out for out in joined if out.output_type != "stream" or out.text], stderr


def _add_data(output: NotebookNode, plain: list[str], outcome: CellOutcome) -> None:
    """Sort a display; its metadata, by which MyST-NB might hide it, is left behind."""
    data = dict(output.data)
    if NOTE in data:
        _note(data[NOTE], outcome)
        return
    # A page may display anything as anything: what is no text counts as its repr().
    data = {kind: text if isinstance(text, str) else repr(text) for kind, text in data.items()}
    text = with_final_newline(normalise(data.pop(PLAIN, "")))
    if not data:
        plain.append(text)
        outcome.rendered.append(new_output(output.output_type, data={PLAIN: text}))
        return
    # The text beside a picture is not shown to anybody who sees the picture.
    for media_type, content in data.items():
        if not MEDIA.fullmatch(media_type):
            outcome.violations.append(f"the cell shows {media_type}; a page shows HTML or images")
        if media_type in TEXTS:
            data[media_type] = content = normalise(content)
        outcome.shown.append(Shown("media", media_type, with_final_newline(content)))
    outcome.rendered.append(new_output(output.output_type, data=data))


def _note(note: dict[str, str], outcome: CellOutcome) -> None:
    if note["kind"] == "violation":
        outcome.violations.append(normalise(note["text"]))
        return
    text = with_final_newline(normalise(note["message"]))
    outcome.shown.append(Shown("warning", note["category"], text))
    outcome.rendered.append(new_output("stream", name="stderr", text=f"{note['category']}: {text}"))


def _error(output: NotebookNode, outcome: CellOutcome) -> NotebookNode:
    message = normalise(output.evalue)
    if output.ename in UNDECLARABLE:
        outcome.violations.append(f"the cell ends with {output.ename}, which no page may do")
    else:
        outcome.shown.append(Shown("error", output.ename, with_final_newline(message)))
    line = f"{output.ename}: {message}" if message else output.ename
    return new_output("error", ename=output.ename, evalue=message, traceback=[line])


def _unprintable(shown: list[Shown]) -> list[str]:
    """Return what to say about characters that no source file can hold."""
    found = {
        character
        for item in shown
        for character in item.text
        if character == "\ufeff"
        or (unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") and character not in "\n\t")
    }
    return [
        f"the cell shows the character U+{ord(character):04X}, which no page can declare; "
        "print its repr() instead"
        for character in sorted(found)
    ]
