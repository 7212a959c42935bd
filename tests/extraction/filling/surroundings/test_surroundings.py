"""A record and its values say the same after a look at what stands beside them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cases import each

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Filled, Leaf
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.surroundings.surroundings import read_surroundings
from cinnabar.schemas.compiling.compile import compile_schema

METRES = {"type": "number", "description": "Depth in metres."}
LEAKING = {"type": "boolean", "description": "Whether it leaks."}
DEPTHS = {"depths": {"type": "array", "items": METRES}}
ROOF = {"roof": {"type": "object", "properties": {"leaking": LEAKING}}}


@each(
    "fields,pointer,value,text,words,record,told",
    [
        (DEPTHS, "/depths/0", "350", "Depth: 350 cm", "350", {"depths": [3.5]}, "3.5"),
        ({"depth": METRES | {"maximum": 1000}}, "/depth", "350", "Depth: 350 km", "350", {"depth": 350}, "350"),
        (ROOF, "/roof/leaking", None, "Leaking: no", "", {}, None),
    ],
)
def test_a_value_is_written_in_the_record_or_stays(
    fields: dict[str, Any], pointer: str, value: str | None, text: str, words: str, record: Any, told: str | None
) -> None:
    form = compile_schema({"type": "object", "properties": fields}).form
    at = text.find(words) if words else -1
    leaf = Leaf(value, 0.97, ((at, at + len(words)),) if words else (), "copied" if words else "absent", slot=0)
    before = {"depths": [350]} if pointer.count("/") > 1 and words else {"depth": 350} if words else {}
    filled = Filled("", before, {pointer: leaf}, {}, 1, 0)
    read = read_surroundings(form, filled, parse(text.encode(), "page.txt"), Locale())
    assert json.loads(read.record) == record
    assert read.leaves[pointer].text == told
    assert read.leaves[pointer].flags and read.leaves[pointer].confidence < 0.9
