"""Schemas at random over a family's fields, and the record that a drawn document has under such a schema.

A model that sees each family under one schema learns the family; so fields are left out, renamed,
described or not, nested, flattened, made verbatim, and mixed with fields that the document does not have.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

from cinnabar.engine.training.drawing import Drawing
from cinnabar.engine.training.family import Container, Family, Field, load
from cinnabar.engine.training.locale import common, split
from cinnabar.engine.training.printing import ascii_fold

TIME = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
DATE_TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$"


@dataclass(slots=True)
class Plan:
    """A node of a schema to be: `path` is the field's or array's template, "" for an object or an unknown
    field.

    `choices` maps an option to the name it has in this schema. `verbatim` leaves hold the text as printed.
    `fallback` is a field that stands in where this one is not printed, by the library model's own definition.
    """

    kind: str
    name: str
    path: str = ""
    children: list[Plan] = field(default_factory=list)
    schema: dict[str, Any] = field(default_factory=dict)
    verbatim: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    required: bool = True
    fallback: str = ""


# --- names
# ---------------------------------------------------------------------------------------------------


def spell(words: str, style: str) -> str:
    """A name of a property in one of the usual spellings."""
    folded = ascii_fold(words) if style != "spaces" else words
    parts = [w for w in re.split(r"[^\w]+", folded) if w] or ["field"]
    if style == "camel":
        return parts[0].lower() + "".join(p.capitalize() for p in parts[1:])
    if style == "pascal":
        return "".join(p.capitalize() for p in parts)
    if style == "kebab":
        return "-".join(p.lower() for p in parts)
    if style == "upper":
        return "_".join(p.upper() for p in parts)
    if style == "spaces":
        return " ".join(parts)
    return "_".join(p.lower() for p in parts)


@dataclass(frozen=True, slots=True)
class Wording:
    """How a schema speaks: the spelling of names, and the shares of synonyms, titles and descriptions."""

    style: str
    synonyms: float
    title: float
    description: float
    opaque: bool
    optional: bool


def draw_wording(r: random.Random) -> Wording:
    """A way to word a schema; some have names alone, some only descriptions under names that say nothing."""
    style = r.choice(("snake",) * 5 + ("camel",) * 3 + ("pascal", "kebab", "upper", "spaces"))
    opaque = r.random() < 0.05
    if opaque:
        return Wording(style, 0.5, 0.5, 1.0, True, False)
    synonyms = r.choice((0.0, 0.3, 0.7, 1.0))
    title, description = r.choice(((0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5), (0.3, 0.8)))
    return Wording(style, synonyms, title, description, False, r.random() < 0.25)


def _head(
    r: random.Random, w: Wording, names: Sequence[str], notes: Sequence[str], used: set[str]
) -> tuple[str, dict[str, Any]]:
    words = r.choice(names) if r.random() < w.synonyms else names[0]
    described = bool(notes) and r.random() < w.description
    name = spell(words, w.style)
    if w.opaque and described:
        name = f"{r.choice(('f', 'field_', 'col', 'x'))}{len(used) + 1}"
    base, k = name, 2
    while name in used:
        name, k = f"{base}_{k}", k + 1
    used.add(name)
    head: dict[str, Any] = {}
    if r.random() < w.title and not (w.opaque and described):
        title = r.choice(names) if r.random() < 0.5 else words
        head["title"] = title[:1].upper() + title[1:]
    if described:
        head["description"] = r.choice(notes)
    return name, head


# --- building
# ------------------------------------------------------------------------------------------------


def _leaf(r: random.Random, w: Wording, f: Field, used: set[str], prefix: str = "") -> Plan:
    names = tuple(f"{prefix} {n}" for n in f.names) if prefix else f.names
    name, head = _head(r, w, names, f.descriptions, used)
    plan = Plan("leaf", name, f.path)
    schema: dict[str, Any]
    nullable = not w.optional or r.random() < 0.3
    if f.kind == "enum":
        upper = r.random() < 0.15
        plan.choices = {o: (o.upper() if upper else o) for o in f.options}
        notes = {plan.choices[o]: d for o, d in f.options.items() if d}
        if notes and r.random() < 0.4:
            schema = {"oneOf": [{"const": o, "description": notes.get(o, "")} for o in plan.choices.values()]}
            if nullable:
                schema["oneOf"].append({"type": "null"})
            plan.schema, plan.required = head | schema, not w.optional
            return plan
        if notes and r.random() < 0.8:
            said = "; ".join(f"{o}{r.choice((': ', ' = '))}{d}" for o, d in notes.items())
            head["description"] = (head.get("description", "") + " " + said).strip()
        schema = {"type": "string", "enum": list(plan.choices.values())}
    elif (f.kind in ("date", "time", "date-time") and r.random() < 0.06) or (
        f.kind == "number" and r.random() < 0.03
    ):
        plan.verbatim = True
        head["description"] = (
            head.get("description", "")
            + r.choice(
                (" As printed.", " (as written in the document)", " Exactly as it stands.", " Verbatim.")
            )
        ).strip()
        schema = {"type": "string"}
    else:
        schema = dict(_SCALARS.get(f.kind, {"type": "string"}))
        if f.kind == "email" and r.random() < 0.5:
            schema = {"type": "string"}
    if nullable:
        if "enum" in schema:
            schema = (
                {"enum": [*schema["enum"], None]}
                if r.random() < 0.5
                else {"anyOf": [schema, {"type": "null"}]}
            )
        elif r.random() < 0.5:
            schema = {"anyOf": [schema, {"type": "null"}]}
        else:
            schema = schema | {"type": [schema["type"], "null"]}
    plan.schema, plan.required = head | schema, not w.optional
    return plan


_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "email": {"type": "string", "format": "email"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "pattern": TIME},
    "date-time": {"type": "string", "pattern": DATE_TIME},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
    "country": {"type": "string", "pattern": "^[A-Z]{2}$"},
    "compact": {"type": "string"},
}


def _rare(r: random.Random, w: Wording, family: Family, used: set[str]) -> Plan | None:
    """A field that the document does not have, unlike any of the family's in its words."""
    name, _, note = r.choice(split(common()["rare"]["fields"])).partition(":")
    own = _family_words(family)
    if own & set(re.findall(r"\w{4,}", (name + " " + note).lower())):
        return None
    kind = r.choice(("string", "string", "string", "number", "date", "integer"))
    f = Field("", "x", kind, (name,), (note,) if note else (), 1.0, {}, {})
    return _leaf(r, w, f, used)


