"""Codes in a column of choices: which option each of them stands for, told by all of the column together."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from cinnabar.engine.models.reader.inputs.questions import kind_of, plain_words
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.models.reader.memory.form import FormMemory
from cinnabar.engine.models.reader.network.network import BOOLEANS
from cinnabar.engine.models.reader.scoring.choices import printed_options
from cinnabar.schemas.form.form import Slot

#: The longest code, in letters, and the words behind it that a legend may have for its option.
CODE_LETTERS, CODE_WORDS = 5, 4
#: The most codes of a column.
CODES_MOST = 40
#: The share of a column's cells whose codes stand for an option, for short forms to count at all.
CODES_TOLD = 0.95
#: Marks of yes and no in a column, in the languages of the reader's documents.
_YES_NO = ({"yes", "y", "true", "x", "ja", "j", "oui", "o", "si", "sí", "s"}, {"no", "n", "false", "nein", "non"})
_TOKEN = re.compile(r"\w+")


def options_of_cells(slot: Slot, questions: FormMemory, cells: Sequence[str], around: str) -> dict[str, str]:
    """Returns the option (JSON) of a choice for each text of a column's cells that stands for one.

    A cell prints an option; or a legend `around` the table tells it; or the column's codes abbreviate options, each
    another one, and one code that is left stands for the one option that is left.
    """
    counts = Counter(cells)
    if kind_of(slot) == KINDS.index("boolean"):
        words = [(value, _YES_NO[0 if json.loads(value) else 1]) for value in BOOLEANS]
        return {text: value for text in counts for value, own in words if text.strip().lower() in own}
    told: dict[str, int] = {}
    for text in counts:
        printed = printed_options(questions, slot, plain_words(text))
        if sum(printed) == 1:
            told[text] = printed.index(True)
    left = [text for text in counts if text not in told]
    short = [text for text in left if len(_TOKEN.findall(text)) == 1 and len(text) <= CODE_LETTERS]
    if short and len(short) == len(left) <= min(len(slot.options), CODES_MOST):
        told |= _told_by_codes(slot, questions, short, counts, around, told)
    return {text: slot.options[at] for text, at in told.items()}


def _told_by_codes(
    slot: Slot, questions: FormMemory, codes: Sequence[str], counts: Counter[str], around: str, told: Mapping[str, int]
) -> dict[str, int]:
    """Returns the options of codes; none if too many stay without one."""
    found = {code: at for code in codes if (at := _in_legend(slot, questions, code, around)) is not None}
    names = [_names(slot, at) for at in range(len(slot.options))]
    free = {*range(len(slot.options))} - {*found.values(), *told.values()}
    left = [code for code in codes if code not in found]
    while left:
        may = {code: [at for at in free if any(_abbreviates(code, name) for name in names[at])] for code in left}
        # The code for which fewest options are left is settled first.
        code = min(left, key=lambda one: (len(may[one]) != 1, len(may[one]), one))
        if len(may[code]) == 1:
            found[code] = may[code][0]
        elif len(left) == len(free) == 1 and found:
            found[code] = next(iter(free))
        else:
            break
        free.discard(found[code])
        left.remove(code)
    share = sum(counts[code] for code in (*found, *told)) / sum(counts.values())
    return found if share >= CODES_TOLD else {}


def _names(slot: Slot, at: int) -> list[str]:
    name = json.loads(slot.options[at])
    return [str(one).lower() for one in (name, *slot.words_of(at)) if one is not None]


def _abbreviates(code: str, name: str) -> bool:
    """Returns whether a code has the first letter of a name and further ones in their order, or its initials."""
    words, letters = _TOKEN.findall(name), code.lower()
    if not words or not letters.isalpha():
        return False
    rest = iter("".join(words))
    return words[0][0] == letters[0] and all(letter in rest for letter in letters)


def _in_legend(slot: Slot, questions: FormMemory, code: str, around: str) -> int | None:
    """Returns the option that stands right behind a code in the text around a table."""
    for match in re.finditer(rf"(?<!\w){re.escape(code)}(?!\w)[ \t=:.–-]+", around):
        behind = around[match.end() : match.end() + 80].partition("\n")[0]
        ends = [word.end() for word in _TOKEN.finditer(behind)][:CODE_WORDS]
        for end in ends:
            printed = printed_options(questions, slot, plain_words(behind[:end]))
            if sum(printed) == 1:
                return printed.index(True)
    return None
