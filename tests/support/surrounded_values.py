"""Values as a model read them, with what their surroundings make of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cinnabar.engine.request import Filled, Leaf, Origin
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.passages import locale_of
from cinnabar.extraction.filling.surroundings.surroundings import read_surroundings
from cinnabar.schemas.compiling.compile import compile_schema

#: The confidence of each value before its surroundings are read.
SURE = 0.97


def surrounded(
    fields: Mapping[str, Mapping[str, Any]], text: str, values: Mapping[str, Any], words: Mapping[str, str]
) -> dict[str, tuple[Any, float, tuple[str, ...]]]:
    """Returns the value, confidence and flags of each field after a look at what stands beside its `words` in the text.

    `values` are what a model read, `words` the text behind each; a field without words was chosen.
    """
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    form = compile_schema(schema).form
    leaves = {}
    for slot in form.slots:
        name = slot.path[1:]
        at = text.find(words[name]) if name in words else -1
        spans = ((at, at + len(words[name])),) if at >= 0 else ()
        origin: Origin = "absent" if values[name] is None else "copied" if spans else "chosen"
        leaves[slot.path] = Leaf(json.dumps(values[name], ensure_ascii=False), SURE, spans, origin, slot=slot.index)
    filled = Filled("", {name: values[name] for name in fields}, leaves, {}, 1, 0)
    document = parse(text.encode(), "page.txt")
    read = read_surroundings(form, filled, document, locale_of(document))
    found = json.loads(read.record)
    return {name: (found[name], read.leaves[f"/{name}"].confidence, read.leaves[f"/{name}"].flags) for name in fields}


def one_value(field: Mapping[str, Any], text: str, value: Any, words: str = "", name: str = "value") -> Any:
    """Returns the value of one field after the look, None for none; a value in doubt is a text that ends with ?."""
    found, sure, _ = surrounded({name: field}, text, {name: value}, {name: words} if words else {})[name]
    return f"{found}?" if sure < 0.5 else found
