"""All priors by name, and their scores for the slots of a form in the windows of a passage.

They are computed once for a form and a passage; their scores are added to the network's for the pieces of each window.
Three are here. Label prior: the value of a field stands behind its label on a line, or below it if nothing stands
behind; the stretch there is likelier the start of its field's value, and less likely that of other fields. Example
prior: text with the figures and signs of a schema's example ("Dosing scheme, e.g. 1-0-1") is likelier a value, under
any label in the document; the shape of words tells nothing. Absence prior: the scores of the likeliest place for a
value tell how likely it is that there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, takewhile

import numpy as np
import torch
from torch import Tensor

from cinnabar.engine.models.reader.inputs.tensors import Window
from cinnabar.engine.models.reader.priors.config import PriorConfig
from cinnabar.engine.models.reader.priors.heading_prior import heading_prior
from cinnabar.engine.models.reader.priors.labels import fields_of_record
from cinnabar.engine.models.reader.priors.list_prior import list_prior
from cinnabar.engine.models.reader.priors.name_matching import Floats
from cinnabar.engine.models.reader.priors.party_prior import party_prior
from cinnabar.engine.models.reader.priors.prior import Prior, PriorInput, PriorScores
from cinnabar.engine.models.reader.priors.table_prior import table_prior
from cinnabar.schemas.form.form import ArrayNode, Form, Slot

#: The most characters of an example; the fewest of its parts, because "550" looks like any number; the characters that
#: are searched for several examples.
EXAMPLE_LONGEST, EXAMPLE_PARTS, EXAMPLES_WITHIN = 40, 2, 160


def label_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the fields of the record by their labels: -others to own."""
    config, table, fields = given.config.label_prior, given.config.table_prior, fields_of_record(given.form)
    scores = np.zeros((len(fields), given.pieces), np.float32)
    for label in given.labels:
        first, until, claims = label.first, label.until, label.claims
        brief = min(1.0, config.brief / (until - first))
        other_claims = claims.max() - claims
        # A cell below its head is the field's as surely as one of a list.
        own, others = (table.own, table.others) if label.is_head else (config.own, config.others)
        scores[:, first:until] = brief * (own * claims - others * other_claims)[:, None]
        scores[:, first + 1 : until] -= brief * config.inside * claims[:, None]
    return PriorScores(values={path: own for path, own in zip(fields, scores, strict=True) if own.any()})


#: The phrases that introduce an example in a description.
_INTRODUCED = re.compile(
    r"(?<!\w)(?:e\. ?g\.|eg\.|such as|for example|for instance|z\. ?B\.|zum Beispiel|p\. ?ex\.|par exemple|"
    r"p\. ?ej\.|por ejemplo|ad es\.|ad esempio|bijv\.|bijvoorbeeld|np\.|na przykład|por exemplo)[,:]?\s+",
    re.IGNORECASE,
)
#: The end of the examples, and the separators between two of them.
_ENDED = re.compile(r"[;)\n]|\.(?=\s|$)")
_BETWEEN = re.compile(r",(?!\d)|\s(?:or|and|oder|und|ou|et|o|e|of|en|lub|i)\s")
_QUOTES = "\"'`“”‘’„«» "
_CAPITALS = "".join(c for c in map(chr, range(ord("A"), 0x530)) if c.isupper())


@lru_cache(maxsize=256)
def patterns_of(form: Form) -> Mapping[str, re.Pattern[str]]:
    """Returns the patterns of the values of fields with telling examples, by the fields' paths."""
    patterns = {}
    for slot in form.slots:
        looks = dict.fromkeys(pattern for example in _examples(slot) if (pattern := _pattern(example)))
        if looks:
            patterns[slot.path] = re.compile(rf"(?<!\w)(?:{'|'.join(looks)})(?!\w)")
    return patterns


