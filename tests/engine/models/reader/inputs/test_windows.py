"""Windows: they cover a passage, and each piece is decided in one of them."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import pieces_of

from cinnabar.engine.models.reader.inputs.tensors import cut, sheet
from cinnabar.engine.models.reader.inputs.wordpieces import CLS_ID, PAD_ID, SEP_ID

gaps = st.lists(st.sampled_from([0, 1, 1, 1, 3, 4]), max_size=400)
sizes = st.integers(8, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n // 4)))


@given(gaps, sizes)
def test_cores_partition_the_pieces_in_order_and_windows_cover_them(
    gap: list[int], size: tuple[int, int]
) -> None:
    longest, overlap = size
    windows = cut(pieces_of(gap), longest, overlap)
    assert [p for w in windows for p in range(w.core_first, w.core_last)] == list(range(len(gap)))
    for w in windows:
        assert w.first <= w.core_first <= w.core_last <= w.last
        assert w.last - w.first <= longest
    assert all(b.first <= a.last for a, b in pairwise(windows))


@given(gaps, sizes)
def test_the_work_grows_with_the_length_of_the_text(gap: list[int], size: tuple[int, int]) -> None:
    longest, overlap = size
    windows = cut(pieces_of(gap), longest, overlap)
    assert len(windows) <= 1 + len(gap) / (longest - 2 * overlap)


@given(gaps)
def test_neighbours_share_pieces_so_that_a_value_at_a_cut_is_whole_in_one(gap: list[int]) -> None:
    windows = cut(pieces_of(gap), 40, 10)
    assert all(a.last - b.first >= 10 for a, b in pairwise(windows))


def test_a_cut_falls_on_the_beginning_of_a_line_where_one_is_near() -> None:
    gap = [1] * 100
    gap[25] = 3
    assert [w.first for w in cut(pieces_of(gap), 40, 10)][:2] == [0, 25]
    assert [w.first for w in cut(pieces_of([1] * 100), 40, 10)][:2] == [0, 30]


def test_a_text_without_pieces_has_one_empty_window() -> None:
    assert [(w.first, w.last) for w in cut(pieces_of([]))] == [(0, 0)]


def test_a_sheet_adds_cls_and_sep_to_its_windows_and_pads_them() -> None:
    pieces = pieces_of([4] + [1] * 69)
    windows = cut(pieces, 40, 8)
    page = sheet([(pieces, w) for w in windows])
    assert page.ids.shape == page.mask.shape == page.line.shape == (len(windows), 64)
    assert page.around.shape == (len(windows), 64, 4)
    for i, w in enumerate(windows):
        size = w.last - w.first
        assert page.mask[i].tolist() == [True] * (size + 2) + [False] * (64 - size - 2)
        assert (page.ids[i, 0], page.ids[i, size + 1]) == (CLS_ID, SEP_ID)
        assert page.ids[i, 1 : size + 1].tolist() == pieces.ids[w.first : w.last].tolist()
        assert (page.ids[i, size + 2 :] == PAD_ID).all()
        assert page.line[i, 1 : size + 1].tolist() == pieces.line[w.first : w.last].tolist()
        assert page.line[i, w.place(w.last - 1)] == pieces.line[w.last - 1]
        assert page.line[i, 0] == page.line[i, size + 1] == -1
