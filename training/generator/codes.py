"""Draws codes by a pattern such as `INV-####`: numbers of invoices, telephones and accounts."""

from __future__ import annotations

import random
import re
from functools import lru_cache


@lru_cache(maxsize=4096)
def code_pattern(code: str) -> str:
    """Returns the regular expression (ECMA-262) of a code's pattern."""
    marks = {"#": "[0-9]", "@": "[A-Z]", "*": "[A-Z0-9]", "%": "[0-9a-f]"}
    return "^" + "".join(marks.get(c) or re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", c) for c in code) + "$"


def draw_code(rng: random.Random, code: str) -> str:
    """Draws a code by its pattern: `#` a digit, `@` a capital, `*` either, `%` a hex digit, all else literal."""
    out = []
    for i, c in enumerate(code):
        if c == "#":
            out.append(rng.choice("123456789" if i == 0 else "0123456789"))
        elif c == "@":
            out.append(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ"))
        elif c == "*":
            out.append(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"))
        elif c == "%":
            out.append(rng.choice("0123456789abcdef"))
        else:
            out.append(c)
    return "".join(out)
