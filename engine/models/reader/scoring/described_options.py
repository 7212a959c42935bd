"""Options that a document does not print: their meaning is compared with that of its passages.

The network points at printed options. A class of the whole document ("complaint", "quote") is rarely printed; the
frozen sentence encoder knows how alike a passage and an option, as its name and description explain it, are in meaning.
Both together give the probabilities of the options. Rows of a list are not compared: a row has too few words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cinnabar.engine.fill.choices import is_compared, selectors
from cinnabar.engine.model import Candidate, Row
from cinnabar.engine.models.reader.inputs.questions import form_questions
from cinnabar.engine.models.reader.inputs.wordpieces import UNKNOWN_ID
from cinnabar.engine.models.reader.memory.passage import Compared, ListedOption, Memory
from cinnabar.engine.models.reader.priors.config import DescribedOptionsConfig
from cinnabar.engine.models.reader.scoring.spans import Answers
from cinnabar.engine.models.sentences.encoder import SentenceEncoder, Vectors
from cinnabar.schemas.form.form import ArrayNode, Form, Slot, enclosing_arrays

#: Words of a passage, and words from the beginning of one to that of the next.
PASSAGE_WORDS, PASSAGE_STEP = 80, 60
#: The most stretches of one kind that are read; of a longer text they are taken evenly, so that its cost is bounded.
MOST_STRETCHES = 40
#: A stretch with fewer words than this belongs to the sentence before it.
SHORTEST_SENTENCE = 4
#: The share of words of one piece in texts that the encoder does not know, and in those that it does; the words of a
#: text that are looked at, and how many must be in small letters.
FOREIGN_WORDS, ENGLISH_WORDS, FAMILIAR_WORDS, FEW_WORDS = 0.6, 0.8, 400, 8
#: The logits of an item's absence once its option is listed, and what is added to that of its option.
LISTED_ABSENCE, LISTED_OPTION = -20.0, 1e-3
#: The greatest probability of a listed option: rows that were known before have probability one.
SUREST_OPTION = 0.9999
#: A stretch of a text, [start, end) in characters.
Stretch = tuple[int, int]
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"[^.!?\n]*[^.!?\n\s][^.!?\n]*[.!?]*")
#: Choices whose vectors of options are kept.
_CHOICES_KEPT = 256


@dataclass(slots=True)
class OptionComparer:
    """Compares the options of a form's choices with the passages of a document.

    `load` returns the sentence encoder; it is loaded for the first choice that is compared. Vectors of options are kept
    by form, and those of passages in the document's memory.
    """

    load: Callable[[], SentenceEncoder]
    config: DescribedOptionsConfig
    _options: dict[tuple[str, int], Vectors] = field(default_factory=dict)

    def similarities(self, form: Form, slot: Slot, memory: Memory) -> Compared:
        """Returns how alike each option and the document are in meaning; a text without words is like none."""
        key = (form.fingerprint, slot.index)
        if key not in memory.compared:
            options = self._vectors(form, slot)
            stretches, vectors = self._read(memory, "passages")
            cosines = _likest(vectors @ options.T, slot)
            best = cosines.argmax(0)
            mean = (cosines.max(0) + cosines.mean(0)) / 2
            # The likest option keeps its likeness, which tells of presence; the others come nearer to it.
            nearer = mean.max() + (mean - mean.max()) * familiarity(memory)
            passages_of = [stretches[at] for at in best.tolist()]
            memory.compared[key] = Compared(nearer.tolist(), passages_of, mean.tolist())
        return memory.compared[key]

    def list_options(self, form: Form, array: ArrayNode, memory: Memory) -> list[ListedOption]:
        """Returns the options that a list of options has, by the place of the passage that decided each."""
        assert isinstance(array.item, Slot)
        compared, config = self.similarities(form, array.item, memory), self.config
        stretches, vectors = self._read(memory, "sentences")
        cosines = _likest(vectors @ self._vectors(form, array.item).T, array.item)
        # How far an option is above all others in the sentence that is most its own.
        ranked = np.sort(cosines, 1)
        rivals = np.where(cosines == ranked[:, -1:], ranked[:, -2:-1], ranked[:, -1:])
        own = (cosines - rivals).argmax(0)
        ahead = (cosines - rivals).max(0)
        first = max(compared.measured)
        options = []
        for at, alike in enumerate(compared.measured):
            odds = config.list_alike * alike + config.list_behind * (alike - first)
            odds += config.list_ahead * float(ahead[at]) - config.list_bias
            least = config.list_first if alike == first else config.list_least
            chance = 1.0 / (1.0 + math.exp(-odds))
            if chance >= least:
                chance = min(round(chance, 4), SUREST_OPTION)
                options.append(ListedOption(array.item.options[at], chance, stretches[int(own[at])]))
        return sorted(options, key=lambda one: (one.stretch, -one.chance))

    def _vectors(self, form: Form, slot: Slot) -> Vectors:
        """Returns the vectors of a slot's options, then those of their other words, in order."""
        key = (form.fingerprint, slot.index)
        vectors = self._options.get(key)
        if vectors is None:
            # Two texts of each option: its name with its description, and the same behind the field's name.
            options = form_questions(form).options[slot.index]
            plain = [": ".join(part for part in (option.label, option.note) if part) for option in options]
            texts = [(text, f"{option.parents}: {text}") for text, option in zip(plain, options, strict=True)]
            both = self.load().embed([text for pair in texts for text in pair]).reshape(len(texts), 2, -1).mean(1)
            if len(self._options) >= _CHOICES_KEPT:
                self._options.pop(next(iter(self._options)))
            vectors = both / np.linalg.norm(both, axis=1, keepdims=True)
            if words := [word for own in slot.option_words for word in own]:
                vectors = np.concatenate([vectors, self.load().embed(words)])
            self._options[key] = vectors
        return vectors

    def prepare(self, form: Form) -> None:
        """Reads the options of all choices of a form that may be compared."""
        chosen = selectors(form)
        for slot in form.slots:
            if is_compared(slot) and slot.index not in chosen:
                self._vectors(form, slot)

    def read(self, memories: Sequence[Memory], kind: str = "passages") -> None:
        """Reads the passages or the sentences of documents, those of all of them together; each is read once."""
        unread = [memory for memory in memories if kind not in memory.stretches]
        # Several choices of a document are compared with the same passages.
        unread = [memory for at, memory in enumerate(unread) if all(memory is not other for other in unread[:at])]
        if not unread:
            return
        stretches = [(passages if kind == "passages" else sentences)(memory.passage.text) for memory in unread]
        texts = [
            memory.passage.text[start:end] for memory, own in zip(unread, stretches, strict=True) for start, end in own
        ]
        vectors = iter(np.split(self.load().embed(texts), np.cumsum([len(own) for own in stretches])[:-1]))
        for memory, own in zip(unread, stretches, strict=True):
            memory.stretches[kind] = own, next(vectors)

    def _read(self, memory: Memory, kind: str) -> tuple[list[Stretch], Vectors]:
        """Returns the passages or the sentences of a document, and their vectors."""
        self.read([memory], kind)
        return memory.stretches[kind]


