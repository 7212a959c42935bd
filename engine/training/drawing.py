"""One synthetic document: values drawn when a layout first asks for them, and the layout written out."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from functools import lru_cache

from cinnabar.engine.training.family import Family, FamilyError, Field, Layout
from cinnabar.engine.training.locale import Locale, Value, common, split
from cinnabar.engine.training.printing import show
from cinnabar.engine.training.rendering import (
    LANGUAGE_TAG,
    Laid,
    Line,
    Node,
    Piece,
    Style,
    join_intervals,
    lay_out,
    parse,
    to_lines,
)
from cinnabar.engine.training.values import draw


@lru_cache(maxsize=8192)
def options_for(options: tuple[tuple[Node, ...], ...], language: str) -> tuple[tuple[Node, ...], ...]:
    """The options of a choice for this language (`de:Datum`), else the untagged ones, else the English
    ones."""
    tags: dict[str, list[tuple[Node, ...]]] = {}
    for option in options:
        text = option[0][1] if option and option[0][0] == "text" else ""
        m = LANGUAGE_TAG.match(text)
        tags.setdefault(m[1] if m else "", []).append((("text", text[3:]), *option[1:]) if m else option)
    return tuple(tags.get(language) or tags.get("") or tags.get("en") or next(iter(tags.values())))


_DAY, _YEAR = re.compile(r"\{(d|dd|ord)\}"), re.compile(r"\{(yy|yyyy)\}")
_SINGLE = re.compile(r"(?<!\{)\{=([^{}]*)\}(?!\})")
_INDEXED = re.compile(r"^((.+)\[(\d+)\])(?:\.\w+)?$")


def template_of(path: str) -> str:
    """`items[3].name` as `items[].name`."""
    return re.sub(r"\[\d+\]", "[]", path) if "[" in path else path


def _without_gaps(lines: list[Line], most: int) -> list[Line]:
    """Lines without the runs of empty ones that left out sections leave behind."""
    out: list[Line] = []
    empty = most
    for line in lines:
        empty = 0 if any(t.strip() for _, t, _ in line.segments) else empty + 1
        if empty <= most or line.rows:
            out.append(line)
    return out


@dataclass(slots=True)
class Drawing:
    """The values of one document, and how it was printed.

    `prints` maps a concrete path to its printings (ids of pieces, in order of the text); `told` are paths
    whose value the text states without printing it; `rows` maps an array's concrete path to its number of
    items that were written.
    """

    family: Family
    layout: Layout
    locale: Locale
    rng: random.Random
    values: dict[str, Value] = field(default_factory=dict)
    prints: dict[str, list[int]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    _absent: dict[str, bool] = field(default_factory=dict)
    _choices: dict[str, str] = field(default_factory=dict)
    _branches: dict[tuple[int, int], int] = field(default_factory=dict)
    _seen: dict[str, set[str]] = field(default_factory=dict)
    _row: str = ""
    _index: int = 0
    _printed: int = 0
    _depth: int = 0
    _clause: int = 0

    # --- Scope: what generators and printers ask ---

    def chosen(self, key: str, options: tuple[str, ...]) -> str:
        if key not in self._choices:
            self._choices[key] = self.rng.choice(options)
        kept = self._choices[key]
        # A twelfth of the dates of a document are written in another way than the rest.
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
            return self._row
        if path.startswith("."):
            return self._row + path
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
        before = self._row
        end = path.rfind("]")
        self._row = path[: end + 1]
        try:
            v = draw(self, f.spec)
            if end > 0 and v.kind == "string":
                seen = self._seen.setdefault(f.path, set())
                for _ in range(4):  # two equal rows could not be told apart
                    if v.raw not in seen:
                        break
                    v = draw(self, f.spec)
                seen.add(v.raw)
        finally:
            self._row = before
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

    # --- writing ---

    def write(self, nodes: tuple[Node, ...], out: list[Piece]) -> None:
        """Appends the pieces of these nodes."""
        for node in nodes:
            kind = node[0]
            if kind == "text":
                out.append(Piece(node[1]))
            elif kind == "value":
                self._print(node, out)
            elif kind == "choice":
                _, options, fresh, where, tagged = node
                if tagged:
                    options = options_for(options, self.locale.language)
                key = (where, id(node))
                if fresh or key not in self._branches:
                    self._branches[key] = self.rng.randrange(len(options))
                self.write(options[self._branches[key]], out)
            elif kind == "section":
                if not any(self.absent(p) for p in node[1]):
                    self.write(node[2], out)
            elif kind == "label":
                text = self._label(node[1])
                if node[2] == "upper":
                    text = text.upper()
                elif node[2] == "lower":
                    text = text.lower()
                out.append(Piece(text))
            elif kind == "tab":
                out.append(Piece("", tab=node[1]))
            elif kind == "draw":
                v = draw(self, node[1])
                out.append(Piece("".join(show(v, node[2], self))))
            elif kind == "rows":
                self._rows(node, out)
            elif kind == "maybe":
                if self.rng.random() * 100 < node[1]:
                    self.write(node[2], out)
            elif kind == "miss":
                if self.absent(node[1]) and self.rng.random() < 0.5:
                    self.write(node[2], out)
            elif kind == "if":
                self._if(node, out)
            elif kind == "pool":
                options = self.pool(node[1])
                low, _, high = node[2].partition("-")
                n = self.rng.randint(int(low), int(high or low))
                for i, text in enumerate(self.rng.sample(options, min(n, len(options)))):
                    if i:
                        out.append(Piece(" " if "\n" not in node[1] else "\n"))
                    self._nested(text, out)
            elif kind == "columns":
                left: list[Piece] = []
                right: list[Piece] = []
                self.write(node[2], left)
                self.write(node[3], right)
                out.append(Piece("", columns=(node[1], left, right)))

    def _nested(self, text: str, out: list[Piece]) -> None:
        self._depth += 1
        if self._depth > 6:
            raise FamilyError(f"{self.layout.name}: pools nest more than six deep")
        text = _SINGLE.sub(r"{{=\1}}", text.replace("¦", "|").replace("\\n", "\n"))
        self.write(parse(text), out)
        self._depth -= 1

    def _if(self, node: Node, out: list[Piece]) -> None:
        _, path, op, want, inner = node
        path = self.resolve(path)
        array = template_of(path) in self.family.arrays
        if self.absent(path):
            return
        if array or not op:
            self.write(inner, out)
            return
        v = self.value(path)
        self.told.add(path)
        is_it = str(v.raw).lower() in want.lower().split(",")
        if is_it == (op == "="):
            self.write(inner, out)

    def _rows(self, node: Node, out: list[Piece]) -> None:
        _, path, sep, last, inner = node
        path = self.resolve(path)
        if self.absent(path):
            return
        n = self.count(path)
        key = self.family.arrays[template_of(path)].sort
        if key and path not in self.rows:
            column = [self.value(f"{path}[{i}].{key}") for i in range(n)]
            for i, v in enumerate(sorted(column, key=lambda v: v.raw)):
                self.values[f"{path}[{i}].{key}"] = v
        before, before_index = self._row, self._index
        for i in range(n):
            if i and sep:
                out.append(Piece(last if i == n - 1 and last else sep))
            self._row, self._index = f"{path}[{i}]", i
            out.append(Piece("", row=self._row))
            self.write(inner, out)
        self._row, self._index = before, before_index
        self.rows[path] = n

    def _print(self, node: Node, out: list[Piece]) -> None:
        _, path, form, align, width = node
        if path == ".@":
            out.append(Piece(str(self._index + 1), align=align, width=width))
            return
        if path == "@":
            self._clause += 1
            out.append(Piece(str(self._clause)))
            return
        path = self.resolve(path)
        v = self.value(path)
        self._absent[path] = False
        m = _INDEXED.match(path)
        if m and m[1] != self._row:
            self._open_row(m[1], m[2], int(m[3]), out)
        if v.kind == "enum":
            before, text, after = "", self._print_enum(path, v), ""
            if form == "upper":
                text = text.upper()
        else:
            before, text, after = show(v, form, self)
        sign = "currency" in self.family.fields and form.startswith("cur")
        if width:
            text_width = max(0, width - len(before) - len(after)) if align == ">" else width
            if align == ">" and before:
                pad = text_width - len(text)
                out.append(Piece(" " * max(0, pad)))
                text_width = 0
            self._sign(before, out, sign)
            out.append(Piece(text, self._next(path), width=text_width, align=align))
            self._sign(after, out, sign)
            return
        self._sign(before, out, sign)
        # A part of a date (its year alone) is no printing of it.
        part = "{" in form and not (_DAY.search(form) and _YEAR.search(form))
        out.append(Piece(text, -1 if part else self._next(path)))
        self._sign(after, out, sign)

    def _open_row(self, row: str, array: str, index: int, out: list[Piece]) -> None:
        """An item that a layout names by its index, outside of any block of rows."""
        if index >= self.rows.get(array, 0):
            self.rows[array] = self._counts[array] = index + 1
            out.append(Piece("", row=row))

    def _sign(self, text: str, out: list[Piece], sign: bool) -> None:
        if not text:
            return
        if not sign:
            out.append(Piece(text))
            return
        self.value("currency")
        core = text.strip()
        a, _, b = text.partition(core)
        if a:
            out.append(Piece(a))
        out.append(Piece(core, self._next("currency")))
        if b:
            out.append(Piece(b))

    def _next(self, path: str) -> int:
        self._printed += 1
        self.prints.setdefault(path, []).append(self._printed)
        return self._printed

    def _print_enum(self, path: str, v: Value) -> str:
        f = self.field(path)
        words = f.prints.get(self.locale.language) or f.prints.get("en") or {}
        return self.chosen(f"enum {f.path} {v.raw}", split(words.get(v.raw) or v.raw.replace("_", " ")))

    def _label(self, key: str) -> str:
        labels = self.family.labels.get(key)
        if labels is not None:
            text = labels.get(self.locale.language) or labels.get("en") or labels.get("any")
            if text is None:
                text = next(iter(labels.values()))
            return self.chosen("label " + key, split(text))
        for path, f in self.family.fields.items():
            if path.rpartition(".")[2] == key or path == key:
                return self.chosen("label " + key, f.names).capitalize()
        raise FamilyError(f"{self.layout.name}: there is no label {key!r}")

    # --- the whole ---

    def render(self) -> tuple[Laid, dict[str, list[tuple[int, int]]], set[str]]:
        """The document, spans by concrete path (one interval a printing), and the paths printed in pieces."""
        r, flags = self.rng, self.layout.flags
        pieces: list[Piece] = []
        if r.random() < 0.12:
            pieces.append(Piece(draw(self, "pick noise").raw + "\n" * r.randint(1, 2)))
        for path, f in self.family.fields.items():
            if f.told and not self.absent(path):
                self.value(path)
                self.told.add(path)
        self.write(self.layout.nodes, pieces)
        if r.random() < 0.18:
            pieces.append(Piece("\n" + draw(self, "pick noise").raw))
        wrap = 0
        if "wrap" in flags:
            low, _, high = (flags["wrap"] or "60-100").partition("-")
            wrap = r.randint(int(low), int(high or low)) if r.random() < 0.75 else 0
        gap = "keep"
        if "page" in flags or "gaps" in flags:
            gap = r.choice(("keep", "keep", "keep", "  ", "   ", " ", "\t"))
        style = Style(
            wrap=wrap,
            width=int(flags.get("width", "78")),
            gap=gap,
            indent=r.choice((0, 0, 0, 2, 4)) if "page" in flags else 0,
            page="page" in flags,
            noise=0.05 * r.random() if r.random() < float(flags.get("noise") or 0) else 0.0,
            upper=r.random() < float(flags.get("upper") or 0),
            quote="> " if "wrap" in flags and r.random() < 0.02 else "",
            narrow=r.uniform(0.35, 0.8) if gap != " " and r.random() < 0.4 else 1.0,
        )
        laid = lay_out(_without_gaps(to_lines(pieces, style), r.choice((1, 1, 2))), style, r)
        spans: dict[str, list[tuple[int, int]]] = {}
        broken: set[str] = set()
        for path, ids in self.prints.items():
            found: list[tuple[int, int]] = []
            for k in ids:
                joined = join_intervals(laid.prints.get(k, ()), laid.text)
                if len(joined) == 1:
                    found += joined
                elif joined and not found and len(ids) == 1:
                    found = joined
                    broken.add(path)
            if found:
                spans[path] = found
        return laid, spans, broken
