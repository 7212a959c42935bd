"""Draws documents with a block for each of several parties; only a block's heading names its party."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from training.generator.family import Container, Family, Field, Layout
from training.generator.layout_language import parse
from training.generator.locale import common, split
from training.generator.values import kind_of

#: The parts of an address; in a block of that style they have no label.
ADDRESS = ("name", "contact", "street", "postcode", "city")
#: The shares of blocks that lack a part, and of documents that ask for a party that they do not have.
LACKING, MISSING = 0.15, 0.4
_Words = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Block:
    """One party: the group of its fields, its heading, and its printed parts with their labels."""

    group: str
    heading: str
    parts: Mapping[str, str]

    def field(self, part: str) -> str:
        return "{{" + f"{self.group}.{part}" + "}}"


@dataclass(frozen=True, slots=True)
class Blocks:
    """The fields of several parties by path, their groups, and the lines that print them."""

    fields: dict[str, Field]
    groups: dict[str, Container]
    lines: list[str]


def draw_section_family(r: random.Random, base: Family) -> Family:
    """Returns a family of one document: parties as groups of fields, and a layout that prints a block for each."""
    language = r.choice(("en", "en", "en", "de", "de", "fr", "fr", "es", "it", "nl"))
    blocks = draw_blocks(r, base.extra, language)
    lines = [*around(r, language, 6), "", *blocks.lines, "", *around(r, language, 5)]
    layout = layout_of(r, f"{base.name}/{language}", language, lines)
    return replace(
        base, fields=blocks.fields, arrays={}, groups=blocks.groups, layouts=(layout,), title="parties"
    )


def draw_blocks(r: random.Random, data: Mapping[str, Any], language: str) -> Blocks:
    """Returns blocks of two to five parties in random order; one party may be asked for and not printed."""
    roles = _roles(r, data["roles"], language)
    parts: dict[str, _Words] = {"name": data["parts"]["name"]}
    more = [p for p in data["parts"] if p != "name"]
    parts |= {p: data["parts"][p] for p in more if r.random() < (0.75 if p in ADDRESS else 0.25)}
    labels = {p: r.choice(split(words[language])) for p, words in parts.items()}
    case = r.choice((str, str, str, str.upper, str.title))
    fields: dict[str, Field] = {}
    groups: dict[str, Container] = {}
    blocks: list[_Block] = []
    for at, (role, words) in enumerate(roles.items()):
        group = f"g{at}"
        heading, names, notes = _called(r, role, words, language)
        groups[group] = Container(group, names, notes)
        for part, said in parts.items():
            path = f"{group}.{part}"
            fields[path] = field_of(r, path, said, LACKING)
        blocks.append(_Block(group, case(heading), labels))
    if len(blocks) > 2 and r.random() < MISSING:
        blocks.pop(r.randrange(len(blocks)))  # asked for, not printed
    r.shuffle(blocks)
    body = _body(r, blocks, r.choice(split(data["styles"])), r.choice(split(data["arrangements"])))
    return Blocks(fields, groups, body)


def layout_of(r: random.Random, name: str, language: str, lines: Sequence[str]) -> Layout:
    """Returns these lines as a layout, mostly with boxes on the page."""
    flags = {"page": ""} if r.random() < 0.7 else {}
    return Layout(name, (language,), flags, parse(_text(lines)), 1.0)


def _text(lines: Sequence[str]) -> str:
    """Returns the layout's text: a line of one value vanishes with it, except for the last line of a column."""
    out = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        alone = line.startswith("[[") and line.endswith("]]") and line.count("[[") == 1
        out.append(f"{line[:-2]}\n]]" if alone and not after.startswith("@") else f"{line}\n")
    return "".join(out)


def _roles(r: random.Random, roles: Mapping[str, _Words], language: str) -> dict[str, _Words]:
    """Returns two to five parties with words in this language, mostly parties that occur together in documents."""
    roles = {name: words for name, words in roles.items() if language in words}
    if r.random() < 0.75:
        world = r.choice(sorted({w for words in roles.values() for w in split(words["world"])}))
        known = [name for name, words in roles.items() if world in split(words["world"])]
    else:
        known = list(roles)
    return {name: roles[name] for name in r.sample(known, min(len(known), r.randint(2, 5)))}


