"""Tells the runs of a model from those that only hold a person's corrections.

A corrected record is stored in a run of its own, which has neither a model nor options. Questions about these mean the
run whose model read the document.
"""

import json

from cinnabar.extraction.store.tables import COMMAND, CORRECT

#: The arguments of a run that only holds corrections, as they are stored.
OF_CORRECTIONS = json.dumps({COMMAND: CORRECT}, separators=(",", ":"))
#: The condition on a row of `runs` that a model did it; the others only hold corrections.
MODEL_RUN = f"coalesce(arguments ->> '{COMMAND}', '') <> '{CORRECT}'"
#: SQL of a table with a row for each corrected document, schema and engine: `read_by` is the last run of a model.
READ_BY = (
    "(SELECT document, schema_fingerprint, engine_fingerprint, max(run_id) AS read_by FROM outcomes"
    f" SEMI JOIN (SELECT run_id FROM runs WHERE {MODEL_RUN}) USING (run_id) WHERE outcome <> 'skipped' AND document IN"
    f" (SELECT document FROM outcomes SEMI JOIN (SELECT run_id FROM runs WHERE NOT ({MODEL_RUN})) USING (run_id))"
    " GROUP BY ALL)"
)
