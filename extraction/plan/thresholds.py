"""The thresholds that a run and the people behind it meet: when a model is asked again, what is doubtful, what is told.

Those by which a record is merged and judged stand beside their users, limits of parsers in
`documents/content/limits.py`.
"""

from __future__ import annotations

# A second model.

#: Confidence below which a field is escalated; of two calibrated models the share of a document's values that is likely
#: right below which the document is (docs/models.md has the settings). `--below` or its folder says otherwise.
ESCALATE_BELOW = 0.8
#: The most rows of a list that a language model beside the reader is asked for: each takes it a second or two on a CPU,
#: where the reader binds a table's columns once.
MAX_ESCALATED_ROWS = 20

# Long documents.

#: A document of more tokens is long: other documents of its batch overtake it.
LONG_DOCUMENT = 16_384

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

# What is measured.

#: The precision at which `coverage95` is measured.
COVERAGE_PRECISION = 0.95


# Late documents and estimates (`filling/batch_reader.py`, `cost_estimate.py`).

#: A document is late if all others of its batch are parsed and none has arrived for so many seconds. Most late
#: documents at a time, because each takes memory.
LATE_AFTER, MOST_LATE = 5.0, 16
#: Documents in the sample, evenly spaced over all.
ESTIMATE_SAMPLE = 24
#: What a run with a release takes of memory: for each byte of its file, and beside its weights.
RELEASE_MEMORY, RUN_MEMORY = 1.6, 500 << 20

# Rows that people corrected (`corrections/carrying.py`).

#: A value that more rows share than this does not tell a row from the others.
SHARED_VALUE = 50
