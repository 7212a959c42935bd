"""The output folder: Parquet files hold the data, manifests commit them, and DuckDB views show them.

An output folder DIR holds

    schemas/F.json               the schema with the fingerprint F, beside the data
    data/S/F12/batch-N.parquet   records of schema S (F12: first 12 digits of F): its columns, typed, and ours
    fields/S/F12/batch-N.parquet one row a leaf: value, confidence, origin, evidence
    documents/batch-N.parquet    one row a document and run
    outcomes/batch-N.parquet     one row a run and input path, with records that were rejected
    runs/batch-N.parquet         a row when a run starts, another when it ends
    corrections/batch-N.parquet  a row a correction, and one when it is taken back
    waiting/ID.json              corrections that wait for their commit
    manifest/batch-N.json        the commits that count; replaced ones lie in manifest/replaced/
    cinnabar.duckdb              views over the above (`extraction/store/snapshot.py`)
    snapshot.json                what it shows: the last commit, and how many counted
    .lock                        held by the run that writes

Invariants:

- One atomic rename commits a batch: that of its manifest, which names its Parquet files with sizes and SHA-256.
  After a crash there are whole batches or none. Readers ignore files that no manifest names; the next writer
  removes them.
- Numbers N only go up. Compaction merges many small batches into one, by a manifest that names those it replaces
  (`extraction/store/compaction.py`); replaced files stay for a day, for readers of an older
  snapshot.
- A manifest moves to `manifest/replaced/` after the merge that replaces it is committed, so that readers take as many
  manifests as there are batches that count. Where it lies does not decide whether it counts: what `replaces` names is
  replaced, and the next writer sorts a folder that a crash, or an earlier version, left unsorted.
- A record's key is (document digest, schema fingerprint, engine fingerprint), and each key is written once, and once
  more in each run of corrections (`extraction/corrections/`), which has no model.
- One process writes at a time; a dead one leaves no lock behind. Readers need no lock.

`docs/tables.md` describes the same for analysts.
"""
