"""The most tokens that an answer may take: a model that repeats itself without end has to stop somewhere."""

from __future__ import annotations

from collections.abc import Callable

from cinnabar.schemas.form.form import Form, walk

#: Divisor of the model's window: the share that is kept for an answer.
ANSWER = 4
#: Tokens for each place of the form beside its name and its value: punctuation, `null`, spellings of dates.
PLACE = 12
#: How often each token of the document may stand in the record: most values are copied from it, some of them twice.
COPIES = 2


def beside_answer(tokens: int) -> int:
    """Returns what is left of so many tokens for a prompt, beside the share that is kept for its answer."""
    return tokens - tokens // ANSWER


def answer_budget(form: Form, text: str, count_tokens: Callable[[str], int]) -> int:
    """Returns the most tokens of the record of this text: its words, and the names of the form's places.

    Each line of the text, and each part of one between commas, may begin a row of every list.
    """
    names: dict[bool, list[str]] = {False: [], True: []}
    for node in walk(form.root):
        names["*" in node.path].append(node.path.rsplit("/", 1)[-1])
    once, repeated = (count_tokens(" ".join(names[rows])) + PLACE * len(names[rows]) for rows in (False, True))
    rows = 1 + text.count("\n") + text.count(",")
    return COPIES * count_tokens(text) + once + (repeated * rows if names[True] else 0)
