"""The model's questions: the words of a schema's fields, as texts that the encoder reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from cinnabar.engine.models.reader.inputs.letter_ngrams import spelt_names
from cinnabar.engine.models.reader.inputs.named_values import NAMED_VALUES, NamedValue, named_values
from cinnabar.engine.models.reader.inputs.tensors import KINDS, LABEL_PIECES, NOTE_PIECES, Questions
from cinnabar.engine.models.reader.inputs.wordpieces import CLS_ID, SEP_ID, WordPieces
from cinnabar.engine.readings.codes import CURRENCY_CODES, CURRENCY_SIGNS, code_kinds, codes_of, names_of
from cinnabar.schemas.form.form import ArrayNode, Form, Slot, walk
from cinnabar.schemas.pointers import unescape

#: The pieces of a question that are read; longer descriptions are cut.
QUESTION_PIECES = 40
#: The kinds of slots that take whole mentions (mentions.py).
TYPED = (KINDS.index("number"), KINDS.index("date"), KINDS.index("time"))
# Letters of scripts that are written without blanks: Thai, and what follows from kana and Chinese on.
_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u2e80-\ud7ff\U00020000-\U0003ffff]")
_WORD_OR_SIGN = re.compile(rf"[^\W_]+|[{CURRENCY_SIGNS}]")


@dataclass(frozen=True, slots=True)
class Question:
    """A field's name with its parents' names, and its description. `label` is the name alone.

    `named` are values in the description that the field may have.
    """

    label: str
    note: str
    parents: str = ""
    named: tuple[NamedValue, ...] = ()

    @property
    def name(self) -> str:
        """The name with those of its parents."""
        return ", ".join(part for part in (self.parents, self.label) if part)

    @property
    def text(self) -> str:
        """The text that the encoder reads."""
        return ": ".join(part for part in (self.name, self.note) if part)

    @property
    def named_in_text(self) -> Iterator[tuple[int, int]]:
        """The characters [start, end) of `text` at which it names values."""
        before = len(self.text) - len(self.note)
        return ((before + n.start, before + n.end) for n in self.named)


@dataclass(frozen=True, slots=True)
class FormQuestions:
    """The questions of a form: one for each slot, one for each array, and one for each option of a slot."""

    slots: tuple[Question, ...]
    arrays: tuple[Question, ...]
    options: tuple[tuple[Question, ...], ...]


def words_of(name: str) -> str:
    """Returns a field's name as words: `invoiceNumber` and `invoice_number` are "invoice number"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-.]+", " ", name)
    return " ".join(spaced.split()).lower()


@lru_cache(maxsize=256)
def form_questions(form: Form) -> FormQuestions:
    """Returns the questions of a form, from its names, titles and descriptions."""
    names: dict[str, str] = {}
    for node in walk(form.root):
        if not isinstance(node, Slot) and node.path:
            names[node.path] = _label(node.path, node.title)
    slots = tuple(_slot_question(s, names) for s in form.slots)
    arrays = tuple(_array_question(a, names) for a in form.arrays)
    options = tuple(_options(s, q) for s, q in zip(form.slots, slots, strict=True))
    return FormQuestions(slots, arrays, options)


def _label(path: str, title: str) -> str:
    own = next((p for p in reversed(path.split("/")) if p != "*"), "")
    name = words_of(unescape(own))
    if not title or words_of(title) == name:
        return title or name
    # A title that repeats the name adds nothing; otherwise the name may be the clearer of the two.
    return title if set(name.split()) <= set(words_of(title).split()) else f"{title} ({name})"


def _note(slot: Slot) -> str:
    examples = f" e.g. {', '.join(slot.examples[:2])}" if slot.examples else ""
    # The words are those of descriptions, so that the network reads the keyword in the same way.
    default = f"; {slot.default} when none" if slot.default and not slot.options else ""
    return slot.description + examples + default


def _question(path: str, title: str, note: str, names: dict[str, str]) -> Question:
    parts = path.split("/")
    above = ["/".join(parts[:i]) for i in range(2, len(parts))]
    parents = " ".join(names[p] for p in above if p in names and not p.endswith("*"))
    return Question(_label(path, title), note, parents)


def _slot_question(slot: Slot, names: dict[str, str]) -> Question:
    asked = _question(slot.path, slot.title, _note(slot), names)
    return replace(asked, named=named_values(slot, asked.note, kind_of(slot) in TYPED))


def _array_question(array: ArrayNode, names: dict[str, str]) -> Question:
    below = [
        _label(n.path, n.title)
        for n in (walk(array.item) if array.item is not None else ())
        if isinstance(n, Slot) and n.path != array.path + "/*"
    ]
    listed = f" ({', '.join(below[:6])})" if below else ""
    asked = _question(array.path, array.title, array.description, names)
    return Question(asked.label, asked.note + listed, asked.parents)


