"""Learns vectors for letter n-grams from the names of concepts in several languages.

Each line of `training/generator/concepts/*.tsv` is a concept: its names in schemas, then its printed labels in English,
German, French, Spanish, Italian, Dutch, Portuguese and Polish. The concepts of the families of pages and the fields of
families, each with its names, are concepts too. Each of two names of one concept has to find the other among the names
of a few hundred other concepts (InfoNCE; van den Oord et al. 2018, arXiv 1807.03748). A name that belongs to two
concepts does not count as wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cinnabar.engine.models.reader.inputs.letter_ngrams import BUCKETS, spelt_names
from cinnabar.engine.models.reader.inputs.questions import words_of
from cinnabar.engine.models.reader.inputs.wordpieces import WordPieces
from cinnabar.engine.models.reader.network.lexical_signals import VALUES, name_vectors
from training.generator.family import family_names, load_family

#: The languages of the lexicon's columns, after the column of names in schemas.
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl")
#: Concepts of a batch; temperature of the softmax; learning rate.
CONCEPTS, TEMPERATURE, RATE = 256, 0.07, 3e-3
#: The sampling weight of a field of a family, against 1 for a line of the lexicon: its names are fewer and looser.
OF_FAMILIES = 0.15

Concepts = list[list[str]]
#: A name as the ids of its word pieces.
Pieces = tuple[int, ...]


def columns() -> list[dict[str, list[str]]]:
    """Returns the concepts of the lexicon and of the families of pages: names in schemas and labels by language."""
    keys = ("names", *LANGUAGES)
    lines = [
        line.split("\t")
        for path in sorted((Path(__file__).parent / "generator" / "concepts").glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    concepts = [dict(zip(keys, line, strict=True)) for line in lines]
    for family, table in (("random_pages", "concepts"), ("random_sections", "roles")):
        concepts += load_family(family).extra[table].values()
    return [{key: _names(words.get(key, ""), key == "names") for key in keys} for words in concepts]


def lexicon() -> Concepts:
    """Returns the names of each concept, from all columns."""
    return [[name for names in concept.values() for name in names] for concept in columns()]


def _names(column: str, of_schemas: bool) -> list[str]:
    """Returns names in schemas split into words, and labels as printed."""
    names = [part.strip() for part in column.split("|")]
    return [words_of(name) if of_schemas else name for name in names if name]


def names_of_fields() -> Concepts:
    """Returns the names of each field of a family that has several."""
    families = [family for name in family_names() if not (family := load_family(name)).held_out]
    fields = [f for family in families for f in family.fields.values()]
    return [[words_of(name) for name in f.names] for f in fields if len(f.names) > 1]


def fit_letters(
    wordpieces: WordPieces,
    concepts: Concepts | None = None,
    fields: Concepts | None = None,
    steps: int = 3000,
    seed: int = 0,
    report: Callable[[int, float], None] = lambda *_: None,
) -> Tensor:
    """Returns the table of letter n-grams, [BUCKETS, VALUES], learned from the lexicon and families or other concepts.

    Training takes some five minutes on one core.
    """
    distinct: dict[Pieces, int] = {}
    own = _numbered(lexicon() if concepts is None else concepts, wordpieces, distinct)
    loose = _numbered(names_of_fields() if fields is None else fields, wordpieces, distinct)
    names = torch.from_numpy(spelt_names(list(distinct), wordpieces)).int()
    groups = own + loose
    weights = [1.0] * len(own) + [OF_FAMILIES] * len(loose)
    rng = random.Random(seed)
    torch.manual_seed(seed)
    table = nn.Parameter(torch.randn(BUCKETS, VALUES) * 0.02)
    optimizer = torch.optim.Adam([table], lr=RATE)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, 2 * (steps - step) / steps)
        drawn = [groups[k] for k in dict.fromkeys(rng.choices(range(len(groups)), weights, k=CONCEPTS))]
        one, other = zip(*(rng.sample(sorted(concept), 2) for concept in drawn), strict=True)
        alike = name_vectors(table, names[list(one)]) @ name_vectors(table, names[list(other)]).T
        pairs = list(zip(one, other, drawn, strict=True))
        shared = torch.tensor([[a in theirs or b in ours for _, b, theirs in pairs] for a, _, ours in pairs])
        right = torch.arange(len(drawn))
        shared[right, right] = False
        alike = (alike / TEMPERATURE).masked_fill(shared, -torch.inf)
        loss = (F.cross_entropy(alike, right) + F.cross_entropy(alike.T, right)) / 2
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 100 == 0:
            report(step, float(loss.detach()))
    with torch.no_grad():
        table[0] = 0.0
    return table.detach()


def _numbered(
    concepts: Concepts, wordpieces: WordPieces, distinct: dict[Pieces, int]
) -> list[frozenset[int]]:
    """Returns the names of concepts by number, without concepts of one name; adds new names to `distinct`."""
    found = []
    for names in concepts:
        pieces = [wordpieces.ids(name) for name in names]
        lettered = [own for own in pieces if any(wordpieces.lettered[one] for one in own)]
        numbers = frozenset(distinct.setdefault(own, len(distinct)) for own in lettered)
        if len(numbers) > 1:
            found.append(numbers)
    return found
