"""The meaning of a level of effort for a language model that denoises blocks, and the most tokens of an answer.

A model that repeats itself without end has to stop somewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import EFFORTS
from cinnabar.schemas.form.form import Form, walk

#: No block is longer than this, so a level with as many passes commits one token a pass where all are unsure.
MOST_PASSES = 64
#: Divisor of the model's window: the share that is kept for an answer.
ANSWER_DIVISOR = 4
#: Tokens for each place of the form beside its name and its value: punctuation, `null`, spellings of dates.
PLACE_TOKENS = 12
#: How often each token of the document may stand in the record: most values are copied from it, some of them twice.
TOKEN_COPIES = 2
#: The fewest tokens of a passage that are worth a request.
LEAST_PASSAGE = 64


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """The settings of the denoising loop."""

    #: The name of the effort, part of the engine's fingerprint.
    name: str
    #: The least posterior at which a token is committed before its turn.
    threshold: float
    #: The most passes of one block since it was opened; the last one commits all that is open.
    passes: int
    #: How often a full block may be opened again, by a model that was trained on wrong tokens (`Traits.revises`). Of
    #: any other one the least certain tokens would have to be masked before they can be doubted: on 24 held-back pages
    #: that took up to 14% more passes, and of 73 tokens that were masked again none mended or broke a value.
    rounds: int
    #: A committed token is masked again if its posterior, given all others, falls below this ...
    doubt: float = 0.3
    #: ... and another token's is higher by at least this.
    margin: float = 0.2
    #: The most passes of an answer, which ends then with what it has; None for any number. Blocks of one token, those
    #: of causal models, have one pass each, so that threshold, passes and rounds mean nothing to them.
    passes_in_all: int | None = None


SETTINGS = {
    settings.name: settings
    for settings in (
        DecodingSettings("instant", threshold=0.0, passes=1, rounds=0),
        DecodingSettings("low", threshold=0.7, passes=4, rounds=0),
        DecodingSettings("medium", threshold=0.9, passes=MOST_PASSES, rounds=1),
        DecodingSettings("high", threshold=0.97, passes=MOST_PASSES, rounds=2),
    )
}
assert SETTINGS.keys() == EFFORTS.keys()


def settings_for(traits: Traits, effort: str, passes: int | None = None) -> DecodingSettings:
    """Returns the settings of this effort for a model, with its own `passes` if given: of a block, or of an answer.

    Medium has the threshold of the model's authors, if they tell one.
    """
    settings = SETTINGS[effort]
    if effort == "medium" and traits.threshold is not None:
        settings = replace(settings, threshold=traits.threshold)
    if passes is None:
        return settings
    return replace(settings, passes=passes, passes_in_all=passes if traits.block == 1 else None)


def beside_answer(tokens: int) -> int:
    """Returns what is left of so many tokens for a prompt, beside the share that is kept for its answer."""
    return tokens - tokens // ANSWER_DIVISOR


def answer_budget(form: Form, text: str, count_tokens: Callable[[str], int]) -> int:
    """Returns the most tokens of the record of this text: its words, and the names of the form's places.

    Each line of the text, and each part of one between commas, may begin a row of every list.
    """
    names: dict[bool, list[str]] = {False: [], True: []}
    for node in walk(form.root):
        names["*" in node.path].append(node.path.rsplit("/", 1)[-1])
    once, repeated = (count_tokens(" ".join(names[rows])) + PLACE_TOKENS * len(names[rows]) for rows in (False, True))
    rows = 1 + text.count("\n") + text.count(",")
    return TOKEN_COPIES * count_tokens(text) + once + (repeated * rows if names[True] else 0)
