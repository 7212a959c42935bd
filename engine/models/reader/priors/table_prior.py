"""Table prior: a list's fields stand below the heads of their columns, and its items begin on lines of the table.

A value below a head is likelier that of the head's field, and less likely that of the fields of other heads. A line
that fills the columns of its table likely begins an item; a line that fills few of them, or stands outside, does not.
Both are lexical priors for the pointers, as `label_prior.py` is for the record's fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cinnabar.engine.models.reader.priors.config import TablePriorConfig
from cinnabar.engine.models.reader.priors.name_matching import Floats, most_of_others
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores
from cinnabar.engine.models.reader.priors.tables import PriorTable, tables_of


def table_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of the fields of lists, and of the beginnings of their items, by their tables."""
    config, tables = given.config.table_prior, tables_of(given.form, given.page, given.config)
    rows = {path: _row_scores(own, given.pieces, config) for path, own in tables.items()}
    return PriorScores(values=_field_scores(tables, given.pieces, config), rows=rows)


def _field_scores(
    tables: Mapping[str, Sequence[PriorTable]], pieces: int, config: TablePriorConfig
) -> dict[str, Floats]:
    """Returns the scores of each field, by its path: [T], -others to own."""
    scores: dict[str, Floats] = {}
    for own in tables.values():
        scores |= {path: np.zeros(pieces, np.float32) for path in own[0].fields}
        for table in own:
            of_heads = _head_scores(table.claims, config)
            behind = of_heads - config.inside * np.clip(of_heads / config.own, 0, 1).astype(np.float32)
            for run in (run for line in table.body for run in line):
                for path, first, later in zip(table.fields, of_heads[run.head], behind[run.head], strict=True):
                    scores[path][run.first : run.until] = later
                    scores[path][run.first] = first
    return scores


def _head_scores(claims: Floats, config: TablePriorConfig) -> Floats:
    """Returns the score that each head gives to each field: [H, F]."""
    rivals = np.maximum(most_of_others(claims.T).T, most_of_others(claims))
    return (config.own * claims - config.others * rivals * (1 - claims)).astype(np.float32)


def _row_scores(tables: Sequence[PriorTable], pieces: int, config: TablePriorConfig) -> Floats:
    """Returns the scores of the beginnings of a list's items: [T], `row` at most."""
    trusted = [_trust(table, config) for table in tables]
    scores = np.full(pieces, -config.outside * max(trusted), np.float32)
    for table, trust in zip(tables, trusted, strict=True):
        columns = set(np.flatnonzero(table.claims.max(1) >= config.claimed).tolist())
        for line in table.body if trust else []:
            if line:
                share = len(columns & {run.head for run in line}) / max(1, len(columns))
                scores[line[0].first : line[-1].until] = -trust * config.no_row * (1 - share)
                scores[line[0].first] += trust * config.row * share
    return scores


def _trust(table: PriorTable, config: TablePriorConfig) -> float:
    """Returns how surely a table is the list's, 0 to 1, by the share of the fields that have a head."""
    share = table.claims.max(0).mean()
    return float(np.clip((share - config.few) / (config.many - config.few), 0, 1))
