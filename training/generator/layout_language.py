"""Parses the small language of layouts (described in `families/README.md`) into nodes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Node = tuple[Any, ...]
# The tag of a choice's option for one language only.
_LANGUAGE_TAG = re.compile(r"(en|de|fr|es|it|nl|pt|sv|pl):")
_TOKEN = re.compile(r"\{\{|\}\}|\[\[|\]\]|<<|>>|\||\{(\d+)\}|[\x02\x04\x05]")
_VALUE = re.compile(r"^(?P<path>[^|:]+)(?::(?P<align>[<>]?)(?P<width>\d+))?(?:\|(?P<form>.*))?$", re.S)
_CONDITION = re.compile(
    r"(?:\?(?P<path>[.\w\[\]]+)(?:(?P<op>!?=)(?P<want>[^:\n]*?))?|!(?P<miss>[.\w\[\]]+)|%(?P<share>\d+)):[ ]?"
)


class LayoutError(ValueError):
    """A layout that does not follow the language."""


@lru_cache(maxsize=20000)
def parse(text: str) -> tuple[Node, ...]:
    """Returns the nodes of a layout's text; block directives (`@rows`, `@columns`) stand on lines of their own."""
    text = re.sub(r"@rows ([.\w]+)\n", "\x02rows \\1\n", text)
    text = re.sub(r"^@columns (\d+)\n", "\x02columns \\1\n", text, flags=re.M)
    text = re.sub(r"^@col\n", "\x04", text, flags=re.M)
    text = re.sub(r"@end\n?", "\x05", text)
    nodes, rest = _parse_until(text, 0, ())
    if rest != len(text):
        raise LayoutError(f"unmatched {text[rest : rest + 20]!r}")
    return tuple(nodes)


def _parse_until(text: str, at: int, stop: tuple[str, ...]) -> tuple[list[Node], int]:
    nodes: list[Node] = []
    while True:
        m = _TOKEN.search(text, at)
        if m is None:
            if stop:
                raise LayoutError(f"{stop[0]!r} is missing after {text[max(0, at - 40) : at + 40]!r}")
            if at < len(text):
                nodes.append(("text", text[at:]))
            return nodes, len(text)
        if m.start() > at:
            nodes.append(("text", text[at : m.start()]))
        token = m[0]
        if token in stop:
            return nodes, m.start()
        at = m.end()
        if token == "{{":
            end = text.find("}}", at)
            if end < 0:
                raise LayoutError(f"'}}}}' is missing after {text[at : at + 40]!r}")
            while text[end : end + 3] == "}}}":  # a date's form ends with a brace of its own
                end += 1
            nodes.append(_value(text[at:end]))
            at = end + 2
        elif token == "[[":
            node, at = _section(text, at)
            nodes.append(node)
        elif token == "<<":
            options = []
            while True:
                inner, at = _parse_until(text, at, ("|", ">>"))
                options.append(tuple(inner))
                at += 1 if text[at] == "|" else 2
                if text[at - 1] != "|":
                    break
            fresh = bool(options[0]) and options[0][0][0] == "text" and options[0][0][1].startswith("~")
            if fresh:
                options[0] = (("text", options[0][0][1][1:]), *options[0][1:])
            tagged = any(o and o[0][0] == "text" and _LANGUAGE_TAG.match(o[0][1]) for o in options)
            nodes.append(("choice", tuple(options), fresh, m.start(), tagged))
        elif m[1]:
            nodes.append(("tab", int(m[1])))
        elif token == "\x02":
            head, _, _ = text[at:].partition("\n")
            kind, arg = head.split(" ")
            at += len(head) + 1
            if kind == "rows":
                inner, at = _parse_until(text, at, ("\x05",))
                nodes.append(("rows", arg, "", "", tuple(inner)))
            else:
                left, at = _parse_until(text, at, ("\x04",))
                right, at = _parse_until(text, at + 1, ("\x05",))
                nodes.append(("columns", int(arg), tuple(left), tuple(right)))
            at += 1
        elif token == "|":
            nodes.append(("text", "|"))
        else:
            raise LayoutError(f"unmatched {token!r} after {text[max(0, at - 60) : at]!r}")


def _value(inner: str) -> Node:
    if inner.startswith("="):
        spec, _, form = (
            inner[1:].partition("|") if not inner.startswith(("=code", "=pick")) else (inner[1:], "", "")
        )
        return ("draw", spec.strip(), form)
    if inner.startswith("#"):
        key, _, form = inner[1:].partition("|")
        return ("label", key, form)
    if inner.startswith(">"):
        name, _, count = inner[1:].partition("*")
        return ("pool", name, count or "1")
    m = _VALUE.match(inner)
    if m is None:
        raise LayoutError(f"{{{{{inner}}}}} is not a value: expected path, then :width and |form")
    return ("value", m["path"].strip(), (m["form"] or "").strip(), m["align"] or "<", int(m["width"] or 0))


def _section(text: str, at: int) -> tuple[Node, int]:
    if re.compile(r"\*[.\w]+\|").match(text, at):  # [[*items|, | and |template]]
        head = re.compile(r"\*([.\w]+)\|([^|]*)\|([^|]*)\|").match(text, at)
        if head is None:
            raise LayoutError(
                f"expected rows as [[*path|separator|last separator|text]], got {text[at : at + 40]!r}"
            )
        inner, end = _parse_until(text, head.end(), ("]]",))
        unescape = [head[2].replace("\\n", "\n"), head[3].replace("\\n", "\n")]
        return ("rows", head[1], unescape[0], unescape[1], tuple(inner)), end + 2
    m = _CONDITION.match(text, at)
    inner, end = _parse_until(text, m.end() if m else at, ("]]",))
    if m is None:
        needs = tuple(n[1] for n in inner if n[0] == "value" and not n[1].endswith("@")) + tuple(
            n[1] for n in inner if n[0] == "rows"
        )
        return ("section", needs, tuple(inner)), end + 2
    if m["share"]:
        return ("maybe", int(m["share"]), tuple(inner)), end + 2
    if m["miss"]:
        return ("miss", m["miss"], tuple(inner)), end + 2
    return ("if", m["path"], m["op"] or "", (m["want"] or "").strip(), tuple(inner)), end + 2


@lru_cache(maxsize=8192)
def options_for(options: tuple[tuple[Node, ...], ...], language: str) -> tuple[tuple[Node, ...], ...]:
    """Returns a choice's options for this language (`de:Datum`), else the untagged ones, else the English ones."""
    tags: dict[str, list[tuple[Node, ...]]] = {}
    for option in options:
        text = option[0][1] if option and option[0][0] == "text" else ""
        m = _LANGUAGE_TAG.match(text)
        tags.setdefault(m[1] if m else "", []).append((("text", text[3:]), *option[1:]) if m else option)
    return tuple(tags.get(language) or tags.get("") or tags.get("en") or next(iter(tags.values())))
