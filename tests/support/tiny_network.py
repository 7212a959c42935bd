"""A small untrained network of the default kind, and labelled passages for it to learn from."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import torch

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.models.reader.inputs.wordpieces import Pieces, WordPieces
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.reader.network.network import Network, Size
from cinnabar.engine.request import Passage
from cinnabar.engine.settings import Precision
from cinnabar.engine.training.examples import LabelledPassage, labelled_passage
from cinnabar.engine.training.labels import label_by_search
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form

# On a busy machine two threads took thirty times as long on matrices this small.
torch.set_num_threads(1)

VOCABULARY = SHIPPED / "vocab.txt"
SIZE = Size(hidden=32, heads=2, inner=64, layers=1, decoder_layers=1, pointer=16)


@cache
def wordpieces() -> WordPieces:
    return WordPieces(VOCABULARY)


@cache
def _drawn(seed: int) -> tuple[Network, torch.Tensor]:
    torch.manual_seed(seed)
    return Network(SIZE), torch.get_rng_state()


def tiny_network(seed: int = 0) -> Network:
    """A copy of the network that this process drew with this seed, and torch draws on as it did then."""
    network, state = _drawn(seed)
    torch.set_rng_state(state)
    return copy.deepcopy(network)


def tiny_model(seed: int = 0, precision: Precision = "float32") -> ExtractiveReader:
    return ExtractiveReader(tiny_network(seed), wordpieces(), f"tiny {seed}", precision=precision)


def form_of(**properties: Any) -> Form:
    """A form with these properties, all of them required."""
    return compile_schema({"type": "object", "properties": properties, "required": [*properties]}).form


def passage_of(text: str) -> Passage:
    none = np.zeros(0, np.int32)
    return Passage(f"digest of {text}", text, 0, none, none, np.zeros((0, 4), np.float32))


def pieces_of(gaps: list[int]) -> Pieces:
    """Pieces of one character each, with these gaps before them."""
    count = len(gaps)
    place = np.arange(count, dtype=np.int32)
    small, edge = np.ones(count, np.int8), (place % 7 * 10).astype(np.int16)
    line, gap = place // 7, np.array(gaps, np.int8)
    extents = np.stack((edge, edge + 10, edge, edge + 10), 1).astype(np.int32)
    return Pieces(
        place + 1000, place, place + 1, small, gap, line, small, small, edge, edge + 10, line - 1, extents
    )  # fmt: skip


def labelled(text: str, schema: dict[str, Any], truth: Any, longest: int = 300) -> LabelledPassage:
    """The passage with its targets; a search finds the values."""
    form = compile_schema(schema).form
    pieces = wordpieces().pieces(text)
    labels = label_by_search(text, form, truth)
    return labelled_passage(text, form, labels, pieces, wordpieces(), longest)


BILL = {
    "type": "object",
    "required": ["seller", "total", "due", "paid", "kind", "off", "lines"],
    "properties": {
        "seller": {"type": "string", "description": "Who sells."},
        "total": {"type": "number", "description": "What is to be paid."},
        "due": {"type": ["string", "null"], "format": "date"},
        "paid": {"type": "boolean"},
        "kind": {"enum": ["invoice", "receipt", "reminder"]},
        "off": {"type": ["number", "null"], "description": "What is taken off, positive; 0 when nothing is."},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "price"],
                "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
            },
        },
    },
}
SELLERS = ("Acme Ltd", "Blue Boat Company", "Cedar and Sons", "Dover Books", "Elm Street Bakery")
GOODS = ("apples", "brushes", "candles", "drums", "envelopes", "flags")


def bill(number: int, lines: int = 3) -> tuple[str, dict[str, Any]]:
    """A small document and its record."""
    rows = [
        {"name": GOODS[(number + i) % len(GOODS)], "price": 3.25 + number + 10 * i} for i in range(lines)
    ]
    total, off = sum(row["price"] for row in rows), 0.5 + number if number % 3 == 1 else 0
    due = f"2024-0{number % 9 + 1}-17" if number % 4 else None
    seller = SELLERS[number % len(SELLERS)]
    listed = "\n".join(f"{i + 1}  {row['name']}  {row['price']:.2f}" for i, row in enumerate(rows))
    listed += f"\n\nDiscount: -{off:.2f}" if off else ""
    text = f"INVOICE\nSeller: {seller}\nDue: {due or 'at once'}\n\n{listed}\n\nTotal: {total:.2f}\nPaid: no\n"
    truth = {
        "seller": seller, "total": total, "due": due, "paid": False, "kind": "invoice", "off": off,
        "lines": rows,
    }  # fmt: skip
    return text, truth


def bills(count: int, longest: int = 300) -> list[LabelledPassage]:
    """Labelled passages from this many documents."""
    return [labelled(text, BILL, truth, longest) for text, truth in map(bill, range(count))]
