"""A released language model as an engine's model: each slot is a branch behind the document, grounded in its words.

The document is read once with all fields told; then each field begins an answer of its own, `{"total": "`, which sees
the document and no other branch. What it may write are the words of the document that the slot accepts in some reading,
so a value always has its place, and null is weighed at its first token (BRANCHES: Hyper-Parallel Decoding, arXiv
2604.26209; Copy-as-Decode, 2604.18170).

Then the values that the model is sure of are written as the beginning of a record, and the fields in doubt are asked
once more behind it: two fields that take each other's values (from, to) are told apart by the one that is sure.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import torch

from cinnabar.engine.branches.constraint import BranchConstraint, Grounded, OptionTexts, WrittenText
from cinnabar.engine.branches.decoding import Branch, BranchDecoder, BranchListing, logarithm
from cinnabar.engine.branches.forks import DocumentKeys, Forks, read_document
from cinnabar.engine.branches.grounds import Grounds, array_levels, item_region, item_rows, lists_of, written_option
from cinnabar.engine.branches.prompt import (
    begun_record,
    dotted_name,
    field_lines,
    first_words,
    head,
    item_head,
    messages,
)
from cinnabar.engine.branches.stretches import ValueTokens
from cinnabar.engine.model import WHOLE, Calibrator, Candidate, Canvas, Row, Scores
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.models.reader.inputs.questions import TYPED, kind_of
from cinnabar.engine.request import Origin, Passage
from cinnabar.engine.work_time import part
from cinnabar.errors import UsageError
from cinnabar.schemas.automata.strings import scalar_text
from cinnabar.schemas.form.form import ArrayNode, Form, Slot
from cinnabar.schemas.pointers import lies_within

#: A copied value stays unless the one that is written freely has so many times its share, and all its numbers and names
#: are the document's.
FREE_BETTER = 4.0
#: The share from which a value, or its absence, is sure: it is told, and is not asked for again. The most characters of
#: a value that is told, and of all of them together.
SURE_VALUE, LONGEST_TOLD, TOLD_CHARACTERS = 0.9, 100, 1_200
_T = TypeVar("_T")
#: The forms whose lines are kept, and those of which keys are kept: of what all prompts about them begin with. 1,000
#: tokens take 24 MB with 0.5B weights, and 57 MB with 1.5B.
FORMS_KEPT, KEYS_KEPT = 64, 2
#: The log share of what is impossible.
_NOTHING = float("-inf")
#: A form, the number of a slot, and the first character of its row.
_Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class BranchAnswer:
    """The answer of a branch: a value's canonical text and characters, if any, and how sure the model was."""

    null: float
    text: bytes | None = None
    spans: tuple[tuple[int, int], ...] = ()
    share: float = 0.0
    origin: Origin = "copied"


