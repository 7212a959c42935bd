"""Calibration: it turns a model's probabilities into confidences, the share of right values on unseen documents.

A model is far too sure of itself on documents unlike its training documents. So the confidence of a value, an absence,
a row or a list is a logistic function of several signs, the model's own probability first among them (Platt 1999, with
more signs than one). The signs are log odds and marks. `training/calibrate.py` fits their weights and writes them to
`calibration.json` beside the model. The weight of the model's own probability is never below zero.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cinnabar.engine.models.identity import CALIBRATION, weights_fingerprint
from cinnabar.engine.models.reader.confidence_features import ConfidenceFeatures, list_features, log_odds
from cinnabar.engine.models.reader.inputs.mixed_choices import pointed_at
from cinnabar.engine.models.reader.inputs.questions import form_questions, kind_of
from cinnabar.engine.models.reader.inputs.tensors import KINDS
from cinnabar.engine.readings.stems import NAME_NEAR, beginnings, share_of_name
from cinnabar.engine.request import Filled, Leaf, Passage
from cinnabar.engine.version import values_version
from cinnabar.errors import ModelError
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.pointers import innermost

#: The most confidence of a list below the last level of a recursive schema, of which nothing is read.
UNREAD_LIST = 0.3
#: The sign `length` distinguishes passages from e^5 to e^11 characters.
SHORTEST_PASSAGE, LONGEST_PASSAGE = 5.0, 11.0
#: The origins of leaves without words in the document.
NONE = ("absent", "default")



@dataclass(frozen=True, slots=True)
class Scale:
    """A logistic scale: `bias` and the weight of each sign; signs without a weight do not count."""

    bias: float
    weights: Mapping[str, float]

    def confidence(self, signs: ConfidenceFeatures) -> float:
        """Returns the probability of being right, to four places."""
        total = self.bias + sum(weight * signs[name] for name, weight in self.weights.items())
        return round(1.0 / (1.0 + math.exp(-max(-30.0, min(total, 30.0)))), 4)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scales of values, absences, rows and lists; without the last one lists have no confidence.

    `model` is the fingerprint of the weights that they were fitted for, `values_version` the version at that time of
    their part of the code (engine/version.py). `about` describes the data of the fit.
    """

    values: Scale
    absences: Scale
    rows: Scale
    model: str
    about: dict[str, Any] = field(default_factory=dict)
    values_version: int = field(default_factory=lambda: values_version("reader"))
    lists: Scale | None = None

    def calibrate(self, form: Form, passage: Passage, filled: Filled) -> Filled:
        """Returns the same record with a confidence for every leaf, row and list; frozen values keep theirs.

        The shares of absence and of other values keep their proportion. No cell is surer than the match of its column.
        """
        signs = features_of(form, passage, filled)
        leaves = dict(filled.leaves)
        for pointer, own in signs.leaves.items():
            leaf = leaves[pointer]
            anchor, _ = filled.rows.get(innermost(pointer, filled.rows), (-1, 0.0))
            match = filled.matches.get(anchor, {}).get(leaf.slot, 1.0)
            if leaf.origin == "absent":
                sure = min(self.absences.confidence(own), match)
                leaves[pointer] = replace(leaf, confidence=sure, absence=sure)
            else:
                sure = min(self.values.confidence(own), match)
                rest = max(1.0 - leaf.confidence, 1e-4)
                absence = round(min(leaf.absence / rest, 1.0) * (1.0 - sure), 4)
                leaves[pointer] = replace(leaf, confidence=sure, absence=absence)
        rows = {
            pointer: (anchor, self.rows.confidence(signs.rows[pointer]))
            for pointer, (anchor, _) in filled.rows.items()
        }
        scale = self.lists
        lists = {} if scale is None else {at: scale.confidence(own) for at, own in signs.lists.items()}
        lists |= {at: min(sure, UNREAD_LIST) for at, sure in lists.items() if signs.lists[at]["not_read"]}
        # A list is no surer than its least sure row.
        for pointer, (_, sure) in rows.items():
            around = pointer.rpartition("/")[0]
            lists |= {around: min(sure, lists[around])} if around in lists else {}
        return replace(filled, leaves=leaves, rows=rows, lists=lists)


@dataclass(frozen=True, slots=True)
class RecordFeatures:
    """The signs of a record's leaves, rows and lists, by pointer; leaves that were known before have none."""

    leaves: dict[str, ConfidenceFeatures]
    rows: dict[str, ConfidenceFeatures]
    lists: dict[str, ConfidenceFeatures]


