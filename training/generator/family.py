"""Loads a family of documents from the data in its folder: fields, labels, pools and layouts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from training.generator.layout_language import Node, parse
from training.generator.locale import FAMILIES_FOLDER, locales, split
from training.generator.values import kind_of


@dataclass(frozen=True, slots=True)
class Field:
    """One field: `path` has `[]` for an array index (`items[].amount`); hidden fields (`_x`) are in no schema.

    The value of a `told` field follows from the words of every layout, without being printed."""

    path: str
    spec: str
    kind: str
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    absent: float
    options: Mapping[str, str]
    prints: Mapping[str, Mapping[str, str]]
    told: bool = False

    @property
    def hidden(self) -> bool:
        return self.path.rpartition(".")[2].startswith("_")


@dataclass(frozen=True, slots=True)
class Container:
    """A group of fields, or an array with its range of item counts; its items ascend by the field `sort`."""

    path: str
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    absent: float = 0.0
    count: tuple[int, int] = (0, 0)
    sort: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout of the family's documents."""

    name: str
    languages: tuple[str, ...]
    flags: Mapping[str, str]
    nodes: tuple[Node, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Family:
    """The data of one kind of document; `decoys` are fields that no document has but that resemble printed ones.

    Training leaves out a `held_out` family, to measure transfer to unseen kinds of documents.
    """

    name: str
    title: str
    note: str
    held_out: bool
    locales: tuple[str, ...]
    fields: Mapping[str, Field]
    groups: Mapping[str, Container]
    arrays: Mapping[str, Container]
    labels: Mapping[str, Mapping[str, str]]
    pools: Mapping[str, Mapping[str, str]]
    layouts: tuple[Layout, ...]
    decoys: Mapping[str, Field] = field(default_factory=dict)
    library: str = ""
    generic: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


class FamilyError(ValueError):
    """A fault in a family's data; the message says where and how."""


def _called(fields: Iterable[Field]) -> set[str]:
    """Returns the names of fields with their group; `DueDate` and `due_date` are one name."""
    return {
        f"{f.path.rpartition('.')[0]}.{re.sub(r'(?<=[a-z])(?=[A-Z])|[_ -]+', ' ', called).lower()}"
        for f in fields
        for called in f.names
    }


def _words_of(path: str) -> str:
    return path.rpartition(".")[2].removesuffix("[]").rpartition(".")[2].replace("_", " ").strip()


def _alternatives(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(x.strip() for x in split(data[key])) if data.get(key) else ()


def _field(path: str, data: Mapping[str, Any] | str, absent: float) -> Field:
    if isinstance(data, str):
        data = {"v": data}
    unknown = set(data) - {"v", "names", "d", "absent", "options", "print", "kind", "told"}
    if unknown:
        raise FamilyError(f"field {path}: unknown keys {sorted(unknown)}")
    options = data.get("options", {})
    if isinstance(options, str):
        options = {x.strip(): "" for x in split(options)}
    spec = data.get("v", "enum" if options else "")
    if not spec:
        raise FamilyError(f"field {path}: expected a generator in `v`, or `options`")
    kind = data.get("kind") or ("enum" if options else kind_of(spec))
    own = _words_of(path)
    names = tuple(dict.fromkeys((own, *_alternatives(data, "names"))))
    return Field(path, spec, kind, names, _alternatives(data, "d"), data.get("absent", absent), options,
                 {k: ({"": v} if isinstance(v, str) else v) for k, v in data.get("print", {}).items()},
                 data.get("told", False))  # fmt: skip


def _decoy(path: str, data: Mapping[str, Any]) -> Field:
    wrong = set(data) - {"kind", "names", "d", "options"}
    if wrong or not ("kind" in data or "options" in data):
        raise FamilyError(f"decoy {path}: expected kind (or options), names and d, got {sorted(data)}")
    return _field(path, {**data, "v": "none", "absent": 1.0}, 1.0)


def _container(path: str, data: Mapping[str, Any] | str) -> Container:
    if isinstance(data, str):
        data = {"names": data}
    names = tuple(dict.fromkeys((_words_of(path), *_alternatives(data, "names"))))
    low, high = (int(x) for x in data.get("count", "1 6").split())
    notes = _alternatives(data, "d")
    return Container(path, names, notes, data.get("absent", 0.1), (low, high), data.get("sort", ""))


def _layout(name: str, text: str) -> Layout:
    flags: dict[str, str] = {}
    if text.startswith("%"):
        head, _, text = text.partition("\n")
        for word in head[1:].split():
            key, _, value = word.partition("=")
            flags[key] = value
    try:
        nodes = parse(text)
    except ValueError as e:
        raise FamilyError(f"{name}: {e}") from e
    languages = tuple(flags.pop("lang", "en").split(","))
    return Layout(name, languages, flags, nodes, float(flags.pop("weight", "1")))


def _pool(data: Any) -> Mapping[str, str]:
    return {"any": data} if isinstance(data, str) else data


@lru_cache(maxsize=512)
def load_family(name: str) -> Family:
    """Returns the family of this name. Raises FamilyError if its data is wrong."""
    folder = FAMILIES_FOLDER / name
    if not (folder / "family.toml").is_file():
        raise FamilyError(f"there is no family {name!r}; known are {', '.join(family_names())}")
    try:
        data = tomllib.loads((folder / "family.toml").read_text("utf-8"))
    except tomllib.TOMLDecodeError as e:
        raise FamilyError(f"{name}/family.toml: {e}") from e
    absent = data.get("absent", 0.2)
    used = tuple(split(data.get("locales", "en_US|en_GB|en_IE")))
    unknown = set(used) - set(locales())
    if unknown:
        raise FamilyError(f"{name}: unknown locales {sorted(unknown)}; known are {sorted(locales())}")
    try:
        fields = {p: _field(p, d, absent) for p, d in data.get("fields", {}).items()}
        decoys = {p: _decoy(p, d) for p, d in data.get("decoys", {}).items()}
        layouts = tuple(
            _layout(f"{name}/{f.name}", f.read_text("utf-8")) for f in sorted(folder.glob("*.txt"))
        )
    except FamilyError as e:
        raise FamilyError(f"{name}: {e}") from e
    both = _called(fields.values()) & _called(decoys.values())
    if both:
        raise FamilyError(f"{name}: fields and decoys are both called {sorted(both)}")
    arrays = {p: _container(p, d) for p, d in data.get("arrays", {}).items()}
    for path in fields:
        for m in re.finditer(r"\[\]", path):
            arrays.setdefault(path[: m.start()], _container(path[: m.start()], {}))
    return Family(
        name=name, title=data.get("title", name.replace("_", " ")), note=data.get("note", ""),
        held_out=data.get("held_out", False), locales=used, fields=fields,
        groups={p: _container(p, d) for p, d in data.get("groups", {}).items()}, arrays=arrays,
        labels={k: _pool(v) for k, v in data.get("labels", {}).items()},
        pools={k: _pool(v) for k, v in data.get("pools", {}).items()},
        layouts=layouts, decoys=decoys,
        library=data.get("library", ""), generic=data.get("generic", False), extra=data,
    )  # fmt: skip


@lru_cache(maxsize=1)
def family_names() -> tuple[str, ...]:
    """Returns the names of all families that have a folder, sorted."""
    return tuple(sorted(p.parent.name for p in FAMILIES_FOLDER.glob("*/family.toml")))
