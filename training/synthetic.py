"""Makes sources of training windows from generated and mined documents."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterable
from pathlib import Path

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.training.examples import LabelledPassage, labelled_passage
from cinnabar.engine.training.labels import label_by_pointers
from cinnabar.engine.training.pool import Source
from cinnabar.schemas import compile_schema
from training.generator.family import load_family
from training.generator.generator import Example, generate
from training.mining import mine
from training.recipe import MadeRecipe

#: Characters of a mined passage.
MINED_CHARACTERS = 1500


def synthetic_source(
    family: str, count: int, seed: int, wordpieces: WordPieces, weight: float = 1.0
) -> Source:
    """Returns `count` documents of one family, each with its own schema; a held-out family is only measured."""
    source = Source(f"synthetic_{family}", weight, [], shared_schema=False)
    kept = source.held_back if load_family(family).held_out else source.train
    for example in generate(seed, [family]):
        kept.append(labelled_example(example, wordpieces))
        if len(kept) >= count:
            break
    return source


def mined_source(path: Path, made: MadeRecipe, wordpieces: WordPieces) -> Source:
    """Returns mined passages of an unlabelled text file (xz-compressed JSON lines with `text`)."""
    source = Source(f"mined_{path.name.split('.')[0]}", made.weight, [], shared_schema=False)
    rng = random.Random(path.name)
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    rng.shuffle(texts)
    for i, text in enumerate(texts):
        start = rng.randrange(max(1, len(text) - MINED_CHARACTERS))
        example = mine(text[start : start + MINED_CHARACTERS], f"{path.name}/{i}")
        if example is not None:
            source.train.append(labelled_example(example, wordpieces))
        if len(source.train) >= made.documents:
            break
    return source


def mined_again(passages: Iterable[LabelledPassage], name: str, wordpieces: WordPieces, weight: float) -> Source:
    """Returns passages of other sources with the labels that they print as their fields."""
    source = Source(name, weight, [], shared_schema=False)
    for i, passage in enumerate(passages):
        example = mine(passage.text[:MINED_CHARACTERS], f"{name}/{i}")
        if example is not None:
            source.train.append(labelled_example(example, wordpieces))
    return source


def labelled_example(example: Example, wordpieces: WordPieces) -> LabelledPassage:
    """Returns a generated document as a passage of training."""
    form = compile_schema(example.schema).form
    # `Wrapped` finds a printing in pieces (a wrapped cell) again by its text.
    whole = {k: v for k, v in example.spans.items() if k not in example.broken}
    labels = label_by_pointers(example.text, form, example.truth, whole, example.rows)
    start, _, box = example.word_boxes or (None, None, None)
    pieces = wordpieces.pieces(example.text, start, box)
    return labelled_passage(example.text, form, labels, pieces, wordpieces)
