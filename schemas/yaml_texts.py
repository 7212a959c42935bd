"""Reading of YAML 1.2 as the JSON value that it stands for, with the lines of its parts.

Only YAML's core schema is known: a plain scalar is null, true, false, a number or a text. So `no` and `2024-01-31` are
texts. The rest that YAML 1.1 adds (merge keys, other tags, objects) is refused, never guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePath
from typing import Any

import yaml

from cinnabar.schemas.pointers import escape
from cinnabar.schemas.reading.limits import MAX_LEVELS, too_deep
from cinnabar.schemas.texts import json_integer, json_number

#: The endings of files that are read as YAML.
SUFFIXES = (".yaml", ".yml")
#: The most values that a text may stand for with all its aliases written out: a few lines of aliases of aliases could
#: stand for billions.
MAX_VALUES = 500_000

_CONSTANTS = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | {
    spelling(word): word == "true" for word in ("true", "false") for spelling in (str, str.title, str.upper)
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAG = "tag:yaml.org,2002:"
_Scalar = None | bool | int | float | str | Any


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
    reader = _Reader()
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        said = ", ".join(filter(None, (problem.context, problem.problem))) or "no YAML"
        raise YamlError(1 if mark is None else mark.line + 1, said + _advice(text, mark)) from None
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise YamlError(line, f"the character {chr(ord(text[problem.position]))!a} is not allowed") from None
    return YamlText(reader.root, reader.lines)


def _advice(text: str, mark: yaml.Mark | None) -> str:
    """What to do about the character at which reading stopped; "" if that says nothing."""
    lines = text.split("\n")
    found = lines[mark.line][mark.column : mark.column + 1] if mark and mark.line < len(lines) else ""
    if found == "\t":
        return " (a tab; indent with blanks)"
    return f" ({found}; put the text in quotes)" if found and found in "@`%&*!|>:" else ""


@dataclass(slots=True)
class _Open:
    """A mapping or sequence that is being read; `values` counts what it holds, itself included."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    line: int
    path: str
    step: str | int
    values: int = 1
    key: str | None = None


@dataclass(slots=True)
class _Reader:
    """Builds the value from events, without recursion."""

    root: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    _open: list[_Open] = field(default_factory=list)
    _anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    _documents: int = 0
    _values: int = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise YamlError(line, "expected one document in the file, got a second one behind `---`")
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin(event, line)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self._open.pop()
                self._put(done.value, done.values, done.line, done.anchor, end=True)
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    inside = any(one.anchor == event.anchor for one in self._open)
                    why = "is within the value that it names" if inside else "names no anchor above it"
                    raise YamlError(line, f"the alias *{event.anchor} {why}")
                value, values = self._anchors[event.anchor]
                self._put(value, values, line, None)
            case yaml.ScalarEvent():
                if self._awaits_key():
                    self._name(event, line)
                else:
                    self._put(_scalar(event, line), 1, line, event.anchor)

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _begin(self, event: Any, line: int) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if self._awaits_key():
            raise YamlError(line, f"expected a text as a key, got {'a mapping' if mapping else 'a sequence'}")
        if event.tag not in (None, "!", f"{_TAG}{'map' if mapping else 'seq'}"):
            raise YamlError(line, f"expected no tag, got {event.tag:.80}; only JSON's types are known")
        path, step = self._place()
        if len(self._open) >= MAX_LEVELS:
            raise too_deep([*(one.step for one in self._open[1:]), step])
        self.lines.setdefault(path, line)
        self._values += 1
        self._open.append(_Open({} if mapping else [], event.anchor, line, path, step))

    def _place(self) -> tuple[str, str | int]:
        """The pointer of the value that comes next, and its last step."""
        if not self._open:
            return "", ""
        above = self._open[-1]
        step: str | int = len(above.value) if isinstance(above.value, list) else above.key or ""
        return f"{above.path}/{escape(str(step))}", step

    def _name(self, event: yaml.ScalarEvent, line: int) -> None:
        """Takes a key; a plain one is its own text, so that `1`, `on` and `null` are the names that they look like."""
        above = self._open[-1]
        assert isinstance(above.value, dict)
        if event.tag not in (None, "!", f"{_TAG}str"):
            raise YamlError(line, f"expected a text as a key, got one with the tag {event.tag:.80}")
        if event.value == "<<" and not event.style:
            raise YamlError(line, "the merge key << is no part of YAML 1.2; write $ref or allOf, or an alias")
        if event.value in above.value:
            raise YamlError(line, f"the key {event.value!r:.80} twice in one mapping")
        if event.anchor is not None:
            self._anchors[event.anchor] = (event.value, 1)
        above.key = event.value
        self.lines[f"{above.path}/{escape(event.value)}"] = line

    def _put(self, value: Any, values: int, line: int, anchor: str | None, *, end: bool = False) -> None:
        if self._awaits_key():
            if not isinstance(value, str):
                raise YamlError(line, "expected a text as a key, got an alias of another value")
            above = self._open[-1]
            if value in above.value:
                raise YamlError(line, f"the key {value!r:.80} twice in one mapping")
            above.key = value
            return
        path, _ = self._place()
        if not end:
            self.lines.setdefault(path, line)
            self._values += values
        if self._values > MAX_VALUES:
            raise YamlError(line, f"more than {MAX_VALUES:,} values with all aliases written out")
        if anchor is not None:
            self._anchors[anchor] = (value, values)
        if not self._open:
            self.root = value
            return
        above = self._open[-1]
        above.values += values
        if isinstance(above.value, list):
            above.value.append(value)
        else:
            assert above.key is not None
            above.value[above.key], above.key = value, None


def _scalar(event: yaml.ScalarEvent, line: int) -> _Scalar:
    text: str = event.value
    kind = (event.tag or "").removeprefix(_TAG)
    if event.tag == "!" or kind == "str" or (event.style and not event.tag):
        return text
    if event.tag is None:
        return _plain(text)
    reads: Mapping[str, Callable[[Any], bool]] = {
        "null": lambda value: value is None,
        "bool": lambda value: isinstance(value, bool),
        "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
        "float": lambda value: not isinstance(value, (bool, str)) and value is not None,
    }
    if kind not in reads or not event.tag.startswith(_TAG):
        raise YamlError(line, f"expected no tag, got {event.tag:.80}; only JSON's types are known")
    value = _plain(text)
    if not reads[kind](value):
        raise YamlError(line, f"expected a value of the type {kind}, got {text!r:.80}")
    return value


def _plain(text: str) -> _Scalar:
    """The value of a plain scalar in YAML 1.2's core schema."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return json_integer(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _NUMBER.fullmatch(text):
        return json_number(text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text


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
    quoted = '"' if breaks else "'" if not isinstance(_plain(text), str) else None
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