def _decoys(r: random.Random, family: Family, within: str, share: float, most: int) -> list[Field]:
    """Fields that documents of this family never have, near to what is printed; `within` an array's path."""
    known = [f for p, f in family.decoys.items() if p.rpartition("[]")[0] == within]
    if not known or r.random() >= share:
        return []
    return r.sample(known, min(len(known), r.randint(1, most)))


def _family_words(family: Family) -> set[str]:
    """The longer words in a family's names of fields."""
    known = _WORDS.get(family.name)
    if known is None or family.generic:
        known = {
            x
            for f in family.fields.values()
            for n in (*f.names, f.path)
            for x in re.findall(r"[^\W_]{4,}", n.lower())
        }
        _WORDS[family.name] = known
    return known


_WORDS: dict[str, set[str]] = {}


def draw_plan(r: random.Random, family: Family) -> Plan:
    """A random schema over some of the family's fields."""
    w = draw_wording(r)
    fields = [f for f in family.fields.values() if not f.hidden]
    top = [f for f in fields if "[]" not in f.path]
    arrays = [a for a in family.arrays if "[]" not in a]
    if r.random() < 0.75:
        keep = max(1, round(len(top) * r.uniform(0.2, 1)))
        top = r.sample(top, min(keep, len(top)))
        arrays = [a for a in arrays if r.random() < 0.6] if top else arrays
    decoys = _decoys(r, family, "", 0.5, 3)
    top = [*top, *decoys]
    if decoys or r.random() < 0.3:
        r.shuffle(top)
    used: set[str] = set()
    root = Plan("object", "")
    flatten = r.random() < 0.3
    groups: dict[str, list[Field]] = {}
    for f in top:
        group = f.path.rpartition(".")[0]
        if not group:
            root.children.append(_leaf(r, w, f, used))
        elif flatten:
            words = (
                family.groups[group].names[0]
                if group in family.groups
                else group.replace(".", " ").replace("_", " ")
            )
            root.children.append(_leaf(r, w, f, used, words))
        else:
            groups.setdefault(group, []).append(f)
    for group, members in groups.items():
        c = family.groups.get(group) or Container(group, (group.rpartition(".")[2].replace("_", " "),), ())
        name, head = _head(r, w, c.names, c.descriptions, used)
        inner: set[str] = set()
        node = Plan("object", name, schema=head, children=[_leaf(r, w, f, inner) for f in members])
        root.children.append(node)
    for a in arrays:
        root.children.append(_array(r, w, family, a, fields, used))
    if r.random() < 0.35:
        for _ in range(r.choice((1, 1, 2, 3))):
            extra = _rare(r, w, family, used)
            if extra is not None:
                root.children.insert(r.randint(0, len(root.children)), extra)
    leaves = [c for c in root.children if c.kind == "leaf"]
    if len(leaves) > 4 and r.random() < 0.15:
        name = spell(r.choice(("details", "header", "document", "meta", "data", "Angaben", "info")), w.style)
        if name not in used:
            moved = leaves[: r.randint(2, len(leaves))]
            root.children = [c for c in root.children if c not in moved]
            root.children.insert(0, Plan("object", name, children=moved))
    if r.random() < 0.5:
        root.schema["title"] = r.choice((family.title, spell(family.title, "pascal"), "Record", "Document"))
    return root


