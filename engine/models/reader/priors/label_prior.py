"""Label prior: the value of a field stands behind its label on a line, or below it if nothing stands behind.

It is a lexical prior for the pointers: the stretch behind a label is likelier the start of its field's value, and less
likely that of other fields.
"""

from __future__ import annotations

import numpy as np

from cinnabar.engine.models.reader.priors.labels import fields_of_record
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores


def label_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the fields of the record by their labels: -others to own."""
    config, fields = given.config.label_prior, fields_of_record(given.form)
    scores = np.zeros((len(fields), given.pieces), np.float32)
    for label in given.labels:
        first, until, claims = label.first, label.until, label.claims
        brief = min(1.0, config.brief / (until - first))
        other_claims = claims.max() - claims
        scores[:, first:until] = brief * (config.own * claims - config.others * other_claims)[:, None]
        scores[:, first + 1 : until] -= brief * config.inside * claims[:, None]
    return PriorScores(values={path: own for path, own in zip(fields, scores, strict=True) if own.any()})
