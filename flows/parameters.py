"""The types of the flow's parameters, with the ranges that Prefect's form holds them to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from cinnabar.schemas.errors import UsageError

Device = Literal["auto", "cpu", "cuda"]
Effort = Literal["instant", "low", "medium", "high"]
OnMissing = Literal["quarantine", "guess"]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]


class Server(BaseModel):
    """How a model behind a server is asked; money as text. Its key is in the environment, no parameter."""

    model_config = ConfigDict(extra="forbid")

    base_url: str | None = Field(default=None, description="Where mercury-2 or openai:NAME is served.")
    budget: str | None = Field(default=None, description="Dollars to ask for at most; 0 only tells the cost.")
    prices: str | None = Field(default=None, description="IN,CACHED,OUT: dollars for a million tokens.")
    concurrency: Count | None = Field(default=None, description="Requests under way at a time.")
    requests_per_minute: Count | None = Field(default=None, description="Requests in any minute, at most.")
    tokens_per_minute: Count | None = Field(default=None, description="Tokens sent in any minute, at most.")
    timeout: float | None = Field(default=None, description="Seconds that a whole answer may take.")


def check_given(**texts: str | Sequence[str]) -> None:
    """Raise UsageError where one of these parameters says nothing, or one of its entries does."""
    empty = [
        name
        for name, said in texts.items()
        if any(not text.strip() for text in ([said] if isinstance(said, str) else said))
    ]
    if empty:
        raise UsageError(
            f"{', '.join(empty)}: expected text, got an empty parameter; in a deployment this is so where"
            " an environment variable was not set when it was deployed: set it and deploy again"
        )