def _array(
    r: random.Random, w: Wording, family: Family, path: str, fields: list[Field], used: set[str]
) -> Plan:
    c = family.arrays[path]
    name, head = _head(r, w, c.names, c.descriptions, used)
    inside = [f for f in fields if f.path.startswith(path + "[]")]
    plan = Plan("array", name, path, schema=head)
    scalar = next((f for f in inside if f.path == path + "[]"), None)
    direct = [f for f in inside if f.path.startswith(path + "[].") and "[]" not in f.path[len(path) + 2 :]]
    deeper = [a for a in family.arrays if a.startswith(path + "[].") and "[]" not in a[len(path) + 2 :]]
    if scalar is not None:
        item = _leaf(r, Wording(w.style, 0, 0, 0, False, False), scalar, set())
        item.schema = {k: v for k, v in item.schema.items() if k not in ("title", "description")}
        item.schema = _not_null(item.schema)
        plan.children = [item]
        return plan
    if direct and not deeper and r.random() < 0.08:
        f = direct[0]
        item = _leaf(r, Wording(w.style, 0, 0, 0, False, False), f, set())
        plan.schema.setdefault("description", f"{f.names[0]} of each")
        plan.children = [item]
        return plan
    if len(direct) > 1 and r.random() < 0.4:
        direct = [f for f in direct if r.random() < 0.7] or direct[:1]
    for decoy in _decoys(r, family, path, 0.4, 2):
        direct.insert(r.randint(0, len(direct)), decoy)
    inner: set[str] = set()
    item = Plan("object", "", children=[_leaf(r, w, f, inner) for f in direct])
    item.children += [_array(r, w, family, a, fields, inner) for a in deeper]
    plan.children = [item]
    return plan


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return dict(schema["anyOf"][0])
    if isinstance(schema.get("type"), list):
        return schema | {"type": schema["type"][0]}
    if "enum" in schema:
        return schema | {"enum": [x for x in schema["enum"] if x is not None]}
    return schema


def to_schema(plan: Plan) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a plan."""
    if plan.kind == "leaf":
        return plan.schema
    if plan.kind == "array":
        return plan.schema | {"type": "array", "items": to_schema(plan.children[0])}
    return plan.schema | {
        "type": "object",
        "properties": {c.name: to_schema(c) for c in plan.children},
        "required": [c.name for c in plan.children if c.required],
        "additionalProperties": False,
    }


# --- library
# -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def library_plan(reference: str, family_name: str) -> tuple[Plan, dict[str, Any]]:
    """The plan and JSON Schema of one of the project's own models (`module:Class`); paths are the same as the
    family's fields."""
    module, _, name = reference.partition(":")
    model = getattr(import_module(module), name)
    schema: dict[str, Any] = model.model_json_schema()
    return _from_schema(schema, schema, "", "", load(family_name)), schema


