"""Reading of YAML 1.2 as the JSON value that it stands for, with the lines of its parts.

Only YAML's core schema is known: a plain scalar is null, true, false, a number or a text. So `no` and `2024-01-31` are
texts. The rest that YAML 1.1 adds (merge keys, other tags, objects) is refused, never guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePath
from typing import Any

import yaml

from cinnabar.schemas.parsing.texts import MAX_LEVELS, json_integer, json_number, too_deep
from cinnabar.schemas.pointers import escape

#: The endings of files that are read as YAML.
SUFFIXES = (".yaml", ".yml")
#: The most values that a text may stand for with all its aliases written out: a few lines of aliases of aliases could
#: stand for billions.
MAX_VALUES = 500_000

_TAG = "tag:yaml.org,2002:"
#: The plain scalars of YAML 1.2's core schema; every other one is a text.
_PLAIN = {
    "null": re.compile(r"~|null|Null|NULL|"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
}


class YamlError(ValueError):
    """A text that is not YAML, or not YAML that stands for JSON; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        self.line, self.reason = line, reason
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class YamlText:
    """A value, and the line of each of its parts by JSON pointer; the parts of an alias are those of its anchor."""

    value: Any
    lines: Mapping[str, int]

    def line_of(self, pointer: str) -> int:
        """The line of the part at this pointer, or of the nearest part around it."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer, 1)


def is_yaml(name: str) -> bool:
    """Whether a file of this name is read as YAML."""
    return PurePath(name).suffix.lower() in SUFFIXES


def read_yaml(text: str) -> YamlText:
    """The value of a YAML text of one document.

    Raises YamlError with the line if the text is not YAML, has a key twice in one mapping, or stands for no JSON value
    within the bounds, and UnsupportedSchema with the pointer if it is too deep.
    """
    # PyYAML's own composer and constructor know YAML 1.1, and in C they go to any depth; its events do neither.
    reader = _EventReader(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    try:
        value = reader.document()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        reason = ", ".join(filter(None, (problem.context, problem.problem))) or "no YAML"
        raise YamlError(1 if mark is None else mark.line + 1, reason + _advice(text, mark)) from None
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise YamlError(line, f"the character {chr(ord(text[problem.position]))!a} is not allowed") from None
    return YamlText(value, reader.lines)


def _advice(text: str, mark: yaml.Mark | None) -> str:
    """Returns advice on the character at which reading stopped; "" if that says nothing."""
    lines = text.split("\n")
    sign = lines[mark.line][mark.column : mark.column + 1] if mark and mark.line < len(lines) else ""
    if sign == "\t":
        return " (a tab; indent with blanks)"
    return f" ({sign}; put the text in quotes)" if sign and sign in "@`%&*!|>:" else ""


@dataclass(slots=True)
class _EventReader:
    """Makes JSON values of the events of a text; it recurses no deeper than MAX_LEVELS."""

    events: Iterator[Any]
    lines: dict[str, int] = field(default_factory=dict)
    #: The value of each anchor, and how many values that is with all aliases written out; None while it is read.
    anchors: dict[str, tuple[Any, int] | None] = field(default_factory=dict)
    steps: list[str | int] = field(default_factory=list)

    def document(self) -> Any:
        """The value of the only document; None if there is none."""
        value = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if self.lines:
                    raise YamlError(_line(event), "expected one document in the file, got a second one behind `---`")
                value, _ = self.value(next(self.events), "")
        return value

    def value(self, event: Any, pointer: str) -> tuple[Any, int]:
        """The value that begins with this event, and how many values it is with all aliases written out."""
        line = _line(event)
        self.lines.setdefault(pointer, line)
        if isinstance(event, yaml.AliasEvent):
            return self._find_anchor(event.anchor, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value, held = _scalar(event, line), 1
        else:
            mapping = isinstance(event, yaml.MappingStartEvent)
            if event.tag not in (None, "!", f"{_TAG}{'map' if mapping else 'seq'}"):
                raise _refuse_tag(event)
            if len(self.steps) >= MAX_LEVELS:
                raise too_deep(self.steps)
            value, held = ({}, 1) if mapping else ([], 1)
            while not isinstance(part := next(self.events), yaml.CollectionEndEvent):
                step = self._key(part, pointer, value) if mapping else len(value)
                self.steps.append(step)
                item, more = self.value(next(self.events) if mapping else part, f"{pointer}/{escape(str(step))}")
                self.steps.pop()
                held += more
                if held > MAX_VALUES:
                    raise YamlError(line, f"more than {MAX_VALUES:,} values with all aliases written out")
                if mapping:
                    value[step] = item
                else:
                    value.append(item)
        if event.anchor is not None:
            self.anchors[event.anchor] = value, held
        return value, held

    def _key(self, event: Any, pointer: str, above: Mapping[str, Any]) -> str:
        """A key; a plain one is its own text, so that `1`, `on` and `null` are the names that they look like."""
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):
            key, _ = self._find_anchor(event.anchor, line)
        elif not isinstance(event, yaml.ScalarEvent):
            raise YamlError(line, "expected a text as a key, got a mapping or a sequence")
        elif event.tag not in (None, "!", f"{_TAG}str"):
            raise _refuse_tag(event)
        elif event.value == "<<" and not event.style:
            raise YamlError(line, "the merge key << is no part of YAML 1.2; write $ref or allOf, or an alias")
        else:
            key = event.value
            if event.anchor is not None:
                self.anchors[event.anchor] = key, 1
        if not isinstance(key, str):
            raise YamlError(line, "expected a text as a key, got an alias of another value")
        if key in above:
            raise YamlError(line, f"the key {key!r:.80} twice in one mapping")
        self.lines[f"{pointer}/{escape(key)}"] = line
        return key

    def _find_anchor(self, anchor: str, line: int) -> tuple[Any, int]:
        found = self.anchors.get(anchor)
        if found is None:
            why = "is within the value that it names" if anchor in self.anchors else "names no anchor above it"
            raise YamlError(line, f"the alias *{anchor} {why}")
        return found


def _line(event: yaml.Event) -> int:
    return int(event.start_mark.line) + 1


def _refuse_tag(event: Any) -> YamlError:
    return YamlError(_line(event), f"expected no tag, got {event.tag:.80}; only JSON's types are known")


def _scalar(event: yaml.ScalarEvent, line: int) -> Any:
    text: str = event.value
    asked = (event.tag or "").removeprefix(_TAG)
    if asked in ("!", "str") or (event.style and not event.tag):
        return text
    if event.tag and (asked not in _PLAIN or asked == event.tag):
        raise _refuse_tag(event)
    kind = _kind(text)
    if asked not in ("", kind) and (asked, kind) != ("float", "int"):
        raise YamlError(line, f"expected a value of the type {asked}, got {text!r:.80}")
    match kind:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, 0) if text[1:2] in ("o", "x") else json_integer(text)
        case "float":
            return json_number(text) if text[-1] in "0123456789." else float(text.replace(".", "", 1))
    return text


def _kind(text: str) -> str:
    """The type of a plain scalar in YAML 1.2's core schema."""
    return next((kind for kind, pattern in _PLAIN.items() if pattern.fullmatch(text)), "str")


