"""Escaping and traversal of JSON pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Iterator


def escape(name: str) -> str:
    """A property's name as a token of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """The property's name behind a token of a JSON pointer; the inverse of `escape`."""
    return token.replace("~1", "/").replace("~0", "~")


def index_of(token: str) -> int | None:
    """The index of an array's item behind a token; None if it names none. Python reads no longer digits than these."""
    plain = token.isascii() and token.isdecimal() and len(token) <= 18 and (token == "0" or token[0] != "0")
    return int(token) if plain else None


def above(pointer: str) -> Iterator[str]:
    """The pointers of this place and of all places above it, from the root on."""
    yield from (pointer[:at] for at, letter in enumerate(pointer) if letter == "/")
    yield pointer


def lies_within_template(pointer: str, template: str) -> bool:
    """Whether this pointer is a place of a template, whose indices are `*`, or lies below one."""
    steps, own = pointer.split("/"), template.split("/")
    return len(own) <= len(steps) and all(
        name == step or (name == "*" and step.isdecimal()) for name, step in zip(own, steps, strict=False)
    )


def lies_within(pointer: str, place: str) -> bool:
    """Whether this pointer is the place or lies below it."""
    return pointer == place or pointer.startswith(f"{place}/")
