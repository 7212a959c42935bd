"""Draws forms with random labels: a field's name is the only clue to its value."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from training.generator.family import Family, Field, Layout
from training.generator.layout_language import parse
from training.generator.locale import common, split
from training.generator.values import kind_of


def _label(r: random.Random, words: tuple[str, ...], heads: tuple[str, ...]) -> str:
    x = r.random()
    if x < 0.35:
        return r.choice(heads)
    if x < 0.75:
        return f"{r.choice(words)} {r.choice(heads)}"
    if x < 0.9:
        return f"{r.choice(words)} {r.choice(words)}"
    return f"{r.choice(heads)} {r.choice('ABCDXYZ')}{r.choice(('', str(r.randint(1, 9))))}"


def draw_form_family(r: random.Random, base: Family) -> Family:
    """Returns a family of one document: fields with random labels, and a layout that prints some of them."""
    data: dict[str, Any] = dict(base.extra)
    language = r.choice(tuple(data["heads"]))
    heads = split(data["heads"][language])
    words = split(common()["pools"][language]["word"])
    specs = split(data["generators"].replace("¦", "\0"))
    n = r.choice((3, 5, 6, 8, 10, 12, 16, 22))
    labels: dict[str, str] = {}
    while len(labels) < n:
        label = _label(r, words, heads)
        labels.setdefault(label.lower(), label)
    fields: dict[str, Field] = {}
    shown: list[tuple[str, str]] = []
    for i, label in enumerate(labels.values()):
        spec = r.choice(specs).strip().replace("\0", "|")
        path = f"k{i}"
        fields[path] = Field(path, spec, kind_of(spec), (label,), (), 0.0, {}, {})
        fate = r.random()
        if fate < 0.12:
            continue  # asked for, not printed
        if fate < 0.2:
            shown.append((label, ""))  # a label without a value
            continue
        shown.append((label, "{{" + path + "}}"))
    style = r.choice(split(data["styles"]))
    r.shuffle(shown)
    case = r.choice((str, str, str.capitalize, str.upper, str.title))
    out = []
    heading = r.choice(words).capitalize() if r.random() < 0.6 else ""
    if heading:
        out.append(heading.upper() if r.random() < 0.5 else heading)
        out.append("")
    if style == "two":
        for a, b in zip(shown[::2], [*shown[1::2], ("", "")], strict=False):
            out.append(f"{case(a[0])}: {a[1]}{{40}}{case(b[0])}{': ' if b[0] else ''}{b[1]}")
    elif style == "columns":
        for at in range(0, len(shown), 4):
            part = shown[at : at + 4]
            out.append("".join(f"{{{24 * i}}}{case(k)}" if i else case(k) for i, (k, _) in enumerate(part)))
            out.append("".join(f"{{{24 * i}}}{v}" if i else v for i, (_, v) in enumerate(part)))
            out.append("")
    elif style == "running":
        out.append("; ".join(f"{case(a)} {v}" for a, v in shown if v) + ".")
    else:
        for name, v in shown:
            if style == "after":
                out.append(f"{v or '-'} ({case(name)})")
            elif style == "above":
                out += [case(name), v, ""]
            elif style == "below":
                out += [v or "...", case(name), ""]
            elif style == "dots":
                out.append(f"{case(name)} {'.' * max(3, 30 - len(name))} {v}")
            elif style == "table":
                out.append(f"{case(name)}{{28}}{v}")
            elif style == "pipe":
                out.append(f"| {case(name)} | {v} |")
            elif style == "xml":
                tag = name.replace(" ", "_")
                out.append(f"  <{tag}>{v}</{tag}>")
            elif style == "equals":
                out.append(f"{name.replace(' ', '_')}={v}")
            elif style == "quoted":
                out.append(f'  "{name}": "{v}",')
            elif style == "dash":
                out.append(f"- {case(name)} - {v}")
            else:
                out.append(f"{case(name)}: {v}")
            if r.random() < 0.05:
                out.append(r.choice(split(common()["pools"][language]["sentence"])))
    flags = {"page": ""} if style in ("two", "columns", "table", "above", "plain") else {}
    text = "\n".join(out) + "\n"
    layout = Layout(f"{base.name}/{style}", (language,), flags, parse(text), 1.0)
    return replace(base, fields=fields, arrays={}, groups={}, layouts=(layout,), title=heading or "form")
