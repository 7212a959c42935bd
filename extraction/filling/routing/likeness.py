"""Compares documents with kinds of documents: features of each pair, and the probabilities that follow from them.

A document is of no schema's kind if common kinds that differ from all of the schemas fit it better: a letter resembles
"a message to an insurer" more than "a recipe", but "a private letter" most.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cinnabar.engine.version import values_version
from cinnabar.errors import SchemaError
from cinnabar.schemas import SchemaSource, compile_schema

Floats = npt.NDArray[np.float32]

_HERE = Path(__file__).parent
_KINDS, VECTORS, FITTED = _HERE / "common_kinds.toml", _HERE / "common_kinds.safetensors", _HERE / "fit.json"
# A changed one changes routes: raise the part `routing` (engine/version.py).
#: A name counts as printed from this likeness on.
PRINTED_NAME = 0.6
#: A common kind differs from a schema's kind below this cosine of their headings.
DIFFERENT_KIND = 0.4
#: A text of this many words or more is not short.
SHORT_TEXT = 25
#: So many of the likest examples count.
LIKEST_EXAMPLES = 3
#: Added to the deviation of a feature among the common kinds, by which the feature is divided.
LEAST_DEVIATION = 0.01
#: The most fields of a schema that are compared, in the order of the form.
COMPARED_FIELDS = 24
#: The features of a document and a kind, each 0 to 1. `labels`: how alike the names of fields are to words that the
#: document prints, on average; `printed`: the share of names that it prints; `title`, `words`: the same for the
#: title and for the words of title and description (in the beginning of the document); `heading`, `outline`: the cosine
#: of its first passages with title and description, and with the names of the fields after them.
FEATURES = ("labels", "printed", "title", "words", "heading", "outline")
# Words of a description that say nothing about a kind.
_COMMON = re.compile(
    "a|an|the|of|or|and|to|in|on|for|with|by|that|which|are|is|was|it|its|as|at|from|one|each|what|who|when|where|how"
    "|many|much|whom|than|no|not|null|if|into|this|these|their|be|been|has|have|only|also|date|name|number"
)


@dataclass(frozen=True)
class RoutingFit:
    """The coefficients of the features, and those that turn likeness to examples into log odds.

    `bias` is added to the score of no kind: a soft maximum over common kinds, the harder the larger `sharpness`.
    `short` is added for each unit by which the logarithm of a text's words is below that of a short text.
    """

    weights: Floats
    bias: float
    sharpness: float
    examples: Floats
    examples_bias: float
    short: float = 0.0
    fingerprint: str = ""


@lru_cache(maxsize=1)
def routing_fit() -> RoutingFit:
    """Returns the coefficients that ship; the fingerprint is that of all code and data of the comparison."""
    fitted = json.loads(FITTED.read_text(encoding="utf-8"))
    return RoutingFit(
        np.array([fitted["features"][name] for name in FEATURES], np.float32),
        fitted["bias"],
        fitted["sharpness"],
        np.array([fitted["examples"][name] for name in ("kind", "likeness", "against_own")], np.float32),
        fitted["examples"]["bias"],
        fitted["short"],
        _fingerprint(),
    )


def _fingerprint() -> str:
    """Returns a hash of the rules: of the version of their code and of their data."""
    version, data = values_version("routing"), hashlib.sha256()
    for path in (_KINDS, VECTORS, FITTED):
        data.update(path.read_bytes())
    return hashlib.sha256(f"{version} {data.hexdigest()}".encode()).hexdigest()[:16]


def common_kinds() -> list[Kind]:
    """Returns the kinds that a schema's kind is compared with."""
    kinds = tomllib.loads(_KINDS.read_text(encoding="utf-8"))
    return [
        Kind(title, f"{title}: {about['description']}", tuple(about["fields"].split(", ")))
        for title, about in kinds.items()
    ]


def words_of_heading(kind: Kind) -> list[str]:
    """Returns the words of title and description that say something about the kind, the first twenty."""
    words = re.findall(r"[^\W\d_]{3,}", kind.heading.lower())
    return list(dict.fromkeys(word for word in words if not _COMMON.fullmatch(word)))[:20] or [kind.title]


@dataclass(frozen=True)
class Kinds:
    """Kinds as vectors. heading, outline: [K, 384] unit vectors; labels, titles, words: phrase vectors [n, 64] each."""

    heading: Floats
    outline: Floats
    labels: Sequence[Floats]
    titles: Sequence[Floats]
    words: Sequence[Floats]

    def likeness(self, page: PageVectors) -> Floats:
        """Returns the features of this document with each kind: [K, FEATURES]."""
        labels = [(rows @ page.phrases.T).max(1) for rows in self.labels]
        columns = [
            [float(one.mean()) for one in labels],
            [float((one > PRINTED_NAME).mean()) for one in labels],
            [float((rows @ page.phrases.T).max()) for rows in self.titles],
            [float((rows @ page.first_phrases.T).max(1).mean()) for rows in self.words],
            (self.heading @ page.passages.T).mean(1),
            (self.outline @ page.passages.T).mean(1),
        ]
        return np.stack([np.asarray(column, np.float32) for column in columns], 1)


