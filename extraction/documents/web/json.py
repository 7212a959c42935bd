"""JSON as lines: names as labels, lists of flat objects as tables, and JSON pointers as places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cinnabar.extraction.documents.content.limits import MAX_JSON, MAX_JSON_DEPTH, MAX_JSON_VALUES
from cinnabar.extraction.documents.content.marked_text import MarkedText, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.plain.charsets import add_text, decode
from cinnabar.extraction.documents.plain.rows import column_names, table_lines, widths

_BLOCK, _ON_ONE_LINE = 500, 100


class _Object(list[tuple[str, Any]]):
    """The members of an object in their order, with repeated names."""


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_float=str, parse_int=str, parse_constant=str)


def add_json(reading: ParseContext, data: bytes) -> None:
    """Appends a JSON file; one that is damaged or very long is read as plain text."""
    text, _ = decode(data)
    value = None if len(data) > MAX_JSON or _is_long(text, ",[{") else _parse(text)
    if value is None:
        add_text(reading, data)
        return
    with part_text(reading) as lines:
        _Outline(reading, lines).add(value, "", "", 0)


def add_json_lines(reading: ParseContext, data: bytes) -> None:
    """Appends a file with a JSON value on each line; if most lines are something else, it is read as plain text."""
    text, _ = decode(data)
    if len(data) > MAX_JSON or _is_long(text, ",[{\n"):
        add_text(reading, data)
        return
    lines = [line for line in text.split("\n") if line.strip()]
    values = [_parse(line) for line in lines]
    if sum(value is not None for value in values) * 2 <= len(lines):
        add_text(reading, data)
        return
    whole = [line if value is None else value for line, value in zip(lines, values, strict=True)]
    with part_text(reading) as text_lines:
        _Outline(reading, text_lines).add(whole, "", "", 0)


def _is_long(text: str, marks: str) -> bool:
    """Returns True if the values of a file may be too many, by the characters that begin them."""
    return len(text) > MAX_JSON_VALUES and sum(map(text.count, marks)) > MAX_JSON_VALUES


def _parse(text: str) -> Any | None:
    """Returns the value with its numbers as they are spelled, None if a text is not JSON or holds nothing."""
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _scalar_text(value: Any) -> str:
    return {True: "true", False: "false", None: ""}[value] if value is None or isinstance(value, bool) else value


def _is_flat(value: Any) -> bool:
    return not isinstance(value, list)


class _Outline:
    """Writes values line by line, indented by their depth."""

    def __init__(self, reading: ParseContext, lines: MarkedText) -> None:
        self._reading, self._lines = reading, lines

    def add(self, value: Any, label: str, pointer: str, depth: int) -> None:
        """Appends a value below its label, as lines of `label: value`; lists of alike objects are tables."""
        if self._lines.full:
            return
        if depth > MAX_JSON_DEPTH:
            self._reading.builder.flags.add("depth_limit")
            return
        if _is_flat(value):
            shown = _scalar_text(value)
            parts = shown.split("\n") if label else [shown]
            self._line(f"{label}: {parts[0]}" if label else parts[0], pointer, depth)
            for part in parts[1:]:
                self._line(part, pointer, depth + 1)
        elif isinstance(value, _Object):
            if label:
                self._line(f"{label}:", pointer, depth)
            for name, one in value:
                token = name.replace("~", "~0").replace("/", "~1")
                self.add(one, name, f"{pointer}/{token}", depth + bool(label))
        else:
            self._list(value, label, pointer, depth)

    def _list(self, values: Sequence[Any], label: str, pointer: str, depth: int) -> None:
        if all(_is_flat(one) for one in values):
            together = ", ".join(_scalar_text(one) for one in values)
            if len(together) <= _ON_ONE_LINE and "\n" not in together:
                self._line(f"{label}: {together}" if label else together, pointer, depth)
                return
        if label:
            self._line(f"{label}:", pointer, depth)
        if names := _columns(values):
            self._table(values, names, pointer, depth + bool(label))
            return
        for at, one in enumerate(values):
            if isinstance(one, _Object) and at:
                self._lines.blank()
            self.add(one, "", f"{pointer}/{at}", depth + bool(label))

    def _table(self, values: Sequence[Any], names: Sequence[str], pointer: str, depth: int) -> None:
        self._lines.blank()
        columns = list[int]()
        for begin in range(0, len(values), _BLOCK):
            members = [dict(one) for one in values[begin : begin + _BLOCK]]
            rows = [[" ".join(_scalar_text(one.get(name)).split()) for name in names] for one in members]
            columns = widths([names, *rows], columns)
            (head, *_), *lines = table_lines([names, *rows], columns)
            if not begin:
                self._line(head, pointer, depth)
            for at, (row, *_) in enumerate(lines, begin):
                self._line(row, f"{pointer}/{at}", depth)
        self._lines.blank()

    def _line(self, text: str, pointer: str, depth: int) -> None:
        if text.strip():
            self._lines.line(f"{'  ' * min(depth, 20)}{text}", pointer)


def _columns(values: Sequence[Any]) -> list[str]:
    """Returns the names of the members of two or more flat objects, none if the values are anything else."""
    objects = len(values) > 1 and all(isinstance(one, _Object) for one in values)
    if not objects or not all(_is_flat(value) for one in values for _, value in one):
        return []
    return column_names([name for name, _ in one] for one in values)
