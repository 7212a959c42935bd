"""Fits the calibration of a model's probabilities on labelled documents that training never saw.

Each leaf of a record, each row of a list and each list is observed once (`calibration_data.py`):
its signs, the model's own probability, and its correctness. Logistic scales are fitted to these observations. A set
weighs by the square root of its size, so that a few sets with long tables do not decide alone. Cross-validation
measures the fit on unseen kinds of documents: each part of the sets is judged by scales fitted on the others.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.language.engine import LanguageEngine
from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.identity import about, weights_fingerprint
from cinnabar.engine.models.language.configuration import is_checkpoint
from cinnabar.engine.models.language.identity import checkpoint_fingerprint
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.models.reader.calibration import Calibration, Scale, load_calibration, save_calibration
from cinnabar.engine.models.reader.loading import load_network
from cinnabar.engine.models.reader.model import ExtractiveReader
from cinnabar.engine.models.sentences.encoder import load_sentence_encoder
from cinnabar.engine.request import Filler
from cinnabar.engine.settings import reading_precision
from cinnabar.engine.version import FAMILIES, values_version
from cinnabar.errors import ModelError, UsageError
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.filling.model_sources import local_folder
from cinnabar.extraction.learning.scoring import area_under_curve, calibration_error, coverage
from cinnabar.extraction.run.batch.labelled_sets import LabelledSet
from training.calibration_data import ALL, Family, Observation, observe, unseen_files
from training.kept import kept

#: The families of leaves.
LEAVES: tuple[Family, ...] = ("values", "absences")
#: The signs that each scale uses, the model's own probability first.
SIGNS: dict[Family, tuple[str, ...]] = {
    "values": (
        "posterior", "rival", "margin", "number", "date", "time", "pattern", "choice", "boolean", "missing", "row",
        "row_odds", "record", "sure_values", "there", "absent_share", "shared", "label", "options", "fields",
        "length", "told", "told_odds",
    ),
    "absences": (
        "posterior", "rival", "number", "date", "time", "pattern", "choice", "boolean", "row", "row_odds",
        "record", "sure_values", "there", "absent_share", "fields", "length", "mentioned",
    ),
    "rows": ("posterior", "values", "best", "count", "empty", "record", "there", "rows"),
    "lists": (
        "decided", "least", "next", "fewer", "values", "worst", "sums", "rows", "empty", "alike_share", "continues",
        "numbering", "fields", "record", "there", "length", "field_least", "field_all", "field_absent", "counts",
        "miscounted", "inner", "around", "around_row",
    ),
}  # fmt: skip
# Signs that rise with the model's own probability.
_RISING = ("posterior", "margin")
# Weight of the squared size of the weights, with signs scaled to a variance of one: a least weight, and one for each
# leaf. Leaves of one kind of document are alike, so many of them say less than as many others: with the second weight
# the error of left-out sets fell from .166 to .159, judged by fits on other sets.
_SHRINKING, _SHRINKING_A_LEAF = 5.0, 0.003
# Few absences do not tell what speaks for one: their scale stays near the model's own probability, with this weight.
# On 27 and 22 sets the error of left-out sets fell from .25 and .37 to .10 so.
_FEW, _OWN, _SHRINKING_TO_OWN = 1000, Scale(0.0, {"posterior": 1.0}), 20.0
# Parts of the sets in cross-validation.
_FOLDS = 10


@dataclass(frozen=True, slots=True)
class Worth:
    """The quality of the confidences of `leaves` leaves in `sets` sets.

    `error` is the expected calibration error over all leaves together, `mean_error` the mean over the sets. `covered`
    and `mean_covered` are the same for the share of leaves that can be accepted with 95% of them right. `mean_auc` is
    the mean probability that a right leaf has a higher confidence than a wrong one, over sets with both; None without.
    """

    sets: int
    leaves: int
    error: float
    mean_error: float
    covered: float
    mean_covered: float
    mean_auc: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """A calibration, and each observation's confidence by scales that were fitted on other sets."""

    calibration: Calibration
    crossed: npt.NDArray[np.float64]


