"""Reads the marks of a form from its text: ticked and empty boxes with their labels, and lines that are signed.

A box stands before or behind its label. A box for yes and one for no that follow each other answer the question around
them. Boxes behind a name take their labels from the line of heads above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cinnabar.engine.readings.cldr import exact_key, loose_key
from cinnabar.engine.readings.readings import BOOLEANS

#: Lines above a box that its question may stand on, and those that the heads of a column may stand above.
QUESTION_LINES_ABOVE, HEAD_LINES_ABOVE = 3, 40
Interval = tuple[int, int]

# Words that answer a question, without accents.
_ANSWERS = {loose_key(word): truth for word, truth in BOOLEANS.items() if word.isalpha() and word != "x"}
# Boxes of all kinds of type, ticked and empty, one in doubt, a line that is written on, and one that is not.
_MARK = re.compile(
    r"(?P<ticked>[☒☑■✓✔]|(?<!\w)[\[(][ _]?[xX✓✔•*][ _]?[\])]|(?<!\w)_{1,8}[xX✓✔]_{1,8}|_{1,8}[xX✓✔]_{1,8}(?![^\W_])|"
    r"(?<!\w)[xX✓✔]_{1,8})|"
    r"(?P<empty>[☐□❏❐❑❒◻]|(?<!\w)(?:\[[ _]{0,3}\]|\([ _]{1,3}\)))|(?P<doubt>⍰)|"
    r"(?P<written>✍|/[sS]/(?=\s))|(?P<blank>(?<!\S)____(?!\S)|_{8,})"
)
_LOW = re.compile(r"(?<!_)_{1,6}(?!_)")
# What stands between gaps of two blanks and more, and between any.
_CHUNK, _PIECE = re.compile(r"\S+(?:[ \t]\S+)*"), re.compile(r"\S+")
_WORD = re.compile(r"[^\W_]+")
_MAX_MARKS, _MAX_LABEL = 600, 300
_KINDS = {"ticked": True, "empty": False, "doubt": None, "written": True, "blank": False}


@dataclass(frozen=True, slots=True)
class MarkRead:
    """A box or a line with the words that say what it is for, or a pair of boxes for yes and no with its question.

    state: true if it is ticked or written on, None in doubt. spans: of the mark that tells the state, and its label.
    line: it is a line to write on. pair: the label is the question of a yes and a no. group: boxes of one list have the
    same number.
    """

    state: bool | None
    label: str
    spans: tuple[Interval, ...]
    line: bool = False
    pair: bool = False
    group: int = 0


@dataclass(slots=True)
class _Box:
    state: bool | None
    place: Interval
    is_line: bool
    row: int
    label: Interval = (0, 0)
    question: list[Interval] = field(default_factory=list)


def words_of(text: str) -> list[str]:
    """Returns the words of a text without case and accents, in its order."""
    return _WORD.findall(loose_key(exact_key(text)))


def marks_in(text: str) -> list[MarkRead]:
    """Returns the marks of a text, pairs of yes and no as one."""
    if _MARK.search(text) is None:
        return []
    boxes: list[_Box] = []
    rows = [(match.start(), match.end()) for match in re.finditer(r"[^\n]+", text)]
    low = any("_" in match[0] for match in _MARK.finditer(text) if match["ticked"])
    found = [_boxes_of(text, row, number, low) for number, row in enumerate(rows)]
    _add_lost(text, rows, found)
    for number, own in enumerate(found):
        if own and len(boxes) < _MAX_MARKS:
            _label(text, rows, found, number)
            boxes += own
    return list(_answers(text, rows, found, boxes))


def _boxes_of(text: str, row: Interval, number: int, low: bool) -> list[_Box]:
    """Returns the boxes of a line; `low`: the form has short low lines for boxes, and some of them are ticked."""
    marks = list(_MARK.finditer(text, *row))
    own: list[_Box] = []
    for one in marks:
        box = _Box(_KINDS[one.lastgroup or ""], one.span(), one.lastgroup in ("written", "blank"), number)
        # What somebody wrote on a line stands beside the low lines that draw it.
        again = own and one["blank"] and own[-1].state is not False and not text[own[-1].place[1] : one.start()].strip()
        if not again:
            own.append(box)
    if low:
        taken = [box.place for box in own]
        places = [one.span() for one in _LOW.finditer(text, *row)]
        own += [_Box(False, at, False, number) for at in places if not any(at[0] < b and at[1] > a for a, b in taken)]
    return sorted(own, key=lambda box: box.place)


def _add_lost(text: str, rows: Sequence[Interval], found: Sequence[list[_Box]]) -> None:
    """Adds boxes in doubt before a yes and a no without any, behind a question or each on a line of its own."""
    # Boxes without labels have heads, which look like a question with its answers.
    unlabelled = any(
        len(boxes) > 1 and not _MARK.sub("", text[boxes[0].place[0] : end]).strip(" \t_")
        for (_, end), boxes in zip(rows, found, strict=True)
    )
    bare: list[list[tuple[Interval, bool | None]]] = []
    for row, boxes in zip(rows, found, strict=True):
        parts = [] if boxes else [one.span() for one in _CHUNK.finditer(text, *row)]
        bare.append([(part, _ANSWERS.get(" ".join(words_of(text[slice(*part)])))) for part in parts])
    for number, own in enumerate(bare):
        below = bare[number + 1] if number + 1 < len(bare) else []
        lines = [(number, own[0]), (number + 1, below[0])] if len(own) == len(below) == 1 else []
        two = [(number, part) for part in own[-2:]] if len(own) > 2 and not unlabelled else lines
        if {says for _, (_, says) in two} == {True, False}:
            for row_number, ((start, _), _) in two:
                found[row_number].append(_Box(None, (start, start), False, row_number))


def _says(text: str, place: Interval) -> bool | None:
    """Returns whether a label is a yes or a no; None for any other."""
    words = words_of(text[slice(*place)])
    if not 0 < len(words) <= 3:
        return None
    return _ANSWERS.get(words[0])


def _label(text: str, rows: Sequence[Interval], found: Sequence[list[_Box]], number: int) -> None:
    """Gives the boxes of a line their labels and, before the first of them, the question."""
    boxes, (begin, end) = found[number], rows[number]
    ends = [begin, *(box.place[1] for box in boxes)]
    starts = [*(box.place[0] for box in boxes), end]
    parts = [[one.span() for one in _CHUNK.finditer(text, a, b)] for a, b in zip(ends, starts, strict=True)]
    if len(boxes) > 1 and not any(parts[1:]) and not boxes[0].is_line:
        for box, head in zip(boxes, _heads(text, rows, found, number), strict=True):
            box.label, box.question = head, parts[0]
        return
    before = not parts[-1] and bool(parts[0])
    answers = [_says(text, part[-1]) for part in parts if part]
    # A box alone between a yes and a no, or below several for them, has lost the other one, and may be either.
    above = found[number - 1] if number else []
    pairs = len(above) > 1 and any(box.label == (0, 0) or _says(text, box.label) is not None for box in above)
    lost = (len(answers) == 2 and None not in answers) or (before and pairs)
    for at, box in enumerate(boxes):
        ahead, behind = parts[at], parts[at + 1]
        if box.is_line:
            # A label that the parser found below a line stands one blank behind it; what is behind `/s/` is a name.
            near = text[box.place[0]] != "/" and behind and behind[0][0] == box.place[1] + 1
            apart = not ahead or text[box.place[0] - 2 : box.place[0]] == "  "
            box.label = behind[0] if near and apart else ahead[-1] if ahead else (0, 0)
        elif len(boxes) == 1 and lost:
            # Whatever it says, it is of this line's question.
            asked = [part for part in (*ahead, *behind) if _says(text, part) is None]
            box.state, box.label = None, asked[0] if asked else (0, 0)
        elif before and ahead:
            box.label, box.question = ahead[-1], ahead[:-1]
        elif behind and not before:
            box.label, box.question = behind[0], ahead if at == 0 else ahead[1:]
    last = parts[-1][1:]
    if not before and last and _says(text, last[0]) is None and not any(box.question for box in boxes):
        # A question behind its boxes.
        boxes[0].question = last


def _heads(text: str, rows: Sequence[Interval], found: Sequence[list[_Box]], number: int) -> list[Interval]:
    """Returns the heads of columns of boxes: the last parts of the nearest line above that has as many and no box."""
    count = len(found[number])
    for above in range(number - 1, max(-1, number - 1 - HEAD_LINES_ABOVE), -1):
        chunks, words = ([one.span() for one in kind.finditer(text, *rows[above])] for kind in (_CHUNK, _PIECE))
        answers = all(_says(text, word) is not None for word in words[-count:])
        parts = words if len(chunks) < count and answers else chunks
        if not found[above] and len(parts) >= count:
            return parts[-count:]
    return [(0, 0)] * count


def _answers(
    text: str, rows: Sequence[Interval], found: Sequence[list[_Box]], boxes: Sequence[_Box]
) -> Iterator[MarkRead]:
    at, group = 0, 0
    while at < len(boxes):
        box = boxes[at]
        following = boxes[at + 1] if at + 1 < len(boxes) else None
        alone = following is None or following.row > box.row
        if at and (box.row > boxes[at - 1].row + 1 or box.question):
            group += 1
        elif alone and at > 1 and box.row > boxes[at - 1].row == boxes[at - 2].row:
            # One box below a line of several may be another thing's.
            group += 1
        if box.is_line:
            yield _line(text, rows, box)
        elif following is not None and _is_pair(text, box, following):
            yield _pair(text, rows, found, box, following)
            at, group = at + 1, group + 1
        elif box.state and (says := _says(text, box.label)) is not None:
            # The other box of the pair was not found.
            pair = _pair(text, rows, found, box, replace(box, state=False, label=(0, 0)))
            yield replace(pair, state=says)
        elif _says(text, box.label) is None:
            yield MarkRead(box.state, text[slice(*box.label)][:_MAX_LABEL], _spans(box), group=group)
        at += 1


def _is_pair(text: str, box: _Box, following: _Box) -> bool:
    says = {_says(text, box.label), _says(text, following.label)}
    near = following.row == box.row or (following.row == box.row + 1 and not following.question)
    return says == {True, False} and near and not following.is_line


def _pair(text: str, rows: Sequence[Interval], found: Sequence[list[_Box]], one: _Box, other: _Box) -> MarkRead:
    yes, no = (one, other) if _says(text, one.label) else (other, one)
    state = None if yes.state is None or no.state is None or yes.state == no.state else yes.state
    telling = one if one.state else other
    asked = one.question
    # A question of several lines ends on the line of its boxes or above it.
    above: list[Interval] = []
    for row in range(one.row - 1, max(-1, one.row - 1 - QUESTION_LINES_ABOVE), -1):
        parted = "\n\n" in text[rows[row][1] : rows[row + 1][0]]
        if found[row] or _says(text, rows[row]) is not None or (parted and (asked or above)):
            break
        above.insert(0, rows[row])
    if asked and one.label[0] < asked[0][0]:
        above = []
    label = " ".join(text[slice(*place)].strip() for place in [*above, *asked])
    return MarkRead(state, label[-_MAX_LABEL:], _spans(telling), pair=True)


def _line(text: str, rows: Sequence[Interval], box: _Box) -> MarkRead:
    """Returns a line to write on, with the label beside it; of a sign before a name the label is below."""
    label, typed = box.label, ""
    if text[box.place[0]] == "/":
        # The name behind the sign is no label, and the sign itself says what is there.
        typed = "signature signed "
        if label == (0, 0) and box.row + 1 < len(rows):
            label = rows[box.row + 1]
    words = f"{typed}{text[slice(*label)]}"[:_MAX_LABEL]
    return MarkRead(box.state, words, _spans(replace(box, label=label)), line=True)


def _spans(box: _Box) -> tuple[Interval, ...]:
    return tuple(sorted(place for place in {box.place, box.label} if place[1] > place[0]))
