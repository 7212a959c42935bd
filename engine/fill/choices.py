"""Choices of codes, choices that are compared, and those that a document rather does not state.

A model without such a choice makes one up where the schema demands it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from cinnabar.engine.readings.codes import code_kinds, codes_of
from cinnabar.engine.request import Filled, Leaf, Origin
from cinnabar.schemas.automata.strings import copied
from cinnabar.schemas.form.form import Form, Slot
from cinnabar.schemas.pointers import MISSING, put_value, value_at

#: The fewest options whose meanings are compared with the document.
COMPARED_OPTIONS = 3
#: The letters of the longest name that is always a code.
CODE_NAME_LETTERS = 3
#: A choice that is less probable than the first is rather wrong than right. Where it may be left out it is, if absence
#: has the second probability: with less the document states a value, and the reader does not know which.
LEAST_CHOICE, LEAST_ABSENCE = 0.5, 0.1
#: A calibrated value that is less probable is left out where it may be: half of the F1 that can be reached is best for
#: F1 (Lipton et al. 2014). Of 44 such values of 26 sets 11 were right; for 20 of the others nothing was stated.
LEAST_VALUE = 0.35
_CODE = re.compile(rf"[A-Z]{{2,{CODE_NAME_LETTERS}}}|[a-z]{{2,{CODE_NAME_LETTERS}}}")
# Codes in small letters are also units and words ("kg", "ml", "no", "ja"). A choice of languages has two of these.
# They are a list because no order of languages leaves words out: by speakers "hi", "id" and "ja" come before "nl".
# Other choices in small letters ("sv", "da") are decided by the network.
_COMMON_LANGUAGES = frozenset(
    ("en", "eng", "de", "deu", "ger", "fr", "fra", "fre", "es", "spa", "it", "ita", "pt", "por", "nl", "nld", "dut")
)


@dataclass(frozen=True, slots=True)
class CodeChoice:
    """A choice of which at least half of the options are codes that the readings know by other names.

    `words` are the other options (JSON) that do not look like a code, such as "other". `kinds` are the kinds that all
    known codes share (from `code_kinds`), at least one. `judged` are the options among which the network decides if no
    code is found; a choice with `only_codes` is pointed at alone, so there they do not count. `sure` says that the
    codes have three letters: a document that means one prints it, or its sign or name.
    """

    words: tuple[str, ...]
    judged: tuple[str, ...]
    kinds: tuple[str, ...]
    only_codes: bool
    sure: bool


def code_choice(slot: Slot) -> CodeChoice | None:
    """Returns the codes of a choice that is pointed at, None for any other slot."""
    return _code_choice(slot.options, slot.nullable) if len(slot.options) > 1 else None


@lru_cache(maxsize=1024)
def _code_choice(options: tuple[str, ...], nullable: bool) -> CodeChoice | None:
    names = [json.loads(option) for option in options]
    if not all(isinstance(name, str) for name in names):
        return None
    known = [name for name in names if code_kinds(name)]
    if 2 * len(known) < len(names) or (any(map(str.islower, known)) and len(_COMMON_LANGUAGES & {*known}) < 2):
        return None
    kinds = frozenset.intersection(*map(code_kinds, known))
    # "CUP" is a currency, but not beside "GLASS", nor is "ALL" beside "CAN". One code stands beside words ("other").
    if not kinds or (len(known) == 1 and not all(map(_is_plain, {*names} - {*known}))):
        return None
    words = tuple(option for option, name in zip(options, names, strict=True) if _is_other(name, kinds))
    # Two letters may be something else ("HR", "IT", "Sales"), and then the document need not print them.
    sure = min(map(len, known)) == CODE_NAME_LETTERS
    judged = (() if nullable else words or options) if sure else options
    return CodeChoice(words, judged, tuple(sorted(kinds)), len(known) == len(names), sure)


def _is_plain(name: str) -> bool:
    """Returns whether the name of an option is made of words that are not in capitals."""
    return "".join(name.split()).isalpha() and not name.isupper()


def _is_other(name: str, kinds: frozenset[str]) -> bool:
    """Returns whether an option of a choice of codes neither looks like a code nor names one of these kinds."""
    codes = [name, *codes_of(name)]
    return _CODE.fullmatch(name) is None and all(kinds.isdisjoint(code_kinds(code)) for code in codes)


def is_compared(slot: Slot) -> bool:
    """Returns whether the meanings of a slot's options are compared with the document if it prints none of them.

    These are choices among three or more outside of rows, and the items of lists of options. Numbers and codes without
    a description have no meaning for the sentence encoder.
    """
    if len(slot.options) < COMPARED_OPTIONS or "/*" in slot.path.removesuffix("/*"):
        return False
    codes = code_choice(slot)
    if codes is not None and (codes.only_codes or codes.sure):
        return False
    return any(slot.option_notes) or any(slot.option_words) or any(map(_is_word, slot.options))


@lru_cache(maxsize=256)
def selectors(form: Form) -> frozenset[int]:
    """Returns the slots that choose a branch: their options are names of branches, which no document has."""
    return frozenset(choice.selector.index for choice in form.choices)


def _is_word(option: str) -> bool:
    """Returns whether the name of an option (JSON) is no code: longer than three letters, some of them small."""
    return len(option) > CODE_NAME_LETTERS + 2 and any(map(str.islower, option)) and option.startswith('"')


_CHOICES: tuple[Origin, ...] = ("chosen",)


def drop_unsupported_choices(form: Form, filled: Filled, origins: Collection[Origin] = _CHOICES) -> Filled:
    """Returns the record without choices that are rather wrong than right: null or left out, demanded ones missing.

    Only the model's word stands behind a chosen option; `origins` names further values of that kind. A choice is
    demanded if the schema refuses the record without it: as a required property, in the branch of a union, or as one
    of the least items. Other items of lists stay. A slot of one option has no choice.
    """
    doubtful: dict[int, list[str]] = {}
    for pointer, leaf in filled.leaves.items():
        if leaf.origin in origins and not leaf.missing and leaf.confidence < LEAST_CHOICE:
            doubtful.setdefault(leaf.slot, []).append(pointer)
    leaves, value = dict(filled.leaves), filled.value
    for slot, pointers in doubtful.items():
        if len(form.slots[slot].options) == 1:
            continue
        nullable = form.slots[slot].nullable
        demanded = [] if nullable else [pointer for pointer in pointers if leaves[pointer].demanded]
        others = [pointer for pointer in pointers if pointer not in demanded]
        if not nullable and _without(form, value, others, False) is MISSING:
            demanded, others = pointers, []
        leaves |= {pointer: replace(leaves[pointer], missing=True) for pointer in demanded}
        closed = len(form.slots[slot].options) > 1
        absent = [p for p in others if closed and p not in filled.rows and leaves[p].absence >= LEAST_ABSENCE]
        if absent and (left := _without(form, value, absent, nullable)) is not MISSING:
            value = left
            leaves |= {pointer: _absent(leaves[pointer], nullable) for pointer in absent}
    return replace(filled, value=value, leaves=leaves)


def drop_unlikely_values(form: Form, filled: Filled) -> Filled:
    """Returns the record without calibrated values below `LEAST_VALUE` that may be null.

    Items of lists stay, and texts that are to be worded, which are right in many wordings.
    """
    unlikely = list[str]()
    for pointer, leaf in filled.leaves.items():
        read = leaf.origin in ("copied", "chosen", "generated") and not leaf.missing and leaf.text != "null"
        if not read or leaf.slot < 0 or leaf.confidence >= LEAST_VALUE or pointer in filled.rows:
            continue
        slot = form.slots[leaf.slot]
        if slot.nullable and not slot.written:
            unlikely.append(pointer)
    return put_nulls(form, filled, unlikely)


def put_nulls(form: Form, filled: Filled, pointers: Sequence[str]) -> Filled:
    """Returns the record with null at these pointers, or without them where null is no value; not if its schema
    refuses that."""
    by_slot: dict[int, list[str]] = {}
    for pointer in pointers:
        by_slot.setdefault(filled.leaves[pointer].slot, []).append(pointer)
    leaves, value = dict(filled.leaves), filled.value
    for slot, own in by_slot.items():
        nullable = form.slots[slot].nullable
        if (left := _without(form, value, own, nullable)) is not MISSING:
            value = left
            leaves |= {pointer: _absent(leaves[pointer], nullable) for pointer in own}
    return replace(filled, value=value, leaves=leaves)


def _absent(leaf: Leaf, nullable: bool) -> Leaf:
    text = "null" if nullable else None
    return replace(leaf, text=text, confidence=leaf.absence, spans=(), origin="absent")


def _without(form: Form, value: Any, pointers: Sequence[str], nullable: bool) -> Any:
    """Returns the record with null or nothing at these pointers, all of one slot; MISSING if its schema refuses that.

    One judgement for all rows of a list keeps long lists linear.
    """
    if not pointers:
        return value
    if "" in pointers:
        return None if nullable else MISSING
    whole = copied(value)
    # Later items of a list go first, so that the others keep their places.
    for pointer in reversed(pointers):
        above, _, last = pointer.rpartition("/")
        around = value_at(whole, above)
        if isinstance(around, list) and not nullable:
            del around[int(last)]
        else:
            put_value(whole, pointer, None if nullable else MISSING)
    return whole if form.judge is None or form.judge.accepts(whole) else MISSING
