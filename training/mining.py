"""Makes labelled passages from unlabelled text: in a line `Key: value` the key becomes a field's name."""

from __future__ import annotations

import random
import re
from typing import Any

from training.generator.generator import Example
from training.generator.locale import common, split
from training.generator.wording import draw_wording, spell

# A key has one to four words and begins its line or follows a wide gap. The value ends at the line's end or at the next
# wide gap.
_LINE = re.compile(
    r"(?:^|(?<=\n)|(?<=\t)|(?<=   ))[ ]{0,8}"
    r"(?P<key>[^\W\d_][\w./#'-]*(?: [\w./#'&-]+){0,3}) ?:(?!//)[ \t]*"
    r"(?P<value>\S(?:(?!\s{3,}|\t)[^\n])*)",
)


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


def mine(text: str, seed: int | str) -> Example | None:
    """Returns a passage with a schema over some of its keys and a few absent ones; None for fewer than two keys.

    All values are texts as printed."""
    r = random.Random(f"mine/{seed}")
    pairs = find_pairs(text)
    if len(pairs) < 2:
        return None
    wording = draw_wording(r)
    chosen = r.sample(pairs, min(len(pairs), r.randint(2, 12)))
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
    for _ in range(r.choice((0, 0, 1, 2))):
        name = spell(r.choice(split(common()["rare"]["fields"])).partition(":")[0], wording.style)
        if name not in properties and name.lower() not in text.lower():
            properties[name], truth[name] = {"type": ["string", "null"]}, None
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Example(text, schema, truth, spans, {}, "mined")
