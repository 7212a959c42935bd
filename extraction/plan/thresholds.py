"""The thresholds that a run and the people behind it meet: when a model is asked again, what is doubtful, what is told.

Those by which a record is merged and judged are in `reading/records/thresholds.py`, those of the routes in
`reading/routing/thresholds.py`, limits of parsers in `documents/content/limits.py`.
"""

from __future__ import annotations

# A second model.

#: Confidence below which a field is escalated, unless `--below` says otherwise.
ESCALATE_BELOW = 0.8
#: The same for `auto`: 129 of 274 values of 28 documents of kinds that were not trained on.
ESCALATE_AUTO_BELOW = 0.55
#: The most rows of a list that a language model beside the reader is asked for: each takes it a second or two on a CPU,
#: where the reader binds a table's columns once.
MAX_ESCALATED_ROWS = 20

# What people look at.

#: A document is doubtful in a review if a place of its record is less sure than this.
DOUBTFUL_BELOW = 0.8
#: Values less sure than this are read again by a model that `improve` keeps.
READ_AGAIN_BELOW = 0.8
#: Less sure nulls are shown as unsure: of those of eight labelled sets 9% are right, of the surer ones 95%.
SURE_NULL = 0.6
#: The mean probability from which on a schema is offered. Four of the five kinds of data/samples have .52 to .95, the
#: receipts .36; of eight folders of other kinds that route to a schema now and then none had more than .36.
OFFER_SCHEMA = 0.5
#: How alike an unknown keyword of a schema is to the one that it is taken for, from 0 to 1.
ALIKE_KEYWORDS = 0.8

# What is measured and promised.

#: The probability of the promise of wrong values, with all bounds that were tried.
PROMISE_PROBABILITY = 0.95
#: The precision at which `coverage95` is measured.
COVERAGE_PRECISION = 0.95

# Drift: what a report tells of two runs.

#: The chance that anything is told that is due to chance.
DRIFT_LEVEL = 0.01
#: The least difference of two shares, between two distributions, and of two means of confidence, that is told. Of a
#: million documents the smallest difference is no chance.
DRIFT_SHARE, DRIFT_DISTANCE, DRIFT_CONFIDENCE = 0.02, 0.05, 0.05
#: The least expected count for which the chi-squared distribution holds (Cochran 1954).
DRIFT_EXPECTED_COUNT = 5.0