def _called(
    r: random.Random, role: str, words: _Words, language: str
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Returns a party's heading, and its names and descriptions in the schema."""
    heading = r.choice(split(words[language]))
    if r.random() < 0.2:
        # The heading is a random word that the model cannot have memorised; the schema has the same word.
        word = r.choice(split(common()["pools"][language]["word"]))
        return f"{heading} {word}", (f"{role} {word}",), ()
    names = split(words["names"])
    first = heading.lower() if r.random() < 0.25 else names[0]
    return heading, tuple(dict.fromkeys((first, *names))), tuple(split(words["d"]))


def field_of(r: random.Random, path: str, said: _Words, absent: float) -> Field:
    """Returns a field with a generator, names and descriptions from the given words."""
    spec = r.choice(split(said["v"].replace("¦", "\0"))).replace("\0", "|")
    names, notes = split(said["names"]), split(said["d"])
    return Field(path, spec, kind_of(spec), tuple(names), tuple(notes), absent, {}, {})


def around(r: random.Random, language: str, most: int) -> list[str]:
    """Returns lines above or below the blocks that belong to no party."""
    pools = common()["pools"][language]
    lines = []
    for _ in range(r.randint(0, most)):
        words = " ".join(r.choice(split(pools["word"])) for _ in range(r.randint(1, 3)))
        lines.append(
            r.choice((
                words.upper(), words.capitalize(), f"{words.capitalize()}: {{{{=code ####-##}}}}",
                f"{words.capitalize()}{{30}}{{{{=date}}}}", "{{=sentence}}", "{{=company}}", "{{=address}}",
                f"{words.capitalize()}: {{{{=money 10 9000|cur}}}}", "{{=person}}, {{=phone}}", "",
            ))
        )  # fmt: skip
    return lines


def _body(r: random.Random, blocks: Sequence[_Block], style: str, arrangement: str) -> list[str]:
    if style == "matrix":
        return _matrix(blocks)
    width = r.choice((14, 18, 24, 0))
    joint = r.choice((":", ":", "", " -"))
    underline = r.choice(("", "", "", "-", "="))
    end = r.choice(("", "", ":"))
    printed = [_printed(block, style, width, joint) for block in blocks]
    if style not in ("inline", "prefixed"):
        printed = [
            [block.heading + end, *([underline * len(block.heading)] if underline else []), *lines]
            for block, lines in zip(blocks, printed, strict=True)
        ]
    gap = [""] if r.random() < 0.8 else []
    if arrangement == "beside" and style not in ("inline", "prefixed"):
        columns = r.choice((44, 52, 60))
        pairs = zip(printed[::2], [*printed[1::2], []], strict=False)
        return [
            line for a, b in pairs for line in (f"@columns {columns}", *a, "@col", *(b or [""]), "@end", *gap)
        ]
    return [line for lines in printed for line in (*lines, *gap)]


def _printed(block: _Block, style: str, width: int, joint: str) -> list[str]:
    """Returns a block's lines below its heading."""
    if style == "inline":
        shown = [block.field(p) for p in block.parts if p in ADDRESS]
        return [f"{block.heading}:" + "".join(f"[[{',' if i else ''} {x}]]" for i, x in enumerate(shown))]
    before = f"{block.heading} " if style == "prefixed" else ""
    gap = f"{{{width + len(before)}}}" if width else " "
    lines = []
    at = list(block.parts)
    if style in ("address", "mixed"):
        lines = _address(block, style == "mixed")
        at = [p for p in at if p not in ADDRESS]
    for part in at:
        label = before + block.parts[part]
        wide = gap if width and len(label) + len(joint) < width + len(before) else " "
        lines.append(f"[[{label}{joint}{wide}{block.field(part)}]]")
    return lines


def _address(block: _Block, joined: bool) -> list[str]:
    """Returns name, street and town without labels, as on an envelope."""
    have = [p for p in ADDRESS if p in block.parts]
    town = " ".join(f"[[{block.field(p)}]]" for p in have if p in ("postcode", "city"))
    lines = [f"[[{block.field(p)}]]" for p in have if p not in ("postcode", "city")]
    return [", ".join([*lines, town] if town else lines)] if joined else [*lines, *([town] if town else [])]


def _matrix(blocks: Sequence[_Block]) -> list[str]:
    """Returns a table with a column for each party and a line for each part."""
    at = [20 + 30 * i for i in range(len(blocks))]
    lines = ["".join(f"{{{x}}}{b.heading}" for x, b in zip(at, blocks, strict=True))]
    for part, label in blocks[0].parts.items():
        cells = "".join(f"{{{x}}}[[{b.field(part)}]]" for x, b in zip(at, blocks, strict=True))
        lines.append(label + cells)
    return lines