def fit(seen: Sequence[Observation], model: str, prior: Calibration | None = None, part: str = "reader") -> Fit:
    """Returns the calibration fitted to these observations, and their cross-validated confidences.

    With one set its documents are split instead. Scales stay near those of `prior` where few observations contradict
    it. `model` is the fingerprint of the weights, `part` the part of the code that reads with them.
    """
    names = sorted({one.name for one in seen})
    groups = [one.name if len(names) > 1 else one.document for one in seen]
    parts = sorted(set(groups))
    order = np.random.default_rng(0).permutation(len(parts))
    fold_of = {parts[at]: place % _FOLDS for place, at in enumerate(order)}
    folds = np.array([fold_of[group] for group in groups])
    crossed = np.zeros(len(seen))
    scales: dict[str, Scale] = {}
    for family, signs in SIGNS.items():
        own = np.array([at for at, one in enumerate(seen) if one.family == family], dtype=np.int64)
        before: Scale | None = None if prior is None else getattr(prior, family)
        least = _SHRINKING
        if before is None and family == "absences" and len(own) < _FEW:
            before, least = _OWN, _SHRINKING_TO_OWN
        table = np.array([[seen[at].signs[name] for name in signs] for at in own]).reshape(
            len(own), len(signs)
        )
        right = np.array([seen[at].right for at in own], dtype=float)
        counts = Counter(seen[at].name for at in own)
        weight = np.array([counts[seen[at].name] ** -0.5 for at in own])
        for fold in range(_FOLDS):
            inside = folds[own] != fold
            if not inside.all():
                scale = fitted_scale(signs, table[inside], right[inside], weight[inside], before, least)
                crossed[own[~inside]] = [scale.confidence(seen[at].signs) for at in own[~inside]]
        scales[family] = fitted_scale(signs, table, right, weight, before, least)
    counts = Counter(one.family for one in seen)
    about = {"sets": names, "leaves": counts["values"] + counts["absences"], "lists": counts["lists"]}
    lists = scales["lists"] if counts["lists"] or (prior and prior.lists) else None
    version = values_version(part)
    return Fit(
        Calibration(scales["values"], scales["absences"], scales["rows"], model, about, version, lists), crossed
    )


