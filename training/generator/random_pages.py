"""Draws pages of labels and values in many languages with mostly English names in the schema.

Random forms teach the model to match a label without meaning and to read the place after it. These pages teach the
same with labels that have a meaning: the schema says `delivery_point`, the page says "Zählpunkt".
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from training.generator.family import Family, Field, load_family
from training.generator.locale import common, split
from training.generator.random_sections import around, draw_blocks, field_of, layout_of

#: The shares of fields that are not printed, of labels without a value, of labels that no field asks for, and of pages
#: with blocks of parties.
_UNPRINTED, _EMPTY, _UNASKED, _PARTIES = 0.12, 0.06, 0.2, 0.35
#: The arrangements of the labels and values of a part.
STYLES = (
    "lines", "lines", "even", "even", "strip", "strip", "two", "above", "dots", "running", "table",
)  # fmt: skip
_Words = Mapping[str, Any]
#: A label and the printing of its value.
_Line = tuple[str, str]


def draw_page_family(r: random.Random, base: Family) -> Family:
    """Returns a family of one document: concepts of an area as fields, and a page that prints most of them."""
    concepts: Mapping[str, _Words] = base.extra["concepts"]
    language = r.choice(("en", "en", "de", "de", "fr", "fr", "es", "it", "nl", "pt", "pl"))
    areas = r.sample(sorted({words["area"] for words in concepts.values()}), r.choice((1, 1, 2)))
    known = [name for name, words in concepts.items() if words["area"] in areas]
    fields: dict[str, Field] = {}
    lines: list[_Line] = []
    used: set[str] = set()
    for at, name in enumerate(r.sample(known, min(len(known), r.choice((4, 6, 8, 10, 12, 16))))):
        words, path = concepts[name], f"k{at}"
        label = r.choice(split(words[language]))
        if label.lower() in used:
            continue  # in another area it means something else
        used.add(label.lower())
        field = field_of(r, path, words, 0.0)
        fate = r.random()
        if fate < _UNASKED and fields:
            lines.append((label, "{{=" + field.spec.partition("|")[0] + "}}"))
            continue
        if r.random() < 0.15:
            field = replace(field, names=(label.lower(), *field.names))
        fields[path] = field
        if _UNASKED < fate < _UNASKED + _UNPRINTED:
            continue
        lines.append((label, "" if r.random() < _EMPTY else "{{" + path + "}}"))
    body = _sections(r, lines, language)
    groups = {}
    if language not in ("pt", "pl") and r.random() < _PARTIES:
        blocks = draw_blocks(r, load_family("random_sections").extra, language)
        fields |= blocks.fields
        groups = blocks.groups
        body.insert(r.randint(0, len(body)), blocks.lines)
    page = [x for part in body for x in (*part, *(around(r, language, 2) if r.random() < 0.3 else ()), "")]
    layout = layout_of(r, f"{base.name}/{language}", language, [*around(r, language, 4), "", *page])
    return replace(base, fields=fields, arrays={}, groups=groups, layouts=(layout,), title="page")


def _sections(r: random.Random, lines: Sequence[_Line], language: str) -> list[list[str]]:
    """Returns the lines in several parts in random order, each part in a style of its own."""
    rest = list(lines)
    r.shuffle(rest)
    parts = []
    case = r.choice((str, str, str, str.upper))
    while rest:
        size = r.choice((2, 3, 4, 5, 8))
        part, rest = [(case(k), v) for k, v in rest[:size]], rest[size:]
        heading = r.choice(split(common()["pools"][language]["word"])).capitalize()
        parts.append([*([heading.upper()] if r.random() < 0.2 else []), *_styled(r, part)])
    return parts


def _styled(r: random.Random, part: Sequence[_Line]) -> list[str]:
    style = r.choice(STYLES)
    if style == "strip":
        wide = max(r.choice((16, 20, 26)), 2 + max(len(k) for k, _ in part))
        at = [f"{{{wide * i}}}" if i else "" for i in range(len(part))]
        heads = "".join(a + k for a, (k, _) in zip(at, part, strict=True))
        return [heads, "".join(a + v for a, (_, v) in zip(at, part, strict=True))]
    if style == "two":
        pairs = zip(part[::2], [*part[1::2], ("", "")], strict=False)
        return [f"{a}: {x}{{48}}{b}{': ' if b else ''}{y}" for (a, x), (b, y) in pairs]
    if style == "above":
        return [line for k, v in part for line in (k, v, "")]
    if style == "running":
        return ["; ".join(f"{k} {v}" for k, v in part if v) + "."]
    if style == "even":
        wide = 3 + max(len(k) for k, _ in part)
        colon = r.choice((":", "", " :"))
        return [f"{k}{colon}{{{wide}}}{v}" for k, v in part]
    if style == "dots":
        return [f"{k} {'.' * max(3, 34 - len(k))} {v}" for k, v in part]
    if style == "table":
        return [f"| {k} | {v} |" for k, v in part]
    colon = r.choice((": ", ": ", " ", " - ", " : "))
    return [f"{k}{colon}{v}" for k, v in part]