def example_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the fields with examples: 0 or `own`."""
    page, scores = given.page, {}
    pieces = page.columns.pieces
    for path, pattern in patterns_of(given.form).items():
        places = [pieces.at(match.start()) for match in pattern.finditer(page.text)]
        if places:
            scores[path] = np.zeros(len(pieces), np.float32)
            scores[path][places] = given.config.example_prior.own
    return PriorScores(values=scores)


def _examples(slot: Slot) -> Iterator[str]:
    """Yields the examples of a field that takes texts unchanged."""
    if not slot.free or slot.options:
        return
    yield from (str(json.loads(example)).strip() for example in slot.examples)
    for match in _INTRODUCED.finditer(slot.description):
        rest = slot.description[match.end() : match.end() + EXAMPLES_WITHIN]
        clause = _ENDED.split(rest, maxsplit=1)[0]
        listed = _BETWEEN.split(clause)
        if len(clause) == EXAMPLES_WITHIN:
            # The cut may have split the last one.
            listed.pop()
        # The sentence may continue behind the last one.
        yield from takewhile(_pattern, (example.strip(_QUOTES) for example in listed))


def _pattern(example: str) -> str:
    """Returns the pattern of texts that look like an example, or "" if its look tells nothing.

    Figures stand for figures, letters for letters, capitals for capitals; signs for themselves.
    """
    if not any(map(str.isdecimal, example)) or len(example) > EXAMPLE_LONGEST:
        return ""
    # A number with decimals has the pattern of one without. "1.2.3" is no number: its signs stay.
    example = re.sub(r"(?<![\d.,])(\d+)[.,]\d+(?![.,]?\d)", r"\1", example)
    decimals = "" if re.search("[.,]", example) else r"(?:[.,]\d++)?"
    parts = [(kind, "".join(own)) for kind, own in groupby(example, _kind)]
    return "".join(_part(kind, own, decimals) for kind, own in parts) if len(parts) >= EXAMPLE_PARTS else ""


def _kind(character: str) -> str:
    if character.isdecimal():
        return "figure"
    if character.isalnum():
        return "capital" if character in _CAPITALS else "letter"
    return "blank" if character.isspace() else character


def _part(kind: str, own: str, decimals: str) -> str:
    """Returns the pattern of a part of an example; long numbers keep their count of figures."""
    if kind == "figure":
        return rf"\d{{{len(own)}}}" if len(own) > 3 else rf"\d{{1,3}}{decimals}"
    if kind == "capital":
        return f"[{_CAPITALS}]++"
    if kind == "letter":
        return rf"[^\W\d_{_CAPITALS}]++"
    return "[ \u00a0]+" if kind == "blank" else re.escape(own)


#: The priors of places, in their order: if two score the beginnings of an array's items, the first one counts.
PRIORS: dict[str, Prior] = {
    "label_prior": label_prior,
    "table_prior": table_prior,
    "list_prior": list_prior,
    "heading_prior": heading_prior,
    "party_prior": party_prior,
    "example_prior": example_prior,
}


class Priors:
    """The scores of a passage's pieces for the values of a form, and for the items of its lists."""

    def __init__(self, given: PriorInput) -> None:
        self._values: dict[str, Floats] = {}
        self._objects: dict[str, Floats] = {}
        self._rows: dict[str, Floats] = {}
        for name, prior in PRIORS.items():
            if given.config.applies(name):
                scores = prior(given)
                _add(self._values, scores.values)
                _add(self._objects, scores.objects)
                self._rows = {**scores.rows, **self._rows}

    def starts(self, windows: Sequence[Window], slots: Sequence[Sequence[Slot]], size: int, width: int) -> Floats:
        """Returns the log odds that the slots of each of N windows, `size` at most, start at each piece: [N, S, T]."""
        scores = np.zeros((len(windows), size, width), np.float32)
        for i, (w, own) in enumerate(zip(windows, slots, strict=True)):
            for j, slot in enumerate(own):
                parent, _, name = slot.path.rpartition("/")
                # The heading of a list says nothing about the text of an item.
                of_object = self._objects.get(parent) if name != "*" else None
                for prior in (self._values.get(slot.path), of_object):
                    if prior is not None:
                        scores[i, j, 1 : w.last - w.first + 1] += prior[w.first : w.last]
        return scores

    def rows(self, windows: Sequence[Window], arrays: Sequence[ArrayNode], width: int) -> Floats:
        """Returns the log odds that an item of each of A lists begins at each piece of N windows: [N, A, T]."""
        scores = np.zeros((len(windows), len(arrays), width), np.float32)
        for i, w in enumerate(windows):
            for j, array in enumerate(arrays):
                prior = self._rows.get(array.path)
                if prior is not None:
                    scores[i, j, 1 : w.last - w.first + 1] = prior[w.first : w.last]
        return scores


def _add(whole: dict[str, Floats], part: Mapping[str, Floats]) -> None:
    """Adds the scores of one prior to those of the priors before it."""
    for path, scores in part.items():
        whole[path] = whole[path] + scores if path in whole else scores


def absence_prior(scores: Tensor, region: Tensor, allowed: Tensor, config: PriorConfig) -> Tensor:
    """Returns how much likelier the priors make a slot's absence from a window: [N, S] log odds.

    scores: [N, S, T] from `Priors.starts`; region: the regions of pieces relative to the slot's row
    (network/network.py), 0 for slots outside of rows; allowed: the pieces at which the slot's values may start, bool.
    """
    weights, table = config.absence_prior, config.table_prior
    outside = region[..., 0] == 0
    own = allowed & (outside[..., None] | (region >= 2) & (region <= 4))
    most = torch.where(own, scores, -torch.inf).amax(-1).clamp(max=table.own)
    present = torch.where(outside, weights.labelled, weights.present / table.own) * most.clamp(min=0)
    empty = torch.where(outside, 0.0, weights.empty / table.others) * most.clamp(max=0)
    return torch.where(own.any(-1), -present - empty, 0.0)
