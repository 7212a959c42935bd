"""Sources of training windows from reading data: passages with questions, entities and facts, a schema each."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.training.examples import labelled_passage
from cinnabar.engine.training.labels import label_by_search
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.schemas import compile_schema

#: The end of a reading set's file name.
SUFFIX = ".jsonl.gz"


def reading_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the lines of a reading set: `text`, `schema`, `truth` and `part`, by the hash that is their `id`."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema with all of its properties required and no others allowed, as records are asked for."""
    return {**schema, "required": list(schema["properties"]), "additionalProperties": False}


def reading_source(path: Path, wordpieces: WordPieces, weight: float, most: int) -> TrainingSource:
    """Returns at most `most` passages for training of a reading set."""
    source = TrainingSource(f"reading_{path.name.removesuffix(SUFFIX)}", weight, [], shared_schema=False)
    for line in reading_lines(path):
        if len(source.train) >= most:
            break
        if line["part"] != "train":
            continue
        form = compile_schema(closed(line["schema"])).form
        pieces = wordpieces.pieces(line["text"], None, None)
        if len(pieces):
            labels = label_by_search(line["text"], form, line["truth"])
            source.train.append(labelled_passage(line["text"], form, labels, pieces, wordpieces))
    return source