def _resolve(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        at: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        schema = at
    return schema


def _from_schema(schema: dict[str, Any], root: dict[str, Any], path: str, name: str, family: Family) -> Plan:
    schema = _resolve(schema, root)
    branches = [_resolve(b, root) for b in schema.get("anyOf", ())]
    core = next((b for b in branches if b.get("type") != "null"), schema)
    if core.get("type") == "object":
        children = [
            _from_schema(s, root, f"{path}.{key}" if path else key, key, family)
            for key, s in core.get("properties", {}).items()
        ]
        return Plan("object", name, children=children)
    if core.get("type") == "array":
        return Plan(
            "array",
            name,
            path if path in family.arrays else "",
            [_from_schema(core["items"], root, path + "[]", "", family)],
        )
    f = family.fields.get(path)
    plan = Plan("leaf", name, path if f is not None else "")
    plan.fallback = family.extra.get("fallback", {}).get(path, "")
    if f is not None and f.kind == "enum":
        plan.choices = {o: o for o in f.options}
    return plan


# --- truth
# ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Record:
    """A document's record under a plan: truth, spans and rows by JSON pointer, and values printed in
    pieces."""

    truth: Any
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Source:
    """What a record is made from: the drawing, its text, the intervals of printings, and what is in
    pieces."""

    drawing: Drawing
    text: str
    spans: Mapping[str, list[tuple[int, int]]]
    broken: set[str]
    row_starts: Mapping[str, int]


def make_record(plan: Plan, source: Source) -> Record:
    """The record that the printed document has under this plan."""
    record = Record(None)
    record.truth = _truth(plan, source, (), "", record)
    return record


def _concrete(path: str, indices: tuple[int, ...]) -> str:
    for i in indices:
        path = path.replace("[]", f"[{i}]", 1)
    return path


def _pointer(parent: str, key: str) -> str:
    return f"{parent}/{key.replace('~', '~0').replace('/', '~1')}"


def _truth(plan: Plan, s: Source, indices: tuple[int, ...], pointer: str, record: Record) -> Any:
    if plan.kind == "object":
        out = {}
        for c in plan.children:
            value = _truth(c, s, indices, _pointer(pointer, c.name), record)
            if value is None and not c.required:
                continue
            out[c.name] = value
        return out
    if plan.kind == "array":
        if not plan.path:
            return []
        path = _concrete(plan.path, indices)
        items: list[Any] = []
        for i in range(s.drawing.rows.get(path, 0)):
            inner = f"{pointer}/{len(items)}"
            value = _truth(plan.children[0], s, (*indices, i), inner, record)
            if f"{path}[{i}]" in s.row_starts:
                record.rows[inner] = s.row_starts[f"{path}[{i}]"]
            items.append(value)
        return items
    if not plan.path:
        return None
    return _leaf_truth(plan, s, _concrete(plan.path, indices), pointer, record)


def _leaf_truth(plan: Plan, s: Source, path: str, pointer: str, record: Record) -> Any:
    found = s.spans.get(path)
    if found is None and plan.fallback and path not in s.drawing.told:
        path = _concrete(plan.fallback, ())
        found = s.spans.get(path)
    if found is None:
        if path not in s.drawing.told:
            return None
        value = s.drawing.value(path)
        return plan.choices.get(value.raw, value.truth) if plan.choices else value.truth
    value = s.drawing.value(path)
    pieces = path in s.broken
    if pieces:
        record.broken.add(pointer)
    if plan.choices:
        record.spans[pointer] = found
        return plan.choices.get(value.raw, value.raw)
    if value.kind == "compact":
        record.spans[pointer] = found
        return "".join("".join(s.text[a:b].split()) for a, b in (found if pieces else found[:1]))
    if value.kind not in ("string", "email") and not plan.verbatim:
        record.spans[pointer] = found
        return value.truth
    texts = [" ".join(s.text[a:b].split()) for a, b in found]
    if s.text.startswith("> "):
        texts = [re.sub(r" ?> ", " ", t) for t in texts]
    if pieces:
        record.spans[pointer] = found
        return " ".join(texts)
    record.spans[pointer] = [span for span, t in zip(found, texts, strict=True) if t == texts[0]]
    return texts[0]
