"""The bounds of a slot's values in words, for a model that is asked in words."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from cinnabar.schemas.reading.shape import Number, Shape, String


def bounds_in_words(shape: Shape) -> str:
    """`at least 0 and less than 100, a multiple of 0.01`; of strings `at most 20 characters`; "" for no bound."""
    if isinstance(shape, Number):
        multiples = [f"a multiple of {_plain(step)}" for step in shape.multiples]
        multiples += [f"no multiple of {_plain(step)}" for step in shape.apart]
        return ", ".join(filter(None, [" and ".join(_between(shape)), *multiples]))
    if isinstance(shape, String):
        least = [f"at least {shape.min_length}"] if shape.min_length else []
        most = [] if shape.max_length is None else [f"at most {shape.max_length}"]
        return f"{' and '.join([*least, *most])} characters" if least or most else ""
    return ""


def _between(shape: Number) -> Iterator[str]:
    for words, bound in (
        ("at least", shape.minimum),
        ("more than", shape.exclusive_minimum),
        ("at most", shape.maximum),
        ("less than", shape.exclusive_maximum),
    ):
        if bound is not None:
            yield f"{words} {_plain(bound)}"


def _plain(number: Decimal) -> str:
    """The number without an exponent, as people write it, if that is short."""
    text = f"{number:f}"
    return text if len(text) <= 24 else str(number)
