"""Chooses the documents whose labels would teach a model most.

A set of documents is the better, the more of the others have one like them in it, and the more doubt about each field
it holds. Both parts have diminishing returns (a submodular function, which the greedy choice brings to within 1 - 1/e
of its best: Nemhauser, Wolsey and Fisher 1978; with few labels, typical documents of many kinds teach more than unsure
ones: Hacohen, Dekel and Weinshall 2022, arXiv 2202.02794).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cinnabar.engine.few_shot import plain, rarity_of, trigrams, weighed

_Doubles = npt.NDArray[np.float64]

#: The weight of doubt beside that of likeness; both count from 0 for no document to 1 for all. Doubt chose documents
#: that are unlike the others: areas under F1 of two sets were 7.5% below those of random choice with doubt alone, 1.2%
#: below without it (`bench/choice_report.py`).
DOUBT = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be labelled, or is: its text, and the expected number of wrong values of each field."""

    text: str
    doubts: Mapping[str, float] = field(default_factory=dict)


def labelling_order(
    candidates: Sequence[Candidate], count: int, labelled: Sequence[Candidate] = (), doubt: float = DOUBT
) -> list[int]:
    """Returns the indices of at most `count` candidates, those that teach most first, beside the labelled ones."""
    if not candidates:
        return []
    every = [*labelled, *candidates]
    alike = _likeness([one.text for one in every])
    doubts = _doubts(every)
    # Documents that are labelled need none like them.
    wanted = alike[len(labelled) :]
    covered = wanted[:, : len(labelled)].max(1, initial=0.0)
    mass = doubts[: len(labelled)].sum(0)
    whole = np.sqrt(doubts.sum(0))
    chosen: list[int] = []
    left = np.arange(len(candidates))
    while len(left) and len(chosen) < count:
        columns = wanted[:, len(labelled) + left]
        likeness = np.maximum(columns - covered[:, None], 0).sum(0) / len(wanted)
        doubted = np.sqrt(mass + doubts[len(labelled) + left]) - np.sqrt(mass)
        gains = (1 - doubt) * likeness + doubt * doubted.sum(1) / max(whole.sum(), 1e-9)
        best = int(left[int(np.round(gains, 12).argmax())])
        chosen.append(best)
        covered = np.maximum(covered, wanted[:, len(labelled) + best])
        mass = mass + doubts[len(labelled) + best]
        left = left[left != best]
    return chosen


def _likeness(texts: Sequence[str]) -> _Doubles:
    """Returns how alike these texts are, [N, N], from 0 to 1."""
    counts = np.stack([trigrams(plain(text)) for text in texts])
    vectors = weighed(counts, rarity_of(counts))
    found: _Doubles = vectors @ vectors.T
    return found


def _doubts(every: Sequence[Candidate]) -> _Doubles:
    """Returns the doubts of these documents by field: [N, F]."""
    fields = sorted({name for one in every for name in one.doubts})
    return np.array([[one.doubts.get(name, 0.0) for name in fields] for one in every]).reshape(len(every), -1)
