"""Drafts: tokens with which a record may well go on, copied from the texts that it is about.

A causal model reads them behind what is committed and scores all of them in one pass; those that it would have chosen
are committed together (prompt lookup, a draft model without a model; speculative decoding: arXiv 2211.17192). A draft
changes the number of passes and never the record.
"""

from __future__ import annotations

import re

from cinnabar.engine.language.forced import ForcedText, TokenSpelling, TokenTexts
from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.schemas.automata.strings import canonical_string

#: The fewest bytes at the end of a written text that are looked for, what is much, the most, and the bytes of a draft.
FEWEST_WRITTEN, MUCH_WRITTEN, MOST_WRITTEN, DRAFT_BYTES = 2, 16, 32, 64
#: Bytes before a draft that the tokenizer is shown, and those in which a member is looked for.
_BEFORE, _LOOKED = 24, 512


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

    Of several places the one that shares most with the text. If none shares much, the place of the same member in the
    drafted record.
    """
    record = source.partition(b"\n")[0]
    if not written:
        return record[:DRAFT_BYTES], False
    for size in range(min(len(written), MOST_WRITTEN), FEWEST_WRITTEN - 1, -1):
        if size == min(len(written), MUCH_WRITTEN) and (rest := _behind_member(written, record)):
            return rest, False
        for text in (source, written[:-1]):
            at = text.find(written[-size:])
            if at >= 0:
                line, end, _ = text[at + size : at + size + DRAFT_BYTES].partition(b"\n")
                return line, bool(end)
    return b"", False


_STRING = rb'"(?:[^"\\]|\\.)*"'
_VALUE = re.compile(_STRING + rb'|[^"{}\[\],]+')
#: The last member of a text: its name, then its whole value and how what follows begins, or nothing.
_MEMBER = re.compile(rb"(" + _STRING + rb": )(?:" + _STRING + rb'(,? ?"?)|[^"{}\[\],]+(, ?"?))?$')


def _behind_member(written: bytes, record: bytes) -> bytes:
    """Returns what a record has behind the member, or the name of one, with which a text ends; of rows the same one."""
    member = _MEMBER.search(written[-_LOOKED:])
    before = [] if member is None else record.split(member[1])
    if member is None or len(before) <= (number := written.count(member[1])):
        return b""
    behind = member[1].join(before[number:])
    if member.end() == member.end(1):
        return behind[:DRAFT_BYTES]
    value, begun = _VALUE.match(behind), member[2] or member[3] or b""
    rest = behind[value.end() :] if value else b""
    return rest[len(begun) :][:DRAFT_BYTES] if rest.startswith(begun) else b""


def is_drafted(decoder: Decoder) -> bool:
    """Returns whether records are drafted: for causal models on a CPU; other devices capture passes of few shapes."""
    return decoder.traits.noise == "none" and decoder.device.type == "cpu"


def draft_source(record: str, text: str) -> bytes:
    """Returns the lines for `Drafter.draft`: a record that another model read, in one, then those of the text."""
    lines = (line.strip().encode("utf-8", "replace").decode() for line in text.splitlines())
    return b"\n".join([record.encode(), *(canonical_string(line)[1:-1] for line in lines)])
