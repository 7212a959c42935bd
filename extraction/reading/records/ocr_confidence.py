"""The confidence of values whose words OCR read."""

from __future__ import annotations

import numpy as np

from cinnabar.extraction.documents.content.document import Document, Evidence


def chance_of_reading(document: Document, evidence: Evidence | None) -> float:
    """Returns the probability that the words behind a value are read as they are printed, 1 for text that no OCR read.

    It is that of the least sure word: a model's confidence says that these words are the value, so the two are
    multiplied. A product over the words would make long texts hopeless, although one poor scan makes all words poor.
    """
    sure = document.words.sure
    if sure is None or evidence is None:
        return 1.0
    words = document.words
    least = 1.0
    for span in evidence.spans:
        first = int(np.searchsorted(words.end, span.start, side="right"))
        last = int(np.searchsorted(words.start, span.end, side="left"))
        least = min(least, float(sure[first:last].min(initial=1.0)))
    return least
