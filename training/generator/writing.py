"""Writes a layout's nodes as pieces of text, with the values of one drawing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from training.generator.drawing import Drawing, template_of
from training.generator.family import FamilyError
from training.generator.layout_language import Node, options_for, parse
from training.generator.lines import Piece
from training.generator.locale import Value, split
from training.generator.printing import show
from training.generator.values import draw

_DAY, _YEAR = re.compile(r"\{(d|dd|ord)\}"), re.compile(r"\{(yy|yyyy)\}")
_SINGLE = re.compile(r"(?<!\{)\{=([^{}]*)\}(?!\})")
_INDEXED = re.compile(r"^((.+)\[(\d+)\])(?:\.\w+)?$")


@dataclass(slots=True)
class Writer:
    """Turns nodes into pieces and notes in the drawing the printed and the told values."""

    drawing: Drawing
    _branches: dict[tuple[int, int], int] = field(default_factory=dict)
    _index: int = 0
    _depth: int = 0
    _clause: int = 0

    def write(self, nodes: tuple[Node, ...], out: list[Piece]) -> None:
        """Appends the pieces of these nodes."""
        drawing, rng = self.drawing, self.drawing.rng
        for node in nodes:
            kind = node[0]
            if kind == "text":
                out.append(Piece(node[1]))
            elif kind == "value":
                self._print(node, out)
            elif kind == "choice":
                _, options, fresh, where, tagged = node
                if tagged:
                    options = options_for(options, drawing.locale.language)
                key = (where, id(node))
                if fresh or key not in self._branches:
                    self._branches[key] = rng.randrange(len(options))
                self.write(options[self._branches[key]], out)
            elif kind == "section":
                if not any(drawing.absent(p) for p in node[1]):
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
                v = draw(drawing, node[1])
                out.append(Piece("".join(show(v, node[2], drawing))))
            elif kind == "rows":
                self._rows(node, out)
            elif kind == "maybe":
                if rng.random() * 100 < node[1]:
                    self.write(node[2], out)
            elif kind == "miss":
                if drawing.absent(node[1]) and rng.random() < 0.5:
                    self.write(node[2], out)
            elif kind == "if":
                self._if(node, out)
            elif kind == "pool":
                options = drawing.pool(node[1])
                low, _, high = node[2].partition("-")
                n = rng.randint(int(low), int(high or low))
                for i, text in enumerate(rng.sample(options, min(n, len(options)))):
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
            raise FamilyError(f"{self.drawing.layout.name}: pools nest more than six deep")
        text = _SINGLE.sub(r"{{=\1}}", text.replace("¦", "|").replace("\\n", "\n"))
        self.write(parse(text), out)
        self._depth -= 1

    def _if(self, node: Node, out: list[Piece]) -> None:
        drawing = self.drawing
        _, path, op, want, inner = node
        path = drawing.resolve(path)
        array = template_of(path) in drawing.family.arrays
        if drawing.absent(path):
            return
        if array or not op:
            self.write(inner, out)
            return
        v = drawing.value(path)
        drawing.told.add(path)
        is_it = str(v.raw).lower() in want.lower().split(",")
        if is_it == (op == "="):
            self.write(inner, out)

    def _rows(self, node: Node, out: list[Piece]) -> None:
        drawing = self.drawing
        _, path, sep, last, inner = node
        path = drawing.resolve(path)
        if drawing.absent(path):
            return
        n = drawing.count(path)
        key = drawing.family.arrays[template_of(path)].sort
        if key and path not in drawing.rows:
            column = [drawing.value(f"{path}[{i}].{key}") for i in range(n)]
            for i, v in enumerate(sorted(column, key=lambda v: v.raw)):
                drawing.values[f"{path}[{i}].{key}"] = v
        before, before_index = drawing.row, self._index
        for i in range(n):
            if i and sep:
                out.append(Piece(last if i == n - 1 and last else sep))
            drawing.row, self._index = f"{path}[{i}]", i
            out.append(Piece("", row=drawing.row))
            self.write(inner, out)
        drawing.row, self._index = before, before_index
        drawing.rows[path] = n

    def _print(self, node: Node, out: list[Piece]) -> None:
        drawing = self.drawing
        _, path, form, align, width = node
        if path == ".@":
            out.append(Piece(str(self._index + 1), align=align, width=width))
            return
        if path == "@":
            self._clause += 1
            out.append(Piece(str(self._clause)))
            return
        path = drawing.resolve(path)
        v = drawing.value(path)
        drawing.keep(path)
        m = _INDEXED.match(path)
        # A layout may name an item by its index, outside of any block of rows; the item begins here.
        if m and m[1] != drawing.row and drawing.open_row(m[2], int(m[3])):
            out.append(Piece("", row=m[1]))
        if v.kind == "enum":
            before, text, after = "", self._print_enum(path, v), ""
            if form == "upper":
                text = text.upper()
        else:
            before, text, after = show(v, form, drawing)
        sign = "currency" in drawing.family.fields and form.startswith("cur")
        if width:
            text_width = max(0, width - len(before) - len(after)) if align == ">" else width
            if align == ">" and before:
                pad = text_width - len(text)
                out.append(Piece(" " * max(0, pad)))
                text_width = 0
            self._sign(before, out, sign)
            out.append(Piece(text, drawing.new_print(path), width=text_width, align=align))
            self._sign(after, out, sign)
            return
        self._sign(before, out, sign)
        # A part of a date (its year alone) does not count as a printing.
        part = "{" in form and not (_DAY.search(form) and _YEAR.search(form))
        out.append(Piece(text, -1 if part else drawing.new_print(path)))
        self._sign(after, out, sign)

    def _sign(self, text: str, out: list[Piece], sign: bool) -> None:
        if not text:
            return
        if not sign:
            out.append(Piece(text))
            return
        self.drawing.value("currency")
        core = text.strip()
        a, _, b = text.partition(core)
        if a:
            out.append(Piece(a))
        out.append(Piece(core, self.drawing.new_print("currency")))
        if b:
            out.append(Piece(b))

    def _print_enum(self, path: str, v: Value) -> str:
        drawing = self.drawing
        f = drawing.field(path)
        words = f.prints.get(drawing.locale.language) or f.prints.get("en") or {}
        return drawing.chosen(f"enum {f.path} {v.raw}", split(words.get(v.raw) or v.raw.replace("_", " ")))

    def _label(self, key: str) -> str:
        drawing = self.drawing
        labels = drawing.family.labels.get(key)
        if labels is not None:
            text = labels.get(drawing.locale.language) or labels.get("en") or labels.get("any")
            if text is None:
                text = next(iter(labels.values()))
            return drawing.chosen("label " + key, split(text))
        for path, f in drawing.family.fields.items():
            if path.rpartition(".")[2] == key or path == key:
                return drawing.chosen("label " + key, f.names).capitalize()
        raise FamilyError(f"{drawing.layout.name}: there is no label {key!r}")