def features_of(form: Form, passage: Passage, filled: Filled) -> RecordFeatures:
    """Returns the signs of a record's leaves, rows and lists from the model's own probabilities.

    The signs of a leaf are the log odds of the model's probability of its text (`posterior`, again as `told_odds` for
    an option that a passage told), of the next likelier text (`rival`; for a choice also its distance, `margin`) and of
    the row around it; marks of its kind of slot and of its origin; the model's certainty about the whole record;
    whether other fields have the value's words too; whether words of the field's name stand before the value; and
    whether they stand anywhere in the text, which makes an absence doubtful.
    """
    asked = {pointer: leaf for pointer, leaf in filled.leaves.items() if leaf.origin != "known"}
    form = pointed_at(form)
    questions = form_questions(form).slots
    row_of = {pointer: innermost(pointer, filled.rows) for pointer in asked}
    spans = Counter(span for leaf in asked.values() if leaf.origin != "chosen" for span in set(leaf.spans))
    whole = _whole(list(asked.values()), len(passage.text))
    begun = beginnings(passage.text)
    mentioned = [share_of_name(question.label, begun) for question in questions]
    leaves: dict[str, ConfidenceFeatures] = {}
    for pointer, leaf in asked.items():
        row = row_of[pointer]
        slot = form.slots[leaf.slot] if 0 <= leaf.slot < len(form.slots) else None
        kind = "text" if slot is None else KINDS[kind_of(slot)]
        signs = {name: float(kind == name) for name in KINDS}
        signs |= whole
        signs["posterior"] = log_odds(leaf.confidence, 1e-4)
        signs["rival"] = log_odds(leaf.posterior if leaf.origin == "absent" else leaf.rival)
        # How far a choice is ahead of the next option: a sure one of many alike options is less sure than it says.
        ahead = slot is not None and len(slot.options) > 1 and leaf.origin != "absent"
        signs["margin"] = signs["posterior"] - signs["rival"] if ahead else 0.0
        signs["missing"] = float(leaf.missing)
        signs["default"] = float(leaf.origin == "default")
        signs["row"], signs["row_odds"] = float(row != ""), log_odds(filled.rows[row][1]) if row else 0.0
        signs["options"] = math.log1p(len(slot.options)) if slot is not None else 0.0
        # The spans of an option are the passage that shows it; one passage may show many.
        by_passage = leaf.origin == "chosen" and bool(leaf.spans)
        signs["told"], signs["told_odds"] = float(by_passage), signs["posterior"] if by_passage else 0.0
        signs["shared"] = float(any(spans[span] > 1 for span in leaf.spans))
        label = questions[leaf.slot].label if slot is not None else ""
        signs["label"] = _label_before(label, passage, leaf)
        signs["mentioned"] = mentioned[leaf.slot] if slot is not None else 0.0
        leaves[pointer] = signs
    within: dict[str, list[Leaf]] = defaultdict(list)
    for pointer, row in row_of.items():
        within[row].append(asked[pointer])
    rows = {row: _row_features(chance, within[row], whole) for row, (_, chance) in filled.rows.items()}
    for signs in rows.values():
        signs["rows"] = math.log(len(rows))
    return RecordFeatures(leaves, rows, list_features(form, passage, filled, whole))


def _whole(leaves: list[Leaf], characters: int) -> ConfidenceFeatures:
    """Returns the signs of a record from all of its leaves."""
    values = [leaf for leaf in leaves if leaf.origin not in NONE]
    return {
        "record": _mean([log_odds(leaf.confidence) for leaf in leaves]),
        "sure_values": _mean([log_odds(leaf.confidence) for leaf in values]),
        "there": _mean([log_odds(1.0 - leaf.absence) for leaf in values]),
        "absent_share": 1.0 - len(values) / max(len(leaves), 1),
        "fields": math.log(max(len(leaves), 1)),
        "length": min(max(math.log(max(characters, 1)), SHORTEST_PASSAGE), LONGEST_PASSAGE),
    }


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else -2.0


def _label_before(label: str, passage: Passage, leaf: Leaf) -> float:
    """Returns the share of a field's name whose words stand right before the value."""
    if not leaf.spans or leaf.origin == "chosen":
        return 0.0
    start = leaf.spans[0][0] - passage.offset
    return share_of_name(label, beginnings(passage.text[max(0, start - NAME_NEAR) : max(0, start)]))


def _row_features(chance: float, own: list[Leaf], whole: ConfidenceFeatures) -> ConfidenceFeatures:
    values = [leaf for leaf in own if leaf.origin not in NONE]
    return {
        "posterior": log_odds(chance, 1e-4),
        "values": _mean([log_odds(leaf.confidence) for leaf in values]),
        "best": max((log_odds(leaf.confidence) for leaf in values), default=-2.0),
        "count": math.log1p(len(values)),
        "empty": 1.0 - len(values) / max(len(own), 1),
        "record": whole["record"],
        "there": whole["there"],
    }


def load_calibration(folder: Path, model: str) -> Calibration | None:
    """Returns the calibration in a model's folder, or None if there is none.

    `model` is the fingerprint of the folder's weights. Raises ModelError if the file is no calibration, or was fitted
    for other weights.
    """
    path = folder / CALIBRATION
    if not path.is_file():
        return None
    advice = "run `python -m training.calibrate` for this model, or remove the file"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        scales = {
            name: Scale(float(content[name]["bias"]), {k: float(w) for k, w in content[name]["weights"].items()})
            for name in ("values", "absences", "rows", "lists")
            # A calibration may have been fitted without lists.
            if name != "lists" or content.get(name) is not None
        }
        version = int(content["values_version"])
        fitted_for, notes = str(content["model"]), dict(content["about"])
        calibration = Calibration(**scales, model=fitted_for, about=notes, values_version=version)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{path}: expected a calibration, found something else ({error!r}); {advice}"
        ) from error
    if calibration.model != model:
        raise ModelError(f"{path}: fitted for the weights {calibration.model}, found the weights {model}; {advice}")
    return calibration


def carry_calibration(base: Path, folder: Path, model: str) -> None:
    """Gives a model that was fine-tuned from `base` the calibration of `base`.

    If `base` has none, or one that is broken or was fitted for other weights, the function deletes the calibration in
    `folder`, which belongs to an earlier model.
    """
    try:
        carried = load_calibration(base, weights_fingerprint(base))
    except ModelError:
        carried = None
    if carried is None:
        (folder / CALIBRATION).unlink(missing_ok=True)
    else:
        save_calibration(folder, replace(carried, model=model))


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Writes a calibration into its model's folder."""
    content = asdict(calibration)
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    temporary = folder / f"{CALIBRATION}.new"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(folder / CALIBRATION)
