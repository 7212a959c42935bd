"""Views: the slots that look at each window, and the board that shows them the committed values."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import form_of, pieces_of, wordpieces

from cinnabar.engine.model import Canvas, Row, SlotInstance
from cinnabar.engine.models.reader.inputs.tensors import KINDS, STATES, Board, cut
from cinnabar.engine.models.reader.inputs.views import (
    SLOTS_IN_VIEW,
    RowExtent,
    SlotView,
    home_window,
    row_places,
    views_of,
    write_board,
)
from cinnabar.schemas.form.form import Form

PIECES = pieces_of([1] * 100)
WINDOWS = cut(PIECES, 40, 10)


def test_a_row_reaches_to_the_next_one_of_its_array_and_not_beyond_its_parent() -> None:
    found = [(0, -1, 10), (0, -1, 50), (1, 0, 20), (1, 0, 30), (1, 1, 70)]
    rows = [Row(*place, 0.9) for place in found]
    assert row_places(rows, PIECES) == [
        RowExtent(10, 50), RowExtent(50, 100), RowExtent(20, 30), RowExtent(30, 50), RowExtent(70, 100),
    ]  # fmt: skip


def test_rows_at_the_same_place_still_have_a_piece_of_their_own() -> None:
    rows = [Row(0, -1, 99, 0.9), Row(0, -1, 99, 0.9)]
    assert row_places(rows, PIECES) == [RowExtent(99, 100), RowExtent(99, 100)]


def test_a_row_is_read_in_the_window_whose_core_holds_its_beginning() -> None:
    for anchor in range(100):
        home = WINDOWS[home_window(WINDOWS, anchor)]
        assert home.core_first <= anchor < home.core_last
    assert home_window(WINDOWS, 100) == len(WINDOWS) - 1


@given(
    st.integers(0, 100),
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 12)), max_size=12),
    st.sets(st.integers(0, len(WINDOWS) - 1), min_size=1).map(sorted),
    st.dictionaries(st.integers(0, 99), st.integers(0, len(WINDOWS) - 1), max_size=20),
)
def test_scalars_see_every_promising_window_and_rows_and_choices_their_own(
    scalars: int, rows: list[tuple[int, int]], promising: list[int], told: dict[int, int]
) -> None:
    told = {s: window for s, window in told.items() if s < scalars}
    places: list[RowExtent | None] = [None] * scalars
    for anchor, slots in sorted(rows):
        places += [RowExtent(anchor, anchor + 1)] * slots
    views = views_of(range(len(places)), places, WINDOWS, promising, told)
    seen: dict[int, list[int]] = {s: [] for s in range(len(places))}
    for view in views:
        assert 0 < len(view.slots) <= SLOTS_IN_VIEW or any(
            sum(places[s] == places[t] for t in view.slots) > 8 for s in view.slots
        )
        for s in view.slots:
            seen[s].append(view.window)
    for s, place in enumerate(places):
        at_home = [told[s]] if s in told else promising
        expected = at_home if place is None else [home_window(WINDOWS, place.anchor)]
        assert sorted(seen[s]) == expected


def canvas_of(form: Form) -> Canvas:
    count = len(form.slots)
    return Canvas(
        [SlotInstance(0, slot, -1) for slot in form.slots], [None] * count, [False] * count, [()] * count,
    )  # fmt: skip


def test_the_board_shows_committed_values_and_their_places() -> None:
    form = form_of(
        copied={"type": "string"}, written={"type": "string"}, chosen={"enum": ["Red", "Blue"]},
        none={"type": ["string", "null"]}, left={"type": "string"}, open={"type": "number"},
    )  # fmt: skip
    canvas = canvas_of(form)
    canvas.values = [b'"total"', b'"sum"', b'"Red"', b"null", b"", None]
    canvas.left_out = [False, False, False, True, True, False]
    canvas.spans = [((62, 65),), (), (), (), (), ()]
    window = cut(PIECES, 40, 10)[2]
    shown = Board.blank(1, 6, 64)
    write_board(
        shown.arrays(), 0, [SlotView(2, tuple(range(6)))], canvas, [5, 4, 3, 2, 1, 0], {5: RowExtent(70, 75)}, WINDOWS,
        PIECES, wordpieces(), 64,
    )  # fmt: skip
    assert [STATES[s] for s in shown.state[0]] == ["copied", "written", "chosen", "absent", "absent", "open"]
    assert [KINDS[k] for k in shown.kind[0]] == ["text", "text", "choice", "text", "text", "number"]
    assert shown.question[0].tolist() == [5, 4, 3, 2, 1, 0]
    assert shown.span[0, 0].tolist() == [window.place(62), window.place(65)]
    assert not shown.span[0, 1:].any()
    assert [tuple(w[w > 0].tolist()) for w in shown.words[0]] == [
        wordpieces().ids("total"), wordpieces().ids("sum"), wordpieces().ids("red"), (), (), (),
    ]  # fmt: skip
    assert shown.anchor[0].tolist() == [-1] * 5 + [window.place(70)]
    assert shown.until[0].tolist() == [64] * 5 + [window.place(75)]
    assert shown.mask.all()


def test_a_value_in_another_window_has_no_place_in_this_one() -> None:
    form = form_of(name={"type": "string"})
    canvas = replace(canvas_of(form), values=[b'"total"'], spans=[((95, 98),)])
    shown = Board.blank(1, 1, 64)
    write_board(shown.arrays(), 0, [SlotView(0, (0,))], canvas, [0], {}, WINDOWS, PIECES, wordpieces(), 64)
    assert STATES[shown.state[0, 0]] == "copied"
    assert shown.words[0, 0].any() and not shown.span.any()