@dataclass(frozen=True)
class PageVectors:
    """The beginning of a document as vectors: passages [P, 384], phrases [n, 64], and those of the first lines.

    `words` is the number of its words.
    """

    passages: Floats
    phrases: Floats
    first_phrases: Floats
    words: int

    @property
    def mean(self) -> Floats:
        """Returns the unit vector of the document: [384]."""
        mean: Floats = self.passages.mean(0)
        return mean / max(float(np.linalg.norm(mean)), 1e-6)


def standardize(features: Floats, common: Floats) -> Floats:
    """Returns features in deviations from their mean over the common kinds: [K, FEATURES].

    The features of a page in another language than English, or of a short one, differ less from kind to kind.
    """
    scaled: Floats = (features - common.mean(0)) / (common.std(0) + LEAST_DEVIATION)
    return scaled


def differs_from_kinds(alike: Floats) -> npt.NDArray[np.bool_]:
    """Returns which common kinds differ from all of the schemas' kinds, [C]; `alike`: [K, C], cosines of headings."""
    different: npt.NDArray[np.bool_] = np.all(alike < DIFFERENT_KIND, axis=0, keepdims=True)[0]
    return different if different.any() else np.ones_like(different)


def log_odds(own: Floats, common: Floats, alike: Floats, words: int, fitted: RoutingFit) -> Floats:
    """Returns the log odds of each kind against no kind, [K].

    own: [K, FEATURES]; common: [C, FEATURES]; alike: [K, C], the cosines of the headings; words: of the document.
    """
    scores = standardize(own, common) @ fitted.weights
    others = (standardize(common, common) @ fitted.weights)[differs_from_kinds(alike)] * fitted.sharpness
    top = float(others.max())
    none = (top + float(np.log(np.exp(others - top).sum()))) / fitted.sharpness + fitted.bias
    none += fitted.short * shortness(words)
    odds: Floats = scores - np.float32(none)
    return odds


def shortness(words: int) -> float:
    """Returns how short a text of so many words is, 0 from a few lines on: few words seldom tell a kind."""
    return max(0.0, math.log(SHORT_TEXT) - math.log(1 + words))


def example_features(page: PageVectors, examples: Floats) -> tuple[float, float]:
    """Returns the likeness of a document to the likest examples, and its difference to that among the examples."""
    likest = _likest(examples @ page.mean, len(examples))
    among = examples @ examples.T
    np.fill_diagonal(among, -1.0)
    own = float(np.mean([_likest(row, len(examples) - 1) for row in among]))
    return likest, likest - own


def _likest(cosines: Floats, count: int) -> float:
    return float(np.sort(cosines)[-max(1, min(LIKEST_EXAMPLES, count)) :].mean())


def probabilities(logits: Floats) -> Floats:
    """Returns the probabilities of the kinds from their log odds against no kind: [K]; the rest to one is no kind's."""
    top = max(0.0, float(logits.max()))
    odds = np.exp(logits - top)
    chances: Floats = odds / (odds.sum() + np.exp(-top))
    return chances


@dataclass(frozen=True, slots=True)
class Kind:
    """The title of a schema, title and description together (`heading`), and the names of its fields."""

    title: str
    heading: str
    labels: tuple[str, ...]


def check_described(source: SchemaSource) -> str:
    """Returns the description of a schema. Raises SchemaError if it has none."""
    description = source.schema.get("description") if isinstance(source.schema, dict) else None
    if not isinstance(description, str) or not description.strip():
        raise SchemaError(
            f"{source.name}: expected the description of a kind of document at /description, by which documents are"
            " sorted, got none; add one in a sentence, as in \"A shop's receipt: what was bought, when, for how much.\""
        )
    return description.strip()


def kind_of(source: SchemaSource) -> Kind:
    """Returns the kind of document that this schema describes. Raises SchemaError if it has no description."""
    # Cold start: it imports torch.
    from cinnabar.engine.models.reader.inputs.questions import form_questions

    description = check_described(source)
    form = compile_schema(source.schema).form
    asked = form_questions(form)
    # A choice of a whole record's form has no name.
    named = [q for slot, q in zip(form.slots, asked.slots, strict=True) if slot.path]
    questions = [q for q in (*named, *asked.arrays) if q.label]
    labels = list(dict.fromkeys(question.label for question in questions))
    title = (isinstance(source.schema, dict) and source.schema.get("title")) or source.name
    return Kind(title, f"{title}: {description}", tuple(labels[:COMPARED_FIELDS]))
