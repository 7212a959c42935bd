"""Lexical signals: words of a question beside a piece, and above it."""

from __future__ import annotations

import torch
from tests.engine.models.reader.network.test_phrase_vectors import letters
from tests.support.tiny_network import tiny_network, wordpieces

from cinnabar.engine.models.reader.inputs.questions import Question, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import Board, Sheet, Window, phrases, sheet
from cinnabar.engine.models.reader.network.lexical_signals import ABOVE, BESIDE, signals

TABLE = "paper     number    total\n" + "water     55        77\n" * 3
SAME, PHRASE = 1, 3
WORD, ROOM, NEXT = SAME + BESIDE, SAME + 2 * BESIDE, SAME + 3 * BESIDE


def _signals(
    text: str, label: str, window: tuple[int, int] | None = None
) -> tuple[Sheet, torch.Tensor, torch.Tensor]:
    pieces = wordpieces().pieces(text)
    first, last = window or (0, len(pieces))
    page = sheet([(pieces, Window(first, last, first, last))])
    board = Board.blank(1, 1, page.ids.shape[1])
    board.mask[:] = True
    asked = question_tensors([Question(label, "")], wordpieces())
    words = phrases([(pieces, Window(first, last, first, last))], wordpieces())
    beside, above = signals(tiny_network().encoder.words.weight, letters(), page, words, board, asked)
    return page, beside[0, 0], above[0, 0]


def test_the_cells_of_a_column_get_the_signal_of_its_head() -> None:
    pieces = wordpieces().pieces(TABLE)
    page, beside, above = _signals(TABLE, "number")
    assert beside.shape == (BESIDE, page.ids.shape[1]) and above.shape == (ABOVE, page.ids.shape[1])
    at = TABLE.index("number")
    for line in range(1, 4):
        row = TABLE.index("water", 0) + (line - 1) * len("water     55        77\n")
        under, beside_it = pieces.at(row + 10) + 1, pieces.at(row + 20) + 1
        assert above[SAME, under] > 0 and above[SAME, beside_it] == 0
    assert above[SAME, pieces.at(at) + 1] == 0, "a head is not above itself"


def test_only_the_first_row_stands_next_to_the_head() -> None:
    pieces = wordpieces().pieces(TABLE)
    _, _, above = _signals(TABLE, "number")
    rows = [pieces.at(TABLE.index("55")) + 1, pieces.at(TABLE.rindex("55")) + 1]
    assert above[NEXT, rows[0]] > 0 and above[NEXT, rows[1]] == 0


def test_a_head_in_an_earlier_window_counts() -> None:
    pieces = wordpieces().pieces(TABLE)
    last_row = pieces.at(TABLE.rindex("water"))
    _, beside, above = _signals(TABLE, "number", (last_row, len(pieces)))
    place = pieces.at(TABLE.rindex("55")) - last_row + 1
    assert above[SAME, place] > 0 and not beside.any()


def test_a_line_of_text_is_hardly_the_head_of_a_column() -> None:
    text = "of the number and the total and the paper that is on the water and in the number that is\n55\n"
    narrow = "number\n55\n"
    wide = _signals(text, "number")[2][SAME, wordpieces().pieces(text).at(text.index("55")) + 1]
    assert wide < 0.5 * _signals(narrow, "number")[2][SAME, wordpieces().pieces(narrow).at(7) + 1]


def test_heads_that_stand_close_are_told_apart_by_their_words() -> None:
    text = "paper number\n  55     77\n"
    pieces = wordpieces().pieces(text)
    first, second = pieces.at(text.index("55")) + 1, pieces.at(text.index("77")) + 1
    above = _signals(text, "number")[2]
    assert above[SAME, first] > 0 and above[SAME, second] > 0
    assert above[WORD, first] == 0 and above[WORD, second] > 0


def test_the_head_of_a_group_counts_for_all_of_its_columns() -> None:
    text = "     paper               water\n11           22      33      44      55\n"
    pieces = wordpieces().pieces(text)
    above = _signals(text, "paper")[2]
    at = {cell: pieces.at(text.index(cell)) + 1 for cell in ("22", "55")}
    assert above[SAME, at["22"]] == 0 and above[ROOM, at["22"]] > 0 and above[ROOM, at["55"]] == 0


def test_a_phrase_gives_its_signal_at_its_place_and_below_it() -> None:
    text = "paper number   due date\n55             77\n"
    pieces = wordpieces().pieces(text)
    _, beside, above = _signals(text, "date due")
    at = {words: pieces.at(text.index(words)) + 1 for words in ("due", "date", "paper", "55", "77")}
    assert beside[PHRASE, at["due"]] == beside[PHRASE, at["date"]] == 1.0
    assert above[PHRASE, at["77"]] > 0.5 > above[PHRASE, at["55"]] == 0.0
    assert above[PHRASE].max() <= 1.0 and not beside[PHRASE, 0]


def test_a_phrase_that_is_more_like_another_slots_name_counts_for_less() -> None:
    text = "due date 55"
    pieces = wordpieces().pieces(text)
    window = Window(0, len(pieces), 0, len(pieces))
    page, words = sheet([(pieces, window)]), phrases([(pieces, window)], wordpieces())
    asked = question_tensors([Question("due paper", ""), Question("due date", "")], wordpieces())
    board = Board.blank(1, 2, page.ids.shape[1])
    board.question[:] = torch.tensor([0, 1])
    due = pieces.at(0) + 1
    said = {}
    for rivals in (False, True):
        board.mask[:] = torch.tensor([True, rivals])
        said[rivals], _ = signals(tiny_network().encoder.words.weight, letters(), page, words, board, asked)
    assert said[True][0, 0, PHRASE, due] < 0.8 * said[False][0, 0, PHRASE, due]
    assert said[True][0, 1, PHRASE, due] == 1.0
    board.anchor[:] = torch.tensor([-1, due])
    apart, _ = signals(tiny_network().encoder.words.weight, letters(), page, words, board, asked)
    assert apart[0, 0, PHRASE, due] == said[False][0, 0, PHRASE, due], "a field of a row is no rival"


def test_a_later_window_has_its_own_phrases_at_their_places() -> None:
    text = "water paper\nstone\ndue date 55\n"
    pieces = wordpieces().pieces(text)
    first = pieces.at(text.index("due"))
    _, beside, above = _signals(text, "due date", (first, len(pieces)))
    assert beside[PHRASE].tolist()[:4] == [0.0, 1.0, 1.0, 0.0]
    _, beside, above = _signals("due date\n   55\n", "due date", (2, 3))
    assert not beside[PHRASE].any() and above[PHRASE, 1] > 0
