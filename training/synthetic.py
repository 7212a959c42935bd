"""Makes sources of training windows from generated and mined documents."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.training.examples import LabelledPassage, labelled_passage
from cinnabar.engine.training.labels import LabelledLeaf, LabelledRow, Labels, Spans
from cinnabar.engine.training.pool import TrainingSource
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import RecordLeaf, walk_record
from training.generator.generator import Example, generate
from training.generator.locale import common, split
from training.generator.wording import draw_wording, spell
from training.recipe import MadeRecipe

#: Characters of a mined passage.
MINED_CHARACTERS = 1500


def synthetic_source(
    family: str, count: int, seed: int, wordpieces: WordPieces, weight: float = 1.0
) -> TrainingSource:
    """Returns `count` documents of one family, each with its own schema."""
    made = [labelled_example(example, wordpieces) for example in islice(generate(seed, [family]), count)]
    return TrainingSource(f"synthetic_{family}", weight, made, shared_schema=False)


def mined_source(path: Path, made: MadeRecipe, wordpieces: WordPieces) -> TrainingSource:
    """Returns mined passages of an unlabelled text file (xz-compressed JSON lines with `text`)."""
    source = TrainingSource(f"mined_{path.name.split('.')[0]}", made.weight, [], shared_schema=False)
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


def mined_again(
    passages: Iterable[LabelledPassage], name: str, wordpieces: WordPieces, weight: float
) -> TrainingSource:
    """Returns passages of other sources with the labels that they print as their fields."""
    source = TrainingSource(name, weight, [], shared_schema=False)
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


def label_by_pointers(
    text: str, form: Form, truth: Any, spans: Mapping[str, Spans], anchors: Mapping[str, int]
) -> Labels:
    """Returns the labels of a document with the spans of its values known by JSON pointer."""
    labels = Labels()
    siblings: dict[tuple[int, int], list[LabelledRow]] = {}
    for at in walk_record(form, truth):
        if isinstance(at, RecordLeaf):
            labels.leaves.append(LabelledLeaf(at.slot, at.value, list(spans.get(at.pointer, [])), at.row))
        else:
            row = LabelledRow(at.array, at.parent, anchors.get(at.pointer, -1), len(text))
            labels.rows.append(row)
            siblings.setdefault((at.array.index, at.parent), []).append(row)
    # Parents come before their children, so that the end of a row is known before the rows within it.
    for (_, parent), rows in siblings.items():
        for number, row in enumerate(rows, 1):
            after = [other.anchor for other in rows[number:] if other.anchor > row.anchor]
            row.until = min(after, default=labels.rows[parent].until if parent >= 0 else len(text))
    return labels


# Makes labelled passages from unlabelled text: in a line `Key: value` the key becomes a field's name.

# A key has one to four words and begins its line or follows a wide gap. The value ends at the line's end or at the next
# wide gap.
_LINE = re.compile(
    r"(?:^|(?<=\n)|(?<=\t)|(?<=   ))[ ]{0,8}"
    r"(?P<key>[^\W\d_][\w./#'-]*(?: [\w./#'&-]+){0,3}) ?:(?!//)[ \t]*"
    r"(?P<value>\S(?:(?!\s{3,}|\t)[^\n])*)",
)

#: Ways to say which value is not meant.
_NOT = (
    "not the {1}", "The {0}, not the {1}.", "{0}; never the {1}", "Not to be confused with the {1}.",
    "the {0} (not {1})", "{0} other than the {1}", "Do not take the {1}.", "nicht: {1}",
)  # fmt: skip


def find_pairs(text: str) -> list[tuple[str, tuple[int, int]]]:
    """Returns keys and the intervals [start, end) of their values, for keys that occur once in the text."""
    found: dict[str, list[tuple[str, tuple[int, int]]]] = {}
    for m in _LINE.finditer(text):
        start, end = m.span("value")
        while end > start and text[end - 1].isspace():
            end -= 1
        if 1 <= end - start <= 120:
            found.setdefault(m["key"].lower(), []).append((m["key"], (start, end)))
    return [pairs[0] for pairs in found.values() if len(pairs) == 1]


def _head(key: str) -> str:
    """Returns the word that says what a key's value is: the last one."""
    return key.split()[-1]


