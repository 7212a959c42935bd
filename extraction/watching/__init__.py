"""Shows what runs do: a document's denoising steps, a report of each run, and documents as a page of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cinnabar.extraction.watching.steps import WatchedStep, steps_of

__all__ = ["WatchedStep", "steps_of"]


def __getattr__(name: str) -> Any:
    # Models and parsers take a second to import, and reports need none of them.
    if name in __all__:
        from cinnabar.extraction.watching import steps

        return getattr(steps, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
