"""Pages and drawings for people, made of the templates in `templates/`: each is one file that fetches nothing.

A template writes every value escaped, with control and direction characters as visible escapes. Its page's policy
allows its own style alone, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cinnabar.schemas.wording import with_noun

# Characters that are not shown, or that turn the text around them; a lone surrogate has no bytes in UTF-8.
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


def render(template: str, **values: Any) -> str:
    """Returns the page that a template makes of these values."""
    return _environment().get_template(template).render(values)


def visible(text: object) -> str:
    """Returns a text with control and direction characters as visible escapes."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if hasattr(value, "__html__") else visible(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"counted": with_noun, "policy": _policy}
    return made


def _policy(style: str) -> str:
    """Returns the hash of a style for a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
