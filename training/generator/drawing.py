"""Draws the values of one synthetic document when a layout first asks for them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from training.generator.family import Family, FamilyError, Field, Layout
from training.generator.locale import Locale, Value, common, split
from training.generator.values import draw


def template_of(path: str) -> str:
    """Returns the template of a path: `items[].name` for `items[3].name`."""
    return re.sub(r"\[\d+\]", "[]", path) if "[" in path else path


@dataclass(slots=True)
class Drawing:
    """The values of one document and their printings.

    `prints` maps a concrete path to its printings (ids of pieces, in order of the text). `told` has the paths with a
    value that the text states without printing it. `rows` maps an array's concrete path to its number of written
    items. `row` is the item of paths with a leading dot.
    """

    family: Family
    layout: Layout
    locale: Locale
    rng: random.Random
    values: dict[str, Value] = field(default_factory=dict)
    prints: dict[str, list[int]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)
    row: str = ""
    _counts: dict[str, int] = field(default_factory=dict)
    _absent: dict[str, bool] = field(default_factory=dict)
    _choices: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, set[str]] = field(default_factory=dict)
    _printed: int = 0

    # --- Scope, the protocol for generators and printers ---

    def chosen(self, key: str, options: tuple[str, ...]) -> str:
        if key not in self._choices:
            self._choices[key] = self.rng.choice(options)
        kept = self._choices[key]
        # A twelfth of a document's dates are written in another way than the rest.
        if key.startswith("date ") and self.rng.random() < 0.08:
            return self.rng.choice(options)
        return kept

    def pool(self, name: str) -> tuple[str, ...]:
        own = self.family.pools.get(name)
        if own is not None:
            text = (
                own.get(self.locale.language) or own.get("any") or own.get("en") or next(iter(own.values()))
            )
            return split(text)
        pools = common()["pools"]
        found = pools.get(self.locale.language, pools["en"]).get(name) or pools["en"].get(name)
        if found is None:
            raise FamilyError(f"{self.family.name}: there is no pool {name!r}")
        return split(found)

    def value(self, path: str) -> Value:
        path = self.resolve(path)
        if path not in self.values:
            self.values[path] = self._draw(path)
        return self.values[path]

    def column(self, path: str) -> list[Value]:
        array, _, rest = path.rpartition("[]")
        array = self.resolve(array)
        return [self.value(f"{array}[{i}]{rest}") for i in range(self.count(array))]

    # --- values ---

    def resolve(self, path: str) -> str:
        if path == ".":
            return self.row
        if path.startswith("."):
            return self.row + path
        return path

    def field(self, path: str) -> Field:
        f = self.family.fields.get(template_of(path))
        if f is None:
            raise FamilyError(
                f"{self.layout.name}: there is no field {template_of(path)!r} in {self.family.name}"
            )
        return f

    def _draw(self, path: str) -> Value:
        f = self.field(path)
        if f.options and f.spec == "enum":
            return Value("enum", self.rng.choice(tuple(f.options)))
        before = self.row
        end = path.rfind("]")
        self.row = path[: end + 1]
        try:
            v = draw(self, f.spec)
            if end > 0 and v.kind == "string":
                seen = self._seen.setdefault(f.path, set())
                for _ in range(4):  # two equal rows could not be distinguished
                    if v.raw not in seen:
                        break
                    v = draw(self, f.spec)
                seen.add(v.raw)
        finally:
            self.row = before
        if f.options:
            v.kind = "enum"
        elif f.kind == "integer" and v.kind == "number":
            v = Value("integer", int(v.raw))
        elif f.kind == "compact":
            v.kind = "compact"
        return v

    def count(self, array: str) -> int:
        if array not in self._counts:
            c = self.family.arrays.get(template_of(array))
            if c is None:
                raise FamilyError(f"{self.layout.name}: there is no array {array!r} in {self.family.name}")
            low, high = c.count
            # Short lists are the common ones.
            self._counts[array] = low + int((high - low + 1) * self.rng.random() ** 1.6)
        return self._counts[array]

    def absent(self, path: str) -> bool:
        path = self.resolve(path)
        if path not in self._absent:
            t = template_of(path)
            if t in self.family.arrays:
                share = self.family.arrays[t].absent
            elif t in self.family.fields:
                f = self.family.fields[t]
                share = 0.0 if f.hidden else f.absent
            else:
                raise FamilyError(f"{self.layout.name}: there is no field {t!r} in {self.family.name}")
            self._absent[path] = path not in self.prints and self.rng.random() < share
        return self._absent[path]

    # --- printings ---

    def keep(self, path: str) -> None:
        """Marks the value as printed, so that it is no longer absent."""
        self._absent[path] = False

    def new_print(self, path: str) -> int:
        """Returns the number of a new printing of this value."""
        self._printed += 1
        self.prints.setdefault(path, []).append(self._printed)
        return self._printed

    def open_row(self, array: str, index: int) -> bool:
        """Adds the item to its array's written ones; returns False if it was written before."""
        if index < self.rows.get(array, 0):
            return False
        self.rows[array] = self._counts[array] = index + 1
        return True
