"""Labelled documents that stand in the prompts of language models, so that a model learns without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled document: its text, and the canonical text of its record."""

    text: str
    record: str


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples of a run by the fingerprint of their form; `fingerprint` names documents and records."""

    fingerprint: str
    by_form: Mapping[str, Sequence[Example]]


def join_examples(given: Sequence[Examples]) -> Examples:
    """Returns the examples of several sources as those of one."""
    if len(given) == 1:
        return given[0]
    by_form: dict[str, list[Example]] = {}
    for one in given:
        for form, own in one.by_form.items():
            by_form.setdefault(form, []).extend(own)
    return Examples(" ".join(one.fingerprint for one in given), by_form)


class HasFingerprint(Protocol):
    """Anything with a fingerprint, which stands for its content."""

    @property
    def fingerprint(self) -> str: ...


def shown_with(model: str, examples: HasFingerprint | None) -> str:
    """Returns the fingerprint of a model that is shown these examples."""
    return model if examples is None else f"{model} examples {examples.fingerprint}"
