"""What tables say of where the fields of a list's items stand, and of where the items begin.

What stands below a head is told of its field, and less of the fields that go by other heads. A line that
fills the columns of its table begins an item, one that fills few of them, or stands outside, rather not. Both
are lexical priors for the pointers, as `labels.py` is for the fields of the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cinnabar.engine.models.reader.priors.name_matching import Floats, most_of_others
from cinnabar.engine.models.reader.priors.tables import CLAIMED, Table

#: How much likelier (a natural logarithm) a value starts below its field's head, how much less below that of
#: another one, and how much less behind the beginning of its cell.
OWN, OTHERS, INSIDE = 3.5, 3.5, 1.5
#: How much likelier an item begins on a line that fills its table's columns, how much less on one that fills
#: none, and outside of tables whose heads are surely those of all fields.
ROW, NO_ROW, OUTSIDE = 2.5, 2.5, 2.5
#: Shares of the fields with a head in a table that is not the list's, and in one that is.
FEW, MANY = 0.2, 0.6


def told_of_fields(tables: Mapping[str, Sequence[Table]], pieces: int) -> dict[str, Floats]:
    """What tables say of where each field's values start, by its path: [T], -OTHERS to OWN."""
    told: dict[str, Floats] = {}
    for own in tables.values():
        told |= {path: np.zeros(pieces, np.float32) for path in own[0].fields}
        for table in own:
            says = _says(table.claims)
            behind = says - INSIDE * np.clip(says / OWN, 0, 1).astype(np.float32)
            for run in (run for line in table.body for run in line):
                for path, first, later in zip(table.fields, says[run.head], behind[run.head], strict=True):
                    told[path][run.first : run.until] = later
                    told[path][run.first] = first
    return told


def _says(claims: Floats) -> Floats:
    """What each head says of each field: [H, F]."""
    rivals = np.maximum(most_of_others(claims.T).T, most_of_others(claims))
    return (OWN * claims - OTHERS * rivals * (1 - claims)).astype(np.float32)


def told_of_rows(tables: Sequence[Table], pieces: int) -> Floats:
    """What the tables of a list say of where its items begin: [T], ROW at most."""
    trusted = [_trust(table) for table in tables]
    told = np.full(pieces, -OUTSIDE * max(trusted), np.float32)
    for table, trust in zip(tables, trusted, strict=True):
        columns = set(np.flatnonzero(table.claims.max(1) >= CLAIMED).tolist())
        for line in table.body if trust else []:
            if line:
                share = len(columns & {run.head for run in line}) / max(1, len(columns))
                told[line[0].first : line[-1].until] = -trust * NO_ROW * (1 - share)
                told[line[0].first] += trust * ROW * share
    return told


def _trust(table: Table) -> float:
    """How surely a table is the list's, 0 to 1: by the share of the fields that have a head."""
    return float(np.clip((table.claims.max(0).mean() - FEW) / (MANY - FEW), 0, 1))
