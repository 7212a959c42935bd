"""Draws random schemas over a family's fields.

A model that sees each family under one schema memorises the family. So fields are left out, renamed, described or not,
nested, flattened, made verbatim, and mixed with fields that the document does not have.
"""

from __future__ import annotations

import random
import re
from typing import Any

from training.generator.family import Container, Family, Field
from training.generator.locale import common, split
from training.generator.schema_hints import add_hints
from training.generator.schema_plan import Plan
from training.generator.wording import Wording, draw_head, draw_wording, spell

TIME = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
DATE_TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$"


def _leaf(r: random.Random, w: Wording, f: Field, used: set[str], prefix: str = "") -> Plan:
    names = tuple(f"{prefix} {n}" for n in f.names) if prefix else f.names
    name, head = draw_head(r, w, names, f.descriptions, used)
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
    add_hints(r, f.kind, plan, head)
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
    """Returns a field that the document does not have; None if it shares a longer word with the family's fields."""
    name, _, note = r.choice(split(common()["rare"]["fields"])).partition(":")
    own = _family_words(family)
    if own & set(re.findall(r"\w{4,}", (name + " " + note).lower())):
        return None
    kind = r.choice(("string", "string", "string", "number", "date", "integer"))
    f = Field("", "x", kind, (name,), (note,) if note else (), 1.0, {}, {})
    return _leaf(r, w, f, used)


def _decoys(r: random.Random, family: Family, within: str, share: float, most: int) -> list[Field]:
    """Returns decoys: fields that this family's documents never have but that resemble printed ones.

    within: the path of an array, or "" outside of arrays.
    """
    known = [f for p, f in family.decoys.items() if p.rpartition("[]")[0] == within]
    if not known or r.random() >= share:
        return []
    return r.sample(known, min(len(known), r.randint(1, most)))


def _family_words(family: Family) -> set[str]:
    """Returns the longer words in the names of a family's fields."""
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
    """Returns the plan of a random schema over some of the family's fields."""
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
    # With meaningless names only the enclosing object distinguishes one party's field from another's.
    flatten = r.random() < 0.3 and not w.opaque
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
        name, head = draw_head(r, w, c.names, c.descriptions, used)
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
    name, head = draw_head(r, w, c.names, c.descriptions, used)
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
