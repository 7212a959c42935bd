"""Drafts: tokens with which a record may well go on, copied from the texts that it is about.

A causal model reads them behind what is committed and scores all of them in one pass; those that it would have chosen
are committed together (prompt lookup, a draft model without a model; speculative decoding: arXiv 2211.17192). A draft
changes the number of passes and never the record.
"""

from __future__ import annotations

import re

from cinnabar.engine.diffusion.forced import ForcedText, TokenSpelling, TokenTexts
from cinnabar.engine.diffusion.record_graph import RecordGraph
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.readings.locale import document_locale
from cinnabar.engine.readings.readings import json_readings, surroundings
from cinnabar.engine.request import Passage
from cinnabar.schemas.automata.strings import canonical_string
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import unescape

#: The fewest and the most bytes at the end of a written text that are looked for, and the bytes behind them of a draft.
FEWEST_WRITTEN, MOST_WRITTEN, DRAFT_BYTES = 2, 32, 64
#: Bytes before a draft that the tokenizer is shown.
_BEFORE = 24


class Drafter:
    """Drafts tokens of records; texts: of the tokens of this tokenizer."""

    def __init__(self, tokenizer: TokenSpelling, texts: TokenTexts) -> None:
        self._tokenizer, self._texts = tokenizer, texts

    def draft(
        self, graph: RecordGraph, forced: ForcedText, state: int, written: bytes, source: bytes, most: int
    ) -> list[int]:
        """Returns so many tokens at most that may follow what is written and lead from this state to others.

        source: lines that the record may well be put together from, the likeliest first.
        """
        drafted = list[int]()
        while len(drafted) < most and state != graph.done:
            ahead = forced.after(state).tokens
            for token in ahead or self._spelled(graph, state, written, source):
                state = graph.run([token], state)
                if state in (-1, graph.done) or len(drafted) == most:
                    return drafted
                drafted.append(token)
                written += self._texts.texts[token]
                if not ahead and forced.after(state).tokens:
                    break
            else:
                if not ahead:
                    return drafted
        return drafted

    def _spelled(self, graph: RecordGraph, state: int, written: bytes, source: bytes) -> list[int]:
        """Returns the tokenizer's tokens of what may go on behind what is written."""
        line, ends = _continuation(written, source)
        line += b'"' if ends else b""
        for size in range(len(line)):
            state = graph.automaton.run(line[size : size + 1], state)
            if state < 0:
                line = line[:size]
                break
        before = written[-_BEFORE:]
        while before and before[0] & 0xC0 == 0x80:
            before = before[1:]  # The rest of a character.
        if not line:
            return []
        tokens = self._tokenizer.encode((before + line).decode("utf-8", "ignore"))
        size = at = 0
        while at < len(tokens) and size < len(before):
            size += len(self._texts.texts.get(tokens[at], b""))
            at += 1
        # The model has ended a token where the tokenizer might not.
        return tokens[at:] if size == len(before) else self._tokenizer.encode(line.decode("utf-8", "ignore"))


def _continuation(written: bytes, source: bytes) -> tuple[bytes, bool]:
    """Returns what goes on behind the last words of a text, in the source or in itself; and whether a line ends there.

    Of several places the one that shares most with the text.
    """
    for size in range(min(len(written), MOST_WRITTEN), FEWEST_WRITTEN - 1, -1):
        for text in (source, written[:-1]):
            at = text.find(written[-size:])
            if at >= 0:
                line, end, _ = text[at + size : at + size + DRAFT_BYTES].partition(b"\n")
                return line, bool(end)
    return b"", False


def is_drafted(decoder: Decoder) -> bool:
    """Returns whether records are drafted: for causal models on a CPU; other devices capture passes of few shapes."""
    return decoder.traits.noise == "none" and decoder.device.type == "cpu"


def draft_source(form: Form, passage: Passage) -> bytes:
    """Returns the lines for `Drafter.draft`: the values that another model read, in one, then those of the text."""
    text, slots = passage.text, {slot.path: slot for slot in form.slots}
    locale = passage.locale or (document_locale(text) if passage.marked else None)
    values = list[bytes]()
    for pointer, (begin, end) in passage.marked.items():
        slot = slots.get(re.sub(r"/[0-9]+(?=/|$)", "/*", pointer))
        if slot is None or locale is None:
            continue
        found = json_readings(text[begin:end], locale.in_order(slot.day_first), *surroundings(text, begin, end))
        value = next((one for one in found if one != b"null" and slot.accepts(one)), None)
        name = pointer.rsplit("/", 1)[-1]
        values += [] if value is None else [b"%s: %s" % (canonical_string(unescape(name)), value)]
    lines = (line.strip().encode("utf-8", "replace").decode() for line in text.splitlines())
    return b"\n".join([b", ".join(values), *(canonical_string(line)[1:-1] for line in lines)])
