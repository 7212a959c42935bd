"""Shows what runs do: a document's denoising steps, a report of each run, and documents as a page of their own."""

from cinnabar.extraction.watching.steps import WatchedStep, steps_of

__all__ = ["WatchedStep", "steps_of"]
