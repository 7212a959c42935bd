"""JSON pointers (RFC 6901), and the parts of a JSON value by them."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

_T = TypeVar("_T")

#: Stands for a part that a value does not have.
MISSING: Final = object()


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


def pointer_of(steps: Iterable[object]) -> str:
    """The pointer of these names and indices, from the root on."""
    return "".join(f"/{escape(str(step))}" for step in steps)


def value_at(value: Any, pointer: str) -> Any:
    """The part of a parsed JSON value at this pointer, MISSING if there is none."""
    for step in pointer.split("/")[1:]:
        if isinstance(value, list):
            index = index_of(step)
            value = value[index] if index is not None and index < len(value) else MISSING
        else:
            value = value.get(unescape(step), MISSING) if isinstance(value, dict) else MISSING
    return value


def put_value(value: Any, pointer: str, part: Any = MISSING) -> bool:
    """Writes a part at this place of a parsed JSON value, or removes it, and returns True if it was another one.

    It opens no object, and takes no item out of a list.
    """
    above, _, token = pointer.rpartition("/")
    around = value_at(value, above)
    index = index_of(token)
    if isinstance(around, list) and index is not None and index < len(around) and part is not MISSING:
        changed = bool(around[index] != part)
        around[index] = part
        return changed
    if not isinstance(around, dict):
        return False
    name = unescape(token)
    changed = bool(around.get(name, MISSING) != part)
    # Also what is equal in Python: 1 and true are two values.
    if part is MISSING:
        around.pop(name, None)
    else:
        around[name] = part
    return changed


def parts_of(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """A parsed JSON value and all parts within it, each with its pointer, the outer before the inner."""
    yield pointer, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from parts_of(part, f"{pointer}/{escape(name)}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from parts_of(part, f"{pointer}/{number}")


def above(pointer: str) -> Iterator[str]:
    """The pointers of this place and of all places above it, from the root on."""
    yield from (pointer[:at] for at, letter in enumerate(pointer) if letter == "/")
    yield pointer


def items_named(pointer: str, pointers: Iterable[str]) -> int:
    """How many items an array at the pointer has at least if each of the pointers names a place."""
    start = len(pointer) + 1
    steps = (one[start:].split("/", 1)[0] for one in pointers if one.startswith(f"{pointer}/"))
    return max((int(step) + 1 for step in steps if step.isdecimal()), default=0)


def lies_in(pointer: str, places: Container[str]) -> bool:
    """Whether this pointer is one of the places or lies below one."""
    return any(one in places for one in above(pointer))


def within(parts: Mapping[str, _T], places: Collection[str]) -> dict[str, _T]:
    """What of these parts by pointers lies in one of the places."""
    return {at: part for at, part in parts.items() if lies_in(at, places)} if places else {}


def outside(parts: Mapping[str, _T], places: Collection[str]) -> dict[str, _T]:
    """What of these parts by pointers lies in none of the places."""
    return {at: part for at, part in parts.items() if not lies_in(at, places)} if places else {**parts}


def innermost(pointer: str, places: Container[str]) -> str:
    """The innermost of these places, but the root, that this one lies in or is; "" if it lies in none."""
    while pointer and pointer not in places:
        pointer = pointer.rpartition("/")[0]
    return pointer


def template_of(pointer: str, value: Any) -> str:
    """The pointer with `*` for each index into an array of this value: `/lines/*/n` for `/lines/3/n`."""
    steps = []
    for step in pointer.split("/")[1:]:
        if isinstance(value, list):
            steps.append("*")
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        else:
            steps.append(step)
            value = value.get(unescape(step)) if isinstance(value, dict) else None
    return "".join("/" + step for step in steps)


def lies_within_template(pointer: str, template: str) -> bool:
    """Whether this pointer is a place of a template, whose indices are `*`, or lies below one."""
    steps, own = pointer.split("/"), template.split("/")
    return len(own) <= len(steps) and all(
        name == step or (name == "*" and step.isdecimal()) for name, step in zip(own, steps, strict=False)
    )


def lies_within(pointer: str, place: str) -> bool:
    """Whether this pointer is the place or lies below it."""
    return pointer == place or pointer.startswith(f"{place}/")