def fitted_scale(
    names: Sequence[str],
    table: npt.NDArray[np.float64],
    right: npt.NDArray[np.float64],
    weight: npt.NDArray[np.float64],
    prior: Scale | None,
    least: float,
) -> Scale:
    """Returns the logistic scale of the greatest likelihood, shrunk towards `prior`, or towards zero weights.

    least: the least weight of that.
    """
    before = np.array(
        [prior.weights.get(name, 0.0) if prior else 0.0 for name in names] + [prior.bias if prior else 0]
    )
    if not len(table):
        return Scale(float(before[-1]), dict(zip(names, before[:-1].tolist(), strict=True)))
    middle, width = table.mean(0), table.std(0)
    # A constant sign says nothing here, so it keeps its prior weight.
    moving = width > 1e-6
    width = np.where(moving, width, 1.0)
    scaled = np.column_stack([(table - middle) / width, np.ones(len(table))])
    weight = weight / weight.mean()
    start = np.append(before[:-1] * width, before[-1] + before[:-1] @ middle)
    # Without a prior the bias is free, so that a family is right on average.
    strength = max(least, _SHRINKING_A_LEAF * len(table))
    shrinking = np.append(np.full(len(names), strength), strength if prior else 0.0)

    def loss(at: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        odds = scaled @ at
        slope = weight * (1.0 / (1.0 + np.exp(-odds)) - right)
        value = weight @ (np.logaddexp(0.0, odds) - right * odds) + shrinking @ (at - start) ** 2
        return float(value), scaled.T @ slope + 2.0 * shrinking * (at - start)

    # Confidence must never fall as the model's own probability rises.
    bounds = [*((0.0 if name in _RISING else None, None) for name in names), (None, None)]
    # Extra: learn.
    from scipy.optimize import minimize

    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    weights = np.round(best[:-1] / width, 4)
    bias = round(float(best[-1] - weights @ middle), 4)
    return Scale(bias, dict(zip(names, weights.tolist(), strict=True)))


def worth(seen: Sequence[Observation], confidence: Sequence[float]) -> Worth:
    """Returns the quality of these confidences of leaves."""
    by_set: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for one, sure in zip(seen, confidence, strict=True):
        by_set[one.name].append((float(sure), one.right))
    together = [pair for own in by_set.values() for pair in own]
    areas = [area for own in by_set.values() if (area := area_under_curve(own)) is not None]
    return Worth(
        sets=len(by_set),
        leaves=len(together),
        error=calibration_error(together),
        mean_error=float(np.mean([calibration_error(own) for own in by_set.values()])),
        covered=coverage(together) / len(together),
        mean_covered=float(np.mean([coverage(own) / len(own) for own in by_set.values()])),
        mean_auc=float(np.mean(areas)) if areas else None,
    )


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The observations, their fit, and the sets whose other documents trained the weights."""

    seen: list[Observation]
    fit: Fit
    trained_on: frozenset[str]

    def leaves(
        self, names: frozenset[str] | None = None, families: tuple[Family, ...] = LEAVES
    ) -> tuple[list[Observation], list[float], list[float]]:
        """Returns the leaves of these sets (default all), the model's own probabilities, and the confidences.

        families: values, absences or both.
        """
        kept = [
            at
            for at, one in enumerate(self.seen)
            if one.family in families and (names is None or one.name in names)
        ]
        crossed = self.fit.crossed
        return (
            [self.seen[at] for at in kept],
            [self.seen[at].raw for at in kept],
            [float(crossed[at]) for at in kept],
        )

    def lists(self, names: frozenset[str] | None = None) -> Mapping[str, list[tuple[float, bool]]]:
        """Returns by set the lists of these sets (default all): the confidence of each, and whether it is complete."""
        by_set: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        for one, sure in zip(self.seen, self.fit.crossed, strict=True):
            if one.family == "lists" and (names is None or one.name in names):
                by_set[one.name].append((float(sure), one.right))
        return by_set


def calibrate(
    sets: Sequence[LabelledSet],
    name: str | Path,
    device: str = "auto",
    cache: Path | None = None,
    limit: int | None = None,
    workers: int = 2,
    done: Callable[[int], None] = lambda _: None,
    only_lists: Collection[str] = (),
) -> Calibrated:
    """Fits the calibration of a model on sets and writes it into the model's folder.

    It uses at most `limit` documents of each set, and none that the model's folder marks as trained on. Of the sets
    named in `only_lists` it judges only whether their lists are complete. `cache` keeps the observations. A fine-tuned
    model starts from its own calibration. Raises UsageError if no labelled document is left.
    """
    engine, folder, weights, config = _uncalibrated(name, device)
    seen: list[Observation] = []
    with ParserPool(workers, settings=parser_settings()) as pool:
        for one in sets:
            chosen = one.select(unseen_files(one, config), limit)
            families: tuple[Family, ...] = ("lists",) if one.name in only_lists else ALL
            path = None if cache is None else cache / f"{one.name}-{_key(chosen, engine.fingerprint)}.pickle"
            if path is not None and path.is_file():
                done(len(chosen.truths))
            seen += kept(path, partial(observe, chosen, engine, pool, done, families))
    if not any(one.family in LEAVES for one in seen):
        raise UsageError("expected a labelled document that can be read and did not train the model, found none")
    try:
        prior = load_calibration(folder, weights) if "base" in config else None
    except ModelError:
        prior = None
    fitted = fit(seen, weights, prior, "language" if is_checkpoint(folder) else "reader")
    save_calibration(folder, fitted.calibration)
    return Calibrated(seen, fitted, frozenset(name for name in config.get("sources", ()) if name))


def _uncalibrated(name: str | Path, device: str) -> tuple[Filler, Path, str, Mapping[str, Any]]:
    """Returns an engine whose probabilities are the model's own, the model's folder, the fingerprint of its weights,
    and what its model.json says; a language model has none."""
    folder = local_folder(name)
    if is_checkpoint(folder):
        return LanguageEngine(load_language_model(folder, device)), folder, checkpoint_fingerprint(folder), {}
    weights = weights_fingerprint(name)
    network, wordpieces = load_network(folder)
    reader = ExtractiveReader(
        network, wordpieces, weights, device_of(device), precision=reading_precision(), sentences=load_sentence_encoder
    )
    return Engine(reader), folder, weights, about(folder)


def _key(labelled: LabelledSet, engine: str) -> str:
    """Names the observations of a set by all that they follow from: code, engine, truths, schema and documents."""
    content = (values_version("merging", *FAMILIES), engine, labelled.truths, labelled.schema, labelled.options)
    digest = hashlib.sha256(repr(content).encode("utf-8", "surrogatepass"))
    for line in labelled.truths:
        try:
            digest.update(hashlib.sha256((labelled.folder / line["file"]).read_bytes()).digest())
        except OSError:
            digest.update(b"not to be read")
    return digest.hexdigest()[:12]
