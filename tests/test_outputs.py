"""What a cell showed is sorted the same way however it arrived."""

import pytest
from checked import error, media, stream, value, warning
from checked_cells.outputs import Shown, digest, sort_outputs
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_output
from page_note import NOTE

PIECES = st.lists(st.text("ab\n ⟂", min_size=1, max_size=5), max_size=6)


@given(PIECES, PIECES, st.randoms(use_true_random=False))
def test_pieces_of_streams_may_come_split_and_mixed(out: list, err: list, random) -> None:
    names = ["stdout"] * len(out) + ["stderr"] * len(err)
    random.shuffle(names)
    left = {"stdout": list(out), "stderr": list(err)}
    pieces = [stream(left[name].pop(0), name) for name in names]
    whole = [stream("".join(out)), stream("".join(err), "stderr")]
    assert sort_outputs(pieces) == sort_outputs(whole)


@given(st.text("ab\n", max_size=8), st.text("ab\n", max_size=8), st.data())
def test_streams_may_be_split_before_a_value(before: str, after: str, data) -> None:
    cut = data.draw(st.integers(0, len(before)))
    pieces = [stream(before[:cut]), stream(before[cut:]), value("1"), stream(after)]
    assert sort_outputs(pieces) == sort_outputs([stream(before), value("1"), stream(after)])


def test_split_inside_what_is_normalised() -> None:
    text = "<A at 0x7f12> \x1b[31mred\x1b[0m\n"
    for cut in range(len(text)):
        outcome = sort_outputs([stream(text[:cut]), stream(text[cut:])])
        assert outcome.shown == [Shown("output", "", "<A at 0x…> red\n")]
        assert outcome.violations == []


def test_print_and_value_are_one_output() -> None:
    assert sort_outputs([stream("a\n"), value("1")]).shown == [Shown("output", "", "a\n1\n")]


def test_only_the_final_newline_is_free() -> None:
    shown = [sort_outputs([stream(text)]).shown for text in ("a", "a\n", "a\n\n")]
    assert shown[0] == shown[1] != shown[2]


def test_one_empty_line_is_an_output() -> None:
    assert sort_outputs([stream("\n")]).shown == [Shown("output", "", "\n")]
    assert sort_outputs([stream("")]).shown == []


def test_each_warning_is_one() -> None:
    twice = [warning("UserWarning", "a"), warning("UserWarning", "a")]
    assert sort_outputs(twice).shown == [Shown("warning", "UserWarning", "a\n")] * 2


def test_error_keeps_its_whole_message() -> None:
    [shown] = sort_outputs([error("ValueError", "a\n\nb")]).shown
    assert shown == Shown("error", "ValueError", "a\n\nb\n")


def test_rich_output_is_shown_without_its_plain_text() -> None:
    outcome = sort_outputs([media("text/html", "<b>x</b>")])
    assert outcome.shown == [Shown("media", "text/html", "<b>x</b>\n")]
    assert "text/plain" not in outcome.rendered[0].data


def test_every_media_type_is_shown() -> None:
    both = new_output("display_data", data={"text/html": "a", "image/png": "b"})
    assert {item.kind for item in sort_outputs([both]).shown} == {"text/html", "image/png"}


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
def test_what_ends_a_process_cannot_be_declared(name: str) -> None:
    outcome = sort_outputs([error(name, "")])
    assert outcome.shown == []
    assert len(outcome.violations) == 1


@pytest.mark.parametrize("make", [stream, value, lambda text: error("ValueError", text)])
@pytest.mark.parametrize("character", "\r\b\0\f\v\x1b\x85\u2028\u2029\ufeff")
def test_characters_that_no_page_can_hold(character: str, make) -> None:
    assert len(sort_outputs([make(f"a{character}b")]).violations) == 1


def test_violations_are_not_shown() -> None:
    note = new_output("display_data", data={NOTE: {"kind": "violation", "text": "x"}})
    outcome = sort_outputs([note])
    assert (outcome.shown, outcome.rendered, outcome.violations) == ([], [], ["x"])


@given(st.text(max_size=20), st.text(max_size=20))
def test_digests_differ(one: str, other: str) -> None:
    assert (digest(one) == digest(other)) == (one == other)
