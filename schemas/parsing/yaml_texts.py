"""Reading of YAML as the JSON value that it stands for, with the lines of its parts.

PyYAML's safe loader reads the plain scalars of YAML 1.2: null, true, false, numbers and texts, so that `no` and
`2024-01-31` are texts. What else YAML 1.1 adds (merge keys, other tags, objects) is refused, never guessed at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml

from cinnabar.schemas.parsing.limits import MAX_LEVELS
from cinnabar.schemas.parsing.texts import json_integer, json_number
from cinnabar.schemas.pointers import unescape

#: The endings of files that are read as YAML.
SUFFIXES = (".yaml", ".yml")
#: The most values that a text may stand for with all its aliases written out: a few lines of aliases of aliases could
#: stand for billions.
MAX_VALUES = 500_000

_TAG = "tag:yaml.org,2002:"
#: The plain scalars of YAML 1.2's core schema, of which the first counts; every other one is a text.
_PLAIN = {
    "null": re.compile(r"(~|null|Null|NULL|)$"),
    "bool": re.compile(r"(true|True|TRUE|false|False|FALSE)$"),
    "int": re.compile(r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"),
    "float": re.compile(r"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"),
}


class YamlError(ValueError):
    """A text that is not YAML, or not YAML that stands for JSON; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        self.line, self.reason = line, reason
        super().__init__(f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class YamlText:
    """A value, and the node of the text that it was made of."""

    value: Any
    node: yaml.Node | None

    def line_of(self, pointer: str) -> int:
        """The line of the part at this pointer, or of the nearest part around it."""
        node, line = self.node, 1
        for step in map(unescape, pointer.split("/")[1:]):
            parts = {}
            if isinstance(node, yaml.MappingNode):
                parts = {key.value: (key, item) for key, item in node.value}
            elif isinstance(node, yaml.SequenceNode):
                parts = {str(at): (item, item) for at, item in enumerate(node.value)}
            if step not in parts:
                break
            key, node = parts[step]
            line = key.start_mark.line + 1
        return int(line)


def read_yaml(text: str) -> YamlText:
    """The value of a YAML text of one document.

    Raises YamlError with the line if the text is not YAML, has a key twice in one mapping, is too deep, or stands for
    no JSON value within the bounds.
    """
    try:
        _check_depth(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        value = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        reason = ", ".join(filter(None, (problem.context, problem.problem))) or "no YAML"
        raise YamlError(1 if mark is None else mark.line + 1, reason + _advice(text, mark)) from None
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise YamlError(line, f"the character {chr(ord(text[problem.position]))!a} is not allowed") from None
    _check_size(value)
    return YamlText(value, node)


def _check_depth(text: str) -> None:
    """Raises YamlError if a text is too deep: PyYAML's composer, which is in C, would go to any depth."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_LEVELS:
            raise YamlError(event.start_mark.line + 1, f"more than {MAX_LEVELS} objects and lists within each other")


def _check_size(value: Any) -> None:
    """Raises YamlError if a value whose parts are shared by aliases is too large with all of them written out."""
    left, count = [value], 0
    while left:
        one, count = left.pop(), count + 1
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if count + len(left) > MAX_VALUES:
            raise YamlError(1, f"more than {MAX_VALUES:,} values with all aliases written out")


def _advice(text: str, mark: yaml.Mark | None) -> str:
    """Returns advice on the character at which reading stopped; "" if that says nothing."""
    lines = text.split("\n")
    sign = lines[mark.line][mark.column : mark.column + 1] if mark and mark.line < len(lines) else ""
    if sign == "\t":
        return " (a tab; indent with blanks)"
    return f" ({sign}; put the text in quotes)" if sign and sign in "@`%&*!|>:" else ""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader for the types of JSON alone."""

    yaml_implicit_resolvers = {None: [(_TAG + kind, pattern) for kind, pattern in _PLAIN.items()]}  # noqa: RUF012
    yaml_constructors = {None: yaml.constructor.SafeConstructor.construct_undefined}  # noqa: RUF012


def _refusal(node: yaml.Node, reason: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, reason, node.start_mark)


def _read_mapping(loader: Any, node: yaml.Node) -> dict[str, Any]:
    """A mapping; a plain key is its own text, so that `1`, `on` and `null` are the names that they look like."""
    read: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _refusal(key, "expected a text as a key, got a mapping or a sequence")
        if key.value == "<<" and not key.style:
            raise _refusal(key, "the merge key << is no part of YAML 1.2; write $ref or allOf, or an alias")
        if key.value in read:
            raise _refusal(key, f"the key {key.value!r:.80} twice in one mapping")
        read[key.value] = loader.construct_object(item, deep=True)
    return read


def _read_scalar(loader: Any, node: yaml.Node) -> Any:
    kind, text = node.tag.removeprefix(_TAG), loader.construct_scalar(node)
    if kind in _PLAIN and not _PLAIN[kind].match(text):
        raise _refusal(node, f"expected a value of the type {kind}, got {text!r:.80}")
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


for _kind in (*_PLAIN, "str"):
    _Loader.add_constructor(_TAG + _kind, _read_scalar)
_Loader.add_constructor(f"{_TAG}map", _read_mapping)
_Loader.add_constructor(
    f"{_TAG}seq", lambda loader, node: [loader.construct_object(item, deep=True) for item in node.value]
)


def yaml_text(value: Any) -> str:
    """A JSON value as YAML that `read_yaml` reads as the same value; short lists of scalars stand on one line."""
    written: str = yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=110)
    return written


class _Writer(yaml.SafeDumper):  # type: ignore[misc]
    """A dumper that quotes each text which `_Loader` would read as something else, and writes no aliases."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _write_text(writer: Any, text: str) -> Any:
    # PyYAML folds lines at these breaks, which YAML 1.2 and JSON take for other characters.
    quoted = '"' if text == "<<" or any(mark in text for mark in "\x85\u2028\u2029\r") else None
    return writer.represent_scalar(f"{_TAG}str", text, style=quoted)


def _write_list(writer: Any, items: list[Any]) -> Any:
    flat = all(item is None or isinstance(item, (str, bool, int, float, Decimal)) for item in items)
    return writer.represent_sequence(f"{_TAG}seq", items, flow_style=flat and sum(len(str(i)) for i in items) < 80)


_Writer.add_representer(str, _write_text)
_Writer.add_representer(list, _write_list)
_Writer.add_representer(Decimal, lambda writer, number: writer.represent_scalar(f"{_TAG}float", str(number)))
