"""Table cells: the place of each word across the page, and the cell above it."""

from __future__ import annotations

import numpy as np
from tests.support.tiny_network import wordpieces

from cinnabar.engine.models.reader.inputs.wordpieces import Pieces

TABLE = "Part      Price     Total\nBolt      0.50       5.00\nHook      1.25       2.50\n"


def _pieces(text: str, boxes: dict[str, tuple[float, float]] | None = None) -> Pieces:
    if boxes is None:
        return wordpieces().pieces(text)
    starts = np.array([text.index(w) for w in boxes], np.int32)
    box = np.array([(a, 0.1, b, 0.2) for a, b in boxes.values()], np.float32)
    return wordpieces().pieces(text, starts, box)


def test_a_cell_reaches_from_wide_gap_to_wide_gap() -> None:
    pieces = _pieces("Unit price    Sum\n")
    edges = {(int(a), int(b)) for a, b in zip(pieces.left, pieces.right, strict=True)}
    assert edges == {(0, 100), (140, 170)}


def test_the_cell_above_is_the_one_in_the_same_column() -> None:
    pieces = _pieces(TABLE)
    assert pieces.over[pieces.at(TABLE.index("Part"))] == -1
    assert pieces.over[pieces.at(TABLE.index("0.50"))] == 0
    assert pieces.over[pieces.at(TABLE.index("1.25"))] == 1


def test_nothing_is_above_where_the_columns_do_not_overlap() -> None:
    text = "Left\n                    right\n"
    pieces = _pieces(text)
    assert pieces.over[pieces.at(text.index("right"))] == -1


def test_boxes_count_where_there_are_any() -> None:
    text = "Head\nbody\n"
    apart = _pieces(text, {"Head": (0.1, 0.2), "body": (0.5, 0.6)})
    under = _pieces(text, {"Head": (0.1, 0.2), "body": (0.15, 0.6)})
    assert apart.over.tolist()[-1] == -1 and under.over.tolist()[-1] == 0
    assert int(apart.left[0]) == 100 and int(apart.right[-1]) == 600


def test_a_word_takes_its_part_of_the_cell() -> None:
    pieces = _pieces("Unit price    Sum\n")
    left, right, _, _ = pieces.extents.T
    words = [(int(a), int(b)) for a, b in zip(left, right, strict=True)]
    assert words == [(0, 40), (50, 100), (140, 170)]


def test_a_cell_has_room_halfway_to_its_neighbours() -> None:
    text = "One       Two       Three\nalone\n"
    pieces = _pieces(text)
    _, _, left, right = pieces.extents.T
    at = {word: pieces.at(text.index(word)) for word in text.split()}
    room = {word: (int(left[i]), int(right[i])) for word, i in at.items()}
    assert room == {"One": (0, 65), "Two": (65, 165), "Three": (165, 250), "alone": (0, 50)}


def test_pieces_of_one_word_share_its_edges() -> None:
    pieces = _pieces("Umsatzsteueraufschlüsselung    19\n")
    left, right, _, _ = pieces.extents.T
    assert len(pieces) > 2 and len(set(left[:-1].tolist())) == 1 and len(set(right[:-1].tolist())) == 1


def test_a_text_without_words_has_no_cells() -> None:
    pieces = _pieces("\n \n")
    assert not len(pieces.left) and not len(pieces.over)
    assert all(not len(edge) for edge in pieces.extents.T)
