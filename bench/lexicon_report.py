"""Measures how often a label that the letter vectors never saw is nearest to a name of its own concept.

Some names of each concept of the lexicon with more than four names are left out, over all languages; the vectors are
learned from the rest. The report gives, for each language, the number of names left out, and the share of them whose
nearest other name belongs to the same concept. A name that differs from a known one of its concept only in case or
accents is not counted. It takes some six minutes on one core; `make lexicon-report`.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.models.loading import load_network
from cinnabar.engine.models.reader.network.phrase_vectors import vectors_of
from cinnabar.engine.training.lexicon import LANGUAGES, columns, fit_letters

#: The share of names that are left out, and the least number of names of a concept that loses any.
LEFT_OUT, FROM = 0.08, 5


def main() -> None:
    """Prints the report."""
    _, wordpieces = load_network(SHIPPED)
    rng = random.Random(0)
    kept: list[list[str]] = []
    asked: list[tuple[str, str, int]] = []
    for concept in columns():
        own = [(language, name) for language, names in concept.items() for name in names]
        out = [one for one in own if len(own) >= FROM and rng.random() < LEFT_OUT]
        names = [name for one in own if one not in out for name in one[1:]]
        known = {wordpieces.ids(name) for name in names}
        asked += [(language, name, len(kept)) for language, name in out if wordpieces.ids(name) not in known]
        kept.append(names)
    table = fit_letters(wordpieces, kept, report=_say)
    of: dict[str, set[int]] = defaultdict(set)
    for k, names in enumerate(kept):
        for name in names:
            of[name].add(k)
    known_names = list(of)
    letters = table.numpy()
    vectors = vectors_of(letters, known_names, wordpieces)
    likest = (vectors_of(letters, [name for _, name, _ in asked], wordpieces) @ vectors.T).argmax(-1)
    right, count = Counter[str](), Counter[str]()
    for (language, _, truth), found in zip(asked, likest.tolist(), strict=True):
        count[language] += 1
        right[language] += truth in of[known_names[found]]
    print(f"{len(kept)} concepts, {len(known_names)} distinct names known, {len(asked)} left out")
    for language in ("names", *LANGUAGES):
        print(f"{language:6} {right[language] / max(1, count[language]):.2f} of {count[language]}")
    print(f"all    {sum(right.values()) / len(asked):.2f}")


def _say(step: int, loss: float) -> None:
    if step % 1000 == 0:
        print(f"step {step}: loss {loss:.2f}", flush=True)


if __name__ == "__main__":
    main()