def familiarity(memory: Memory) -> float:
    """Returns how well the encoder knows a document's words, 0 to 1: it was trained on English alone.

    Words in small letters are one word piece each in English texts, and are spelled in pieces in others; the likeness
    of such texts says little. A text of few such words counts as known.
    """
    pieces, text = memory.pieces, memory.passage.text
    starts = np.flatnonzero(pieces.case != 0)[:FAMILIAR_WORDS]
    ends = np.append(starts[1:], len(pieces.case))[: len(starts)]
    known = spelled = 0
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        word = text[pieces.start[first] : pieces.end[last - 1]]
        if len(word) > 2 and word.isalpha() and word == word.lower():
            whole = last - first == 1 and pieces.ids[first] != UNKNOWN_ID
            known, spelled = known + whole, spelled + (not whole)
    if known + spelled < FEW_WORDS:
        return 1.0
    share = known / (known + spelled)
    return min(1.0, max(0.0, (share - FOREIGN_WORDS) / (ENGLISH_WORDS - FOREIGN_WORDS)))


def _likest(cosines: Vectors, slot: Slot) -> Vectors:
    """Returns the likeness of S stretches and O options, [S, O], from cosines with options and other words, [S, O + W].

    Texts of one language are alike whatever they mean, so an option's words count by how much more alike they are than
    the other options' words.
    """
    count = len(slot.options)
    likest = cosines[:, :count].copy()
    words = [len(own) for own in slot.option_words]
    if sum(map(bool, words)) < 2:
        return likest
    ends = count + np.cumsum(words)
    best = {at: cosines[:, ends[at] - size : ends[at]].max(1) for at, size in enumerate(words) if size}
    mean = np.mean([*best.values()], 0)
    for at, own in best.items():
        likest[:, at] += own - mean
    return likest


