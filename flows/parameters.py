"""The ranges of the parameters that flows declare themselves, and the refusal of blank ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from cinnabar.schemas.errors import UsageError

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0)]


def check_given(**texts: str | Sequence[str]) -> None:
    """Raises UsageError if one of these parameters, or one of its entries, is blank."""
    empty = [
        name
        for name, value in texts.items()
        if any(not text.strip() for text in ([value] if isinstance(value, str) else value))
    ]
    if empty:
        raise UsageError(
            f"{', '.join(empty)}: expected text, got an empty parameter; in a deployment this happens if"
            " an environment variable was not set when it was deployed: set it and deploy again"
        )