def _tell_apart(
    properties: dict[str, Any],
    truth: dict[str, str | None],
    spans: dict[str, list[tuple[int, int]]],
    pairs: list[tuple[str, tuple[int, int]]],
    text: str,
    r: random.Random,
) -> None:
    """Adds fields with the head of a key as their title, and a description that says which key is not meant.

    With two keys of one head the other one is meant ("Date": "not the due date", where "Order date:" is printed as
    well); with one, nothing is, or without such a description that one. Keys stand once in the text.
    """
    by_head: dict[str, list[tuple[str, tuple[int, int]]]] = {}
    for pair in pairs:
        by_head.setdefault(_head(pair[0]).lower(), []).append(pair)
    for head, same in r.sample(sorted(by_head.items()), min(len(by_head), 8)):
        if not head.isalpha() or len(head) < 3 or len(same) > 2 or head in properties or r.random() < 0.3:
            continue
        title = _head(same[0][0]).capitalize()
        r.shuffle(same)
        named = [pair for pair in same if pair[0].lower() == head]
        others = [pair for pair in same if pair not in named]
        properties[head] = {"type": ["string", "null"], "title": title}
        way = r.choice(_NOT)
        if named and others:
            # The key that is the title itself, beside another one with the same head.
            meant: tuple[int, int] | None = named[0][1]
            if r.random() < 0.6:
                properties[head]["description"] = way.format(title.lower(), others[0][0])
        elif len(others) == 2:
            meant = others[0][1]
            properties[head]["description"] = way.format(title.lower(), others[1][0])
        elif others and r.random() < 0.3:
            meant = others[0][1]
        elif others:
            meant = None
            properties[head]["description"] = way.format(title.lower(), others[0][0])
        else:
            meant = named[0][1]
            distant = [key for key, _ in pairs if _head(key).lower() != head]
            if distant and r.random() < 0.3:
                properties[head]["description"] = way.format(title.lower(), r.choice(distant))
        truth[head] = None
        if meant is not None:
            spans[f"/{head}"] = [meant]
            truth[head] = " ".join(text[meant[0] : meant[1]].split())


def _moved(text: str, r: random.Random) -> str:
    """Returns the text with one line `Key: value` at its beginning or end, apart from the others."""
    lines = text.split("\n")
    at = [i for i, line in enumerate(lines) if 3 < len(line) < 160 and _LINE.match(line.strip())]
    if len(at) < 2:
        return text
    line = lines.pop(r.choice(at)).strip()
    rest = "\n".join(lines).strip()
    return f"{line}\n\n{rest}\n" if r.random() < 0.5 else f"{rest}\n\n{line}\n"


def _again(pairs: list[tuple[str, tuple[int, int]]], text: str, r: random.Random) -> str:
    """Returns a quoted mail, or a table, in which keys of the text stand again with the values of others."""
    keys = [key for key, _ in r.sample(pairs, min(len(pairs), r.randint(1, 3)))]
    others = [text[start:end] for _, (start, end) in pairs if "\n" not in text[start:end]] or ["none"]
    if r.random() < 0.6:
        begin = r.choice(("On Monday, Ann Lee wrote:", "Am 3. Mai schrieb Jan Vogt:", "-----Original Message-----", ""))
        lines = [f"> {key}: {r.choice(others)}" for key in keys]
        extra = r.choice(("> Hello,", "> Thanks", "> Hallo,", "> see below"))
        lines.insert(r.randint(0, len(lines)), extra)
        return "\n".join(["", "", begin, *lines, ""])
    rows = [[f"{at + 1}", *(r.choice(others)[:24] for _ in keys)] for at in range(r.randint(1, 4))]
    table = [[r.choice(("No.", "Nr.", "#", "Item")), *keys], *rows]
    return "\n\n" + "\n".join("".join(cell.ljust(26) for cell in row).rstrip() for row in table) + "\n"


def mine(text: str, seed: int | str) -> Example | None:
    """Returns a passage with a schema over some of its keys and a few absent ones; None for fewer than two keys.

    All values are texts as printed."""
    r = random.Random(f"mine/{seed}")
    if r.random() < 0.3:
        text = _moved(text, r)
    pairs = find_pairs(text)
    if len(pairs) < 2:
        return None
    if r.random() < 0.4:
        text += _again(pairs, text, r)
    wording = draw_wording(r)
    # At times only the fields that are told apart: among many others they are too few to be learned.
    chosen = [] if r.random() < 0.35 else r.sample(pairs, min(len(pairs), r.randint(2, 12)))
    properties: dict[str, Any] = {}
    truth: dict[str, str | None] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    for key, (start, end) in chosen:
        name = spell(key, wording.style)
        if name in properties:
            continue
        properties[name] = {"type": ["string", "null"]}
        if r.random() < wording.title:
            properties[name]["title"] = key
        truth[name] = " ".join(text[start:end].split())
        spans[f"/{name}"] = [(start, end)]
    _tell_apart(properties, truth, spans, pairs, text, r)
    for _ in range(r.choice((0, 0, 1, 2))):
        name = spell(r.choice(split(common()["rare"]["fields"])).partition(":")[0], wording.style)
        if name not in properties and name.lower() not in text.lower():
            properties[name], truth[name] = {"type": ["string", "null"]}, None
    if not properties:
        return None
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Example(text, schema, truth, spans, {}, "mined")