def yaml_text(value: Any) -> str:
    """A JSON value as YAML that `read_yaml` reads as the same value; short lists of scalars stand on one line."""
    written: str = yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=110)
    return written


class _Writer(yaml.SafeDumper):  # type: ignore[misc]
    """A dumper that quotes each text which YAML 1.2 would read as something else, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:  # noqa: ARG002
        return super().increase_indent(flow, False)


def _write_text(writer: Any, text: str) -> Any:
    # PyYAML folds lines at these breaks, which YAML 1.2 and JSON take for other characters.
    breaks = any(mark in text for mark in "\x85\u2028\u2029\r")
    quoted = '"' if breaks else "'" if _kind(text) != "str" else None
    return writer.represent_scalar(f"{_TAG}str", text, style=quoted)


def _write_list(writer: Any, items: list[Any]) -> Any:
    flat = all(item is None or isinstance(item, (str, bool, int, float, Decimal)) for item in items)
    return writer.represent_sequence(f"{_TAG}seq", items, flow_style=flat and sum(len(str(i)) for i in items) < 80)


def _write_number(writer: Any, number: float | Decimal) -> Any:
    return writer.represent_scalar(f"{_TAG}float", str(number) if isinstance(number, Decimal) else json.dumps(number))


_Writer.add_representer(str, _write_text)
_Writer.add_representer(list, _write_list)
_Writer.add_representer(float, _write_number)
_Writer.add_representer(Decimal, _write_number)
