"""Windows and requests of many documents go through the network in few large operations, which change no result."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from bench.products import Recorder
from tests.support.tiny_network import form_of, passage_of, tiny_model, tiny_network, wordpieces

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.inputs.questions import Question, question_tensors
from cinnabar.engine.models.reader.inputs.tensors import Board, Window, cut, padded_length, phrases, sheet
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.request import Request

BILL = form_of(
    seller={"type": ["string", "null"]},
    total={"type": ["number", "null"], "description": "What is to be paid."},
    kind={"enum": ["bill", "letter", "report"]},
    paid={"type": "boolean", "description": "Whether the total was paid."},
    lines={"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
)
NOTE = form_of(place={"type": ["string", "null"]}, kind={"enum": ["tea", "coffee", "water"]})
TEXTS = [
    "Seller     Smith & Sons\nTotal due   12.50\n" * 2,
    "bill number 7\nname     price\ntea      3.00\nwater    4.00\n" * 12,
    "A short letter.",
    "",
    "the total was paid by the seller in the end " * 40,
]


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ExtractiveReader:
    monkeypatch.setattr("cinnabar.engine.models.int8_matmul.supports_int8", lambda _: True)
    return tiny_model(precision="int8")


def _requests(count: int) -> list[Request]:
    forms = (BILL, NOTE, BILL)
    return [Request(str(k), forms[k % 3], passage_of(TEXTS[k % 5] + f"{k}")) for k in range(count)]


def test_documents_have_the_same_results_alone_together_and_in_another_order(reader: ExtractiveReader) -> None:
    requests = _requests(12)
    together = Engine(reader).fill(requests)
    assert together == Engine(reader).fill(requests[::-1])[::-1]
    assert together == [Engine(reader).fill([request])[0] for request in requests]


def test_a_batch_of_documents_of_many_sizes_is_filled_at_once(
    reader: ExtractiveReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A batch that fails is halved, so its results would be right, and late.
    sizes = []
    fill = Engine._fill_batch

    def counted(self: Engine, *given: Any) -> Any:
        sizes.append(len(given[0]))
        return fill(self, *given)

    monkeypatch.setattr(Engine, "_fill_batch", counted)
    words = [40, 700, 1400, 40, 2100, 700]
    requests = [Request(str(k), NOTE, passage_of(f"{k} cups of tea " * count)) for k, count in enumerate(words)]
    encode = ExtractiveReader.encode
    # Passages that were read before are kept one by one.
    monkeypatch.setattr(ExtractiveReader, "encode", lambda self, read: [encode(self, [one])[0] for one in read])
    Engine(reader, token_budget=1_000_000).fill(requests)
    assert sizes == [len(requests)]


def test_more_documents_of_a_form_make_operations_larger_and_not_more(reader: ExtractiveReader) -> None:
    engine = Engine(reader)
    engine.fill([Request("first", NOTE, passage_of("tea"))])
    calls = []
    for count in (2, 10):
        with Recorder() as recorder:
            engine.fill([Request(str(k), NOTE, passage_of(f"{k} cups of tea")) for k in range(count)])
        calls.append(recorder.calls)
    assert calls[1] < 1.2 * calls[0]


def test_word_matches_are_the_same_alone_and_among_windows_of_other_documents() -> None:
    network = tiny_network()
    asked = question_tensors([Question("total due", "to be paid"), Question("name", "")], wordpieces())
    pieces = [wordpieces().pieces(text) for text in TEXTS if text]
    windows = [(own, window) for own in pieces for window in cut(own, 64, 16)]
    width = padded_length(window for _, window in windows)

    def matches(chosen: list[tuple[Pieces, Window]]) -> torch.Tensor:
        board = Board.blank(len(chosen), 2, width)
        board.question[:], board.mask[:] = torch.tensor([0, 1]), True
        with torch.inference_mode():
            return network.matches(sheet(chosen, width), phrases(chosen, wordpieces()), board, asked)

    together = matches(windows)
    assert len(together) > 6 and together.any()
    for found, window in zip(together, windows, strict=True):
        assert torch.equal(found, matches([window])[0])
