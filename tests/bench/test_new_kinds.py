"""Schemas of new kinds: their truths hold under them, and they are laid out beside the documents of a data folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from bench.new_kinds.__main__ import HERE, lay_out

from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.learning.evaluation import broken_truths
from cinnabar.extraction.run.batch.labelled_sets import find_sets
from cinnabar.schemas import compile_schema, load_schema

KINDS = [pytest.param(path.parent, id=path.parent.name) for path in sorted(HERE.glob("**/truth.jsonl"))]


@pytest.mark.parametrize("kind", KINDS)
def test_each_truth_of_a_new_kind_holds_under_its_schema(kind: Path) -> None:
    schema = json.loads((kind / "schema.json").read_text("utf-8"))
    truths = [json.loads(line) for line in (kind / "truth.jsonl").read_text("utf-8").splitlines()]
    compile_schema(schema)
    assert broken_truths(truths, Validator(load_schema(schema))) == []
    assert len({line["file"] for line in truths}) == len(truths) == 12
    assert all(set(line.get("also_accepted", ())) <= set(schema["properties"]) for line in truths)


def test_files_and_stored_texts_are_laid_out_beside_their_truth(tmp_path: Path) -> None:
    kind, data = tmp_path / "kinds" / "notes", tmp_path / "data"
    (data / "letters").mkdir(parents=True)
    (data / "text").mkdir()
    kind.mkdir(parents=True)
    (data / "letters" / "1.txt").write_text("Dear A", "utf-8")
    with gzip.open(data / "text" / "mails.jsonl.gz", "wt") as stored:
        texts = [("2", "B"), ("x/3.txt", "C\r")]
        stored.write("\n".join(json.dumps({"id": name, "text": text}) for name, text in texts))
    files = ["letters/1.txt", "text/mails/2.txt", "text/mails/x/3.txt"]
    (kind / "schema.json").write_text('{"type": "object"}', "utf-8")
    (kind / "truth.jsonl").write_text("\n".join(json.dumps({"file": name, "truth": {}}) for name in files), "utf-8")

    laid_out = lay_out(tmp_path / "kinds", data, tmp_path / "out")

    (found,) = find_sets(tmp_path / "out")
    assert laid_out == [tmp_path / "out" / "notes"] == [found.folder]
    assert [(found.folder / line["file"]).read_bytes() for line in found.truths] == [b"Dear A", b"B", b"C\r"]