def is_list_of_options(form: Form, array: ArrayNode) -> bool:
    """Returns whether an array, outside of rows of others, has compared options as its items and nothing else."""
    item = array.item
    if not isinstance(item, Slot) or array.prefix or array.key is not None or enclosing_arrays(form)[array.index] >= 0:
        return False
    return is_compared(item)


def weigh_options(
    absent: float,
    reader: Sequence[float],
    compared: Compared,
    printed: Sequence[bool],
    config: DescribedOptionsConfig,
) -> tuple[float, list[float]]:
    """Returns the log odds of a choice's absence and the log probabilities of its options.

    absent, reader: those of the reader alone; printed: the options that the document prints.
    The reader learnt absence for values that are pointed at. Of a class it says nothing, unless it thinks absence
    likelier than a value.
    """
    scores = [
        config.reader * log + config.alike * alike + config.printed * mark
        for log, alike, mark in zip(reader, compared.alike, printed, strict=True)
    ]
    top = max(scores)
    total = top + math.log(sum(math.exp(score - top) for score in scores))
    odds = config.nothing + config.absent * max(0.0, absent) - config.likest * max(compared.alike)
    return odds, [score - total for score in scores]


def listed_rows(form: Form, memory: Memory, rows: Sequence[Row], at: Mapping[int, int]) -> dict[int, ListedOption]:
    """Returns the listed option of each slot that has one; `at` maps slots to their rows.

    Rows that were known before have probability one, so they are no listed options.
    """
    listed = memory.listed.get(form.fingerprint, {})
    left: dict[tuple[int, int, float], list[ListedOption]] = {}
    for array, own in listed.items():
        for one in own:
            left.setdefault((array, one.stretch[0], one.chance), []).append(one)
    by_slot = {}
    for k, row in sorted(at.items(), key=lambda item: item[1]):
        options = left.get((rows[row].array, rows[row].anchor, rows[row].probability))
        if options:
            by_slot[k] = options.pop(0)
    return by_slot


def write_listed(k: int, slot: Slot, one: ListedOption, out: Answers) -> None:
    """Writes the option of a list as the answer of its slot; the others share the rest of its probability."""
    rest = math.log((1.0 - one.chance) / (len(slot.options) - 1))
    others = [Candidate(text.encode(), (), "chosen") for text in slot.options if text != one.text]
    out.candidates[k] = [Candidate(one.text.encode(), (one.stretch,), "chosen"), *others]
    # Two options of probability one half must not be as likely as each other.
    out.logits[k] = [math.log(one.chance) + LISTED_OPTION, *[rest] * len(others)]
    out.absent[k] = LISTED_ABSENCE


def passages(text: str) -> list[Stretch]:
    """Returns overlapping passages of a text, [start, end) in characters; [] if it has no words."""
    words = [word.span() for word in _WORD.finditer(text)]
    begins = range(0, max(1, len(words) - (PASSAGE_WORDS - PASSAGE_STEP)), PASSAGE_STEP)
    found = [(words[at][0], words[min(at + PASSAGE_WORDS, len(words)) - 1][1]) for at in begins] if words else []
    return _evenly(found)


def sentences(text: str) -> list[Stretch]:
    """Returns the sentences and lines of a text, [start, end) in characters; [] if it has no words."""
    stretches: list[Stretch] = []
    for match in _SENTENCE.finditer(text):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        end = match.start() + len(match[0].rstrip())
        if stretches and len(text[slice(*stretches[-1])].split()) < SHORTEST_SENTENCE:
            stretches[-1] = (stretches[-1][0], end)
        else:
            stretches.append((start, end))
    return _evenly(stretches)


def _evenly(found: Sequence[Stretch]) -> list[Stretch]:
    """Returns at most MOST_STRETCHES of these, the first and the last among them."""
    if len(found) <= MOST_STRETCHES:
        return list(found)
    return [found[round(at * (len(found) - 1) / (MOST_STRETCHES - 1))] for at in range(MOST_STRETCHES)]