def _options(slot: Slot, asked: Question) -> tuple[Question, ...]:
    notes = slot.option_notes or ("",) * len(slot.options)
    return tuple(
        Question(words_of(_plain(o)) or "empty", note, asked.label)
        for o, note in zip(slot.options, notes, strict=True)
    )


def _plain(option: str) -> str:
    value = json.loads(option)
    return value if isinstance(value, str) else option


def kind_of(slot: Slot) -> int:
    """Returns the slot's place in KINDS."""
    if set(slot.options) == {"true", "false"}:
        return KINDS.index("boolean")
    if slot.options:
        return KINDS.index("choice")
    if slot.kind in ("number", "integer"):
        return KINDS.index("number")
    if slot.format in ("date", "date-time"):
        return KINDS.index("date")
    if slot.format in ("time", "duration"):
        return KINDS.index("time")
    return KINDS.index("text" if slot.free else "pattern")


def plain_words(text: str) -> str:
    """Returns a text in small letters, with one space between its words and at both ends, for `is_printed`.

    A sign of a currency is a word of its own.
    """
    return f" {' '.join(_WORD_OR_SIGN.findall(text.lower()))} "


def is_printed(option: Question, near: str) -> bool:
    """Returns whether an option's name stands in `near` (from `plain_words`), from the beginning of a word.

    Short names are whole words ("no" is not printed in "November"); longer ones may continue ("claim" is in "claims").
    A currency's code is printed if its sign or one of its names is, and the name of a language if its name in another
    language is. Training and inference use this same function; otherwise the network would learn something wrong.
    """
    if is_currency_printed(option.label.upper(), near):
        return True
    if any(other in near for other in _language_words(option.label)):
        return True
    # `words_of` takes "GmbH" for two words.
    return stands(option.label, near) or (" " in option.label and stands(option.label.replace(" ", ""), near))


def stands(label: str, near: str) -> bool:
    """Returns whether a name stands in `near` (from `plain_words`), as in `is_printed`."""
    name = plain_words(label)[1:-1]
    if _WITHOUT_BLANKS.search(name):
        return name in near
    return bool(name) and (f" {name}" if len(name) > 3 else f" {name} ") in near


def is_currency_printed(code: str, near: str) -> bool:
    """Returns whether a sign or name of the currency of this code stands in `near`; False for other codes."""
    return code in CURRENCY_CODES and any(other in near for other in _currency_words(code))


@lru_cache(maxsize=512)
def _currency_words(code: str) -> tuple[str, ...]:
    """Returns the signs and names of a currency as `plain_words` writes them."""
    return tuple(map(plain_words, names_of(code)))


@lru_cache(maxsize=1024)
def _language_words(name: str) -> tuple[str, ...]:
    """Returns the names that a language of this name has in all languages, as `plain_words` writes them."""
    codes = (code for code in codes_of(name) if any(kind.startswith("language") for kind in code_kinds(code)))
    code = next(codes, None)
    return tuple(map(plain_words, names_of(code))) if code is not None and len(name) > len(code) + 1 else ()


def question_tensors(questions: Sequence[Question], pieces: WordPieces) -> Questions:
    """Returns the questions as tensors, in their order."""
    texts = [(CLS_ID, *pieces.ids(q.text)[: QUESTION_PIECES - 2], SEP_ID) for q in questions]
    longest = max(map(len, texts), default=2)
    ids = torch.zeros(len(texts), longest, dtype=torch.long)
    for i, t in enumerate(texts):
        ids[i, : len(t)] = torch.tensor(t)
    mask = torch.arange(longest) < torch.tensor([len(t) for t in texts])[:, None]
    label = _pad_rows((pieces.ids(q.label) for q in questions), len(texts), LABEL_PIECES)
    note = _pad_rows((pieces.ids(q.note) for q in questions), len(texts), NOTE_PIECES)
    named = _named_places(questions, [len(t) - 1 for t in texts], pieces)
    spelt = torch.from_numpy(spelt_names([pieces.ids(q.label) for q in questions], pieces))
    return Questions(ids, mask, label, note, named, spelt)


def _named_places(questions: Sequence[Question], until: Sequence[int], pieces: WordPieces) -> torch.Tensor:
    """Returns the places at which the questions name values, without those beyond the pieces that are read, `until`."""
    out = torch.zeros(len(questions), NAMED_VALUES, 2, dtype=torch.long)
    for i, question in enumerate(questions):
        for j, (start, end) in enumerate(question.named_in_text):
            first, last = (1 + len(pieces.ids(question.text[:at])) for at in (start, end))
            if first < last <= until[i]:
                out[i, j] = torch.tensor((first, last))
    return out


def _pad_rows(rows: Iterable[tuple[int, ...]], count: int, width: int) -> torch.Tensor:
    out = torch.zeros(count, width, dtype=torch.long)
    for i, row in enumerate(rows):
        out[i, : len(row[:width])] = torch.tensor(row[:width], dtype=torch.long)
    return out
