"""Mails that want something, under schemas that ask what: classes that no mail prints, in German and English."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.training.pool import TrainingSource
from training.generator.generator import Example
from training.synthetic import labelled_example

_DATA = Path(__file__).with_name("purposes.toml")
_AROUND = "around"
_GREETINGS = {
    "en": ("Hello,", "Dear Sir or Madam,", "Dear team,", "Good morning,", "To whom it may concern,", ""),
    "de": ("Guten Tag,", "Sehr geehrte Damen und Herren,", "Hallo,", "Liebes Team,", "Moin,", ""),
}
_CLOSINGS = {
    "en": ("Kind regards", "Best", "Yours sincerely", "Thanks in advance", ""),
    "de": ("Mit freundlichen Grüßen", "Viele Grüße", "Beste Grüße", "Vielen Dank im Voraus", ""),
}
_NAMES = ("A. Weber", "Jonas Kern", "Mary Holt", "P. Nowak", "Lucia Ferri", "S. Okafor", "H. Brandt", "Olga Reed", "")
_FIELDS = ("kind", "category", "type of mail", "purpose", "Anliegen", "topic", "request_type", "class", "reason")


def purposes() -> dict[str, dict[str, list[str]]]:
    """Returns what writers want, each with `names`, `notes` and sentences by language."""
    return tomllib.loads(_DATA.read_text(encoding="utf-8"))


def mail(data: dict[str, dict[str, list[str]]], r: random.Random) -> Example:
    """Returns a mail with a schema that asks for its purpose among three to seven."""
    language = r.choice(("en", "de"))
    kinds = r.sample([kind for kind in data if kind != _AROUND], r.randint(3, 7))
    true = kinds[0]
    said = r.sample(data[true][language], r.choice((1, 1, 2)))
    sentences = [*said, *r.sample(data[_AROUND][language], r.choice((0, 1, 1, 2, 3)))]
    r.shuffle(sentences)
    parts = (r.choice(_GREETINGS[language]), " ".join(sentences), r.choice(_CLOSINGS[language]), r.choice(_NAMES))
    text = "\n".join(part for part in parts if part) + "\n"
    names = {kind: r.choice(data[kind]["names"]) for kind in kinds}
    r.shuffle(kinds)
    explained = r.random()
    field: dict[str, Any] = {"enum": [*dict.fromkeys(names[kind] for kind in kinds)]}
    notes = {kind: r.choice(data[kind]["notes"]) for kind in kinds}
    if explained < 0.4:
        field["description"] = "; ".join(f"{names[kind]} = {notes[kind]}" for kind in kinds)
    elif explained < 0.6:
        options = [{"const": names[kind], "description": notes[kind]} for kind in kinds]
        field = {"anyOf": [*{one["const"]: one for one in options}.values()]}
    elif explained < 0.8:
        asked = ("What the writer wants.", "Worum es in der Mail geht.", "The reason of the mail.")
        field["description"] = r.choice(asked)
    name = r.choice(_FIELDS)
    schema = {"type": "object", "properties": {name: field}, "required": [name], "additionalProperties": False}
    return Example(text, schema, {name: names[true]}, {}, {}, "purposes")


def purposes_source(wordpieces: WordPieces, count: int, weight: float) -> TrainingSource:
    """Returns so many mails as a source of training windows."""
    data, r = purposes(), random.Random("purposes")
    passages = [labelled_example(mail(data, r), wordpieces) for _ in range(count)]
    return TrainingSource("purposes", weight, passages, shared_schema=False)