@dataclass(eq=False)
class BranchMemory:
    """A passage: its stretches, its branches by form once it is read, and the answers so far.

    told: the forms of which the sure values were told.
    """

    passage: Passage
    grounds: Grounds
    forks: dict[str, Forks] = field(default_factory=dict)
    answers: dict[_Key, BranchAnswer] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A form's part of the prompt: names by path, and its lines.

    told: the numbers of the slots whose values may be told: each record has them, by a name of their own.
    """

    names: dict[str, str]
    lines: str
    told: frozenset[int]


class BranchModel:
    """Fills slots with a language model (`has_branches`), a branch for each."""

    def __init__(self, model: LanguageModel, calibration: Calibrator | None = None) -> None:
        self.model, self.calibration = model, calibration
        self.fingerprint = model.fingerprint
        self.device = model.decoder.device
        self.context_tokens = model.traits.window // 2
        self.tokens = ValueTokens(model.tokenizer.vocabulary)
        quote = self.tokens.token.get(b' "', self.tokens.token[b'"'])
        self.branches = BranchDecoder(model.decoder, self.tokens, quote)
        self._prompts: OrderedDict[str, _Prompt] = OrderedDict()
        self._begun: OrderedDict[str, tuple[list[int], DocumentKeys]] = OrderedDict()

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of this text."""
        return len(self.model.tokenizer.encode(text))

    def windows(self, _: Passage) -> list[tuple[int, int]]:
        """Returns no windows: a passage is read as a whole."""
        return []

    def prepare(self, form: Form) -> None:
        """Writes the form's part of the prompt. Raises UsageError if it leaves no room for a document."""
        self._prompt(form)

    def encode(self, passages: Sequence[Passage]) -> list[BranchMemory]:
        """Returns a memory for each passage, which is read when the form is known."""
        return [BranchMemory(passage, Grounds(passage, self.tokens)) for passage in passages]

    @torch.inference_mode()
    def find_rows(self, forms: Sequence[Form], memories: Sequence[BranchMemory]) -> list[list[Row]]:
        """Returns the items of each form's lists, those of nested lists within their item."""
        found: list[list[Row]] = [[] for _ in forms]
        levels = [array_levels(form) for form in forms]
        most = max(map(len, levels), default=0)
        for level in range(most):
            with part(level / most / 2, (level + 1) / most / 2):
                self._find_items(forms, memories, [own[level] if level < len(own) else [] for own in levels], found)
        return found

    def _find_items(
        self,
        forms: Sequence[Form],
        memories: Sequence[BranchMemory],
        arrays: Sequence[Sequence[ArrayNode]],
        found: Sequence[list[Row]],
    ) -> None:
        """Adds the items of these arrays of each form to the rows found so far, all lists together."""
        asked: list[tuple[list[Row], ArrayNode, int, BranchMemory, BranchListing]] = []
        reading: list[tuple[Forks, BranchListing]] = []
        for number, (form, memory, own, rows) in enumerate(zip(forms, memories, arrays, found, strict=True)):
            with part(number / len(forms) / 2, (number + 1) / len(forms) / 2):
                for array, parent in lists_of(own, rows, form):
                    listing = self._list_questions(form, memory, array, rows, parent)
                    if listing is not None:
                        asked.append((rows, array, parent, memory, listing))
                        reading.append((self._forks(form, memory), listing))
        with part(0.5, 1):
            self.branches.list_items(reading)
        for rows, array, parent, memory, listing in asked:
            rows += item_rows(array, parent, memory.grounds.stretches, listing)

    def _list_questions(
        self, form: Form, memory: BranchMemory, array: ArrayNode, rows: Sequence[Row], parent: int
    ) -> BranchListing | None:
        """Returns what is asked for the items of a list, of the whole passage or of an item; None if it has none."""
        grounds = memory.grounds
        within = None if parent < 0 else grounds.region(*item_region(rows, parent, memory.passage.text))
        grounded: Grounded | None = Grounded(grounds.stretches, self.tokens, None, within)
        if isinstance(array.item, Slot) and array.key is None and not array.item.options:
            grounded = grounds.constraint(array.item, within)
        if grounded is None or not grounds.stretches.begins:
            return None
        asked = head(self._prompt(form).names.get(array.path) or dotted_name(array.path))
        return BranchListing(self._encode(asked), grounded)

    @torch.inference_mode()
    def score(
        self, forms: Sequence[Form], memories: Sequence[BranchMemory], rows: Sequence[Sequence[Row]], canvas: Canvas
    ) -> Scores:
        """Scores the canvas: each open slot is asked once, and its answer stands in later steps."""
        own: list[list[int]] = [[] for _ in forms]
        for at, instance in enumerate(canvas.instances):
            own[instance.request].append(at)
        count = len(canvas.instances)
        candidates: list[list[Candidate]] = [[] for _ in range(count)]
        logits = torch.full((count, 1), _NOTHING)
        absent, refused = torch.zeros(count), torch.full((count,), _NOTHING)
        known = canvas.known or [False] * count
        asked = [[at for at in slots if not known[at]] for slots in own]
        places = [[(canvas.instances[at].slot, canvas.instances[at].row) for at in one] for one in asked]
        with part(0.5, 0.9):
            self._ask(list(zip(forms, memories, rows, places, strict=True)))
        with part(0.9, 1):
            self._ask_doubted(list(zip(forms, memories, places, strict=True)))
        for form, memory, rows_of_form, open_slots in zip(forms, memories, rows, asked, strict=True):
            for at in open_slots:
                instance = canvas.instances[at]
                answer = memory.answers[_key(form, instance.slot, rows_of_form, instance.row)]
                absent[at] = logarithm(answer.null)
                if answer.text is not None:
                    candidates[at] = [Candidate(answer.text, answer.spans, answer.origin)]
                    logits[at, 0] = logarithm((1 - answer.null) * answer.share)
                    refused[at] = logarithm((1 - answer.null) * (1 - answer.share))
        device = self.device
        return Scores(candidates, logits.to(device), absent.to(device), refused.to(device))

    def _ask(
        self, asked: Sequence[tuple[Form, BranchMemory, Sequence[Row], Sequence[tuple[Slot, int]]]]
    ) -> None:
        """Answers the slots of some documents that have no answer yet, all of them together."""
        every: list[tuple[BranchMemory, Forks, list[tuple[_Key, Slot, Branch]]]] = []
        # Documents with lists were read before.
        read = all(form.fingerprint in memory.forks for form, memory, *_ in asked)
        for number, (form, memory, rows, slots) in enumerate(asked):
            branches = list(self._branches(form, memory, rows, slots))
            if branches:
                with part(number / len(asked) / 2, (number + 1) / len(asked) / 2):
                    every.append((memory, self._forks(form, memory), branches))
        with part(0 if read else 0.5, 1):
            self._decode(every)

    def _decode(
        self, asked: Sequence[tuple[BranchMemory, Forks, Sequence[tuple[_Key, Slot, Branch]]]], likely: bool = False
    ) -> None:
        """Decodes branches of documents and takes their answers; likely: whether their drafts are."""
        self.branches.decode([(forks, [branch for *_, branch in branches]) for _, forks, branches in asked], likely)
        for memory, _, branches in asked:
            for key, slot, branch in branches:
                memory.answers[key] = self._compose_value(slot, branch, memory) or self._answer(slot, branch, memory)

    def _ask_doubted(self, asked: Sequence[tuple[Form, BranchMemory, Sequence[tuple[Slot, int]]]]) -> None:
        """Asks the doubtful slots outside of lists once more, behind the sure values."""
        every: list[tuple[BranchMemory, Forks, list[tuple[_Key, Slot, Branch]]]] = []
        before: list[tuple[BranchMemory, dict[_Key, BranchAnswer]]] = []
        for form, memory, slots in asked:
            if form.fingerprint in memory.told:
                continue
            memory.told.add(form.fingerprint)
            sure, doubted = self._split_slots(form, memory, [slot for slot, row in slots if row < 0])
            if not sure or not doubted:
                continue
            first = {key: memory.answers.pop(key) for key in (_key(form, slot, (), -1) for slot in doubted)}
            before.append((memory, first))
            branches = list(self._branches(form, memory, (), [(slot, -1) for slot in doubted], first))
            read = self._forks(form, memory)
            tokens = [*read.tail, *self._encode(begun_record(sure))]
            end = self._border(len(tokens))
            with part(0, 0.5):
                behind = read_document(self.model.decoder, tokens[:end], read.keys)
            every.append((memory, Forks(self.model.decoder, behind, tokens[end:]), branches))
        with part(0.5, 1):
            self._decode(every, likely=True)
        for memory, first in before:
            # A value that came to no end says nothing against the first one.
            unended = {key for key in first if memory.answers[key].text is None and memory.answers[key].null < 0.5}
            memory.answers |= {key: first[key] for key in unended}

    def _split_slots(
        self, form: Form, memory: BranchMemory, slots: Sequence[Slot]
    ) -> tuple[dict[str, str], list[Slot]]:
        """Returns the values to tell, by the names of their fields, and the slots in doubt."""
        prompt, left = self._prompt(form), TOLD_CHARACTERS
        sure, doubted = dict[str, str](), list[Slot]()
        for slot in slots:
            answer = memory.answers[_key(form, slot, (), -1)]
            if slot.index not in prompt.told or answer.null >= SURE_VALUE:
                continue
            if answer.text is None or min(answer.share, 1 - answer.null) < SURE_VALUE:
                # What is put together takes as many passes as it has tokens.
                if answer.origin != "generated":
                    doubted.append(slot)
            elif len(said := _said(answer, memory)) <= min(LONGEST_TOLD, left):
                sure[prompt.names[slot.path]] = said
                left -= len(said)
        return sure, doubted

    def _branches(
        self,
        form: Form,
        memory: BranchMemory,
        rows: Sequence[Row],
        slots: Sequence[tuple[Slot, int]],
        first: Mapping[_Key, BranchAnswer] | None = None,
    ) -> Iterator[tuple[_Key, Slot, Branch]]:
        """Yields a branch for each slot that has no answer yet and may have another one than null.

        first: the first answers of slots that are asked once more, behind a record that is begun; they are drafts.
        """
        prompt, text = self._prompt(form), memory.passage.text
        items = {row for _, row in slots if row >= 0 and rows[row].anchor != WHOLE}
        regions = {row: item_region(rows, row, text) for row in items}
        for slot, row in slots:
            key = _key(form, slot, rows, row)
            if key in memory.answers:
                continue
            memory.answers[key] = BranchAnswer(1.0)
            region = regions.get(row)
            within = None if region is None else memory.grounds.region(*region)
            constraint: BranchConstraint | None
            if slot.options:
                constraint = OptionTexts(map(written_option, slot.options), self.tokens)
            elif is_worded(slot):
                constraint = WrittenText(slot.automaton, self.tokens)
            else:
                constraint = memory.grounds.constraint(slot, within)
            if constraint is None:
                continue
            asks = head(prompt.names[slot.path], told=first is not None)
            if region is not None:
                array = form.arrays[rows[row].array]
                asks = item_head(array, first_words(text, rows[row].anchor), prompt.names[slot.path])
            branch = Branch(self._encode(asks), constraint, -1 if region is None else row)
            if first is not None:
                branch.tried = _said(first[key], memory).encode()
            elif region is None and slot.path in memory.passage.marked:
                begin, end = memory.grounds.region(*memory.passage.marked[slot.path])
                branch.tried = memory.grounds.stretches.written[begin:end]
            is_copied_text = not slot.options and kind_of(slot) not in TYPED and not is_worded(slot)
            # In an item it would be put together from the words of others.
            if is_copied_text and first is None and region is None:
                branch.otherwise = partial(self._free, slot, memory, branch.tried)
            yield key, slot, branch

    def _free(self, slot: Slot, memory: BranchMemory, tried: bytes) -> WrittenText:
        lines = memory.grounds.traces.lines.encode()
        return WrittenText(slot.automaton, self.tokens, b"%s\n%s" % (tried, lines) if tried else lines)

    def _compose_value(self, slot: Slot, copied: Branch, memory: BranchMemory) -> BranchAnswer | None:
        """Returns the value that was put together from parts of the document, None if the copied one stays."""
        free = copied.free
        if free is None or not isinstance(free.final, tuple):
            return None
        said = json.loads(b'"%s"' % free.final[1])
        text, traces = scalar_text(said).encode(), memory.grounds.traces
        traced = traces.share(said) if slot.accepts(text) else 0.0
        if not traced or free.mass <= FREE_BETTER * copied.mass:
            return None
        return BranchAnswer(free.null, text, traces.spans(said), round(free.share * traced, 6), "generated")

    def _answer(self, slot: Slot, branch: Branch, memory: BranchMemory) -> BranchAnswer:
        if not isinstance(branch.final, tuple) or not branch.final:
            return BranchAnswer(branch.null)
        if is_worded(slot):
            said = json.loads(b'"%s"' % branch.final[1])
            text = scalar_text(said).encode()
            spans = memory.grounds.traces.spans(said)
            return BranchAnswer(branch.null, text if slot.accepts(text) else None, spans, branch.share, "generated")
        if isinstance(branch.constraint, OptionTexts):
            option = slot.options[branch.constraint.number(branch.final[0][0])].encode()
            return BranchAnswer(branch.null, option, (), branch.share, "chosen")
        value = memory.grounds.value(slot, branch.final)
        if value is None:
            return BranchAnswer(branch.null)
        text, span = value
        return BranchAnswer(branch.null, text, (span,), branch.share)

    def _encode(self, text: str) -> list[int]:
        return self.model.tokenizer.encode(text)

    def _forks(self, form: Form, memory: BranchMemory) -> Forks:
        """Returns the branches of a passage that was read with this form."""
        forks = memory.forks.get(form.fingerprint)
        if forks is None:
            prompt = self._render(form.title, self._prompt(form).lines, memory.passage.text)
            end = self._border(len(prompt))
            keys = self._keys(form, prompt[:end])
            forks = memory.forks[form.fingerprint] = Forks(self.model.decoder, keys, prompt[end:])
        return forks

    def _border(self, tokens: int) -> int:
        """Returns how many of these tokens are read for all branches: with blocks, those of full ones.

        With a shift the last token before a branch is its own.
        """
        traits = self.model.traits
        return tokens if traits.block == 1 else (tokens - int(traits.shift)) // traits.block * traits.block

    def _keys(self, form: Form, tokens: list[int]) -> DocumentKeys:
        """Returns the keys of a prompt's tokens; those of its first part are kept, if others may begin alike."""
        lines = self._prompt(form).lines
        begun, before = self._begun.get(form.fingerprint, (None, None))
        if begun is None:
            # What two prompts have in common, of which only the first part is the same.
            others = [self._render(form.title, lines, one) for one in ("A", "0 B")]
            same = next(at for at, pair in enumerate(zip(*others, strict=False)) if len({*pair}) > 1)
            begun = others[0][: same // self.model.traits.block * self.model.traits.block]
        many = len(begun)
        if tokens[:many] != begun:
            return read_document(self.model.decoder, tokens)
        if before is None:
            before = read_document(self.model.decoder, begun)
        _keep(self._begun, form.fingerprint, (begun, before), KEYS_KEPT)
        return read_document(self.model.decoder, tokens[many:], before)

    def _prompt(self, form: Form) -> _Prompt:
        made = self._prompts.get(form.fingerprint)
        if made is None:
            names = {slot.path: dotted_name(slot.path) for slot in form.slots}
            lines = "\n".join(field_lines(form, names))
            taken = len(self._render(form.title, lines, ""))
            if taken > self.context_tokens:
                raise UsageError(
                    f"{self.model.folder}: the fields of the schema take {taken} tokens, expected at most"
                    f" {self.context_tokens} of the model's {self.model.traits.window}; take a smaller schema"
                )
            many, chosen = Counter(names[slot.path] for slot in form.slots), [one.path for one in form.choices]
            told = frozenset(
                slot.index
                for slot in form.slots
                if len(slot.options) != 1 and many[names[slot.path]] == 1
                if not any(lies_within(slot.path, path) for path in chosen)
            )
            made = _Prompt(names, lines, told)
            _keep(self._prompts, form.fingerprint, made, FORMS_KEPT)
        return made

    def _render(self, title: str, lines: str, text: str) -> list[int]:
        return self.model.chat.render(messages(title, lines, text))


def _said(answer: BranchAnswer, memory: BranchMemory) -> str:
    """Returns a value as an answer has it: the words that were copied, or the value."""
    if answer.text is None:
        return ""
    if answer.origin == "copied":
        start, end = answer.spans[0]
        return " ".join(memory.passage.text[start:end].split())
    value = json.loads(answer.text)
    return value if isinstance(value, str) else json.dumps(value)


def _keep(kept: OrderedDict[str, _T], key: str, made: _T, most: int) -> None:
    """Keeps this, and drops what was kept first of more than `most`."""
    kept[key] = made
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _key(form: Form, slot: Slot, rows: Sequence[Row], row: int) -> _Key:
    return form.fingerprint, slot.index, WHOLE if row < 0 else rows[row].anchor


def is_worded(slot: Slot) -> bool:
    """Returns whether the model may word a value anew: its schema says so, and it is a text of no form of its own."""
    return slot.written and not slot.options and kind_of(slot) not in TYPED
