"""What tables say of where the fields of a list's items stand, of which are missing, and of where items begin.

Lexical priors for the pointers, as `headings.py` is for objects: what stands below a head is told of its field,
and less of the fields that go by other heads; a line that fills the columns of its table begins an item, one
that stands outside of all tables, or fills few columns, rather not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from cinnabar.engine.models.default.heads import Table

#: How much likelier (a natural logarithm) a value starts below its field's head, how much less below that of
#: another one, and how much less behind the beginning of its cell.
OWN, OTHERS, INSIDE = 3.5, 3.5, 1.5
#: How much less likely it is that there is no value where there is a cell below the field's head, and how
#: much likelier where all cells of the line are other fields'.
PRESENT, EMPTY = 3.0, 1.5
LABELLED = 0.5
#: How much likelier an item begins on a line that fills its table's columns, how much less on one that fills
#: none, and outside of tables that have all fields of the list.
ROW, NO_ROW, OUTSIDE = 2.5, 2.5, 2.5
HEADED, BESIDE = 1.4, 0.8
#: How sure a head has to be of a field for its column to count as one.
CLAIMED = 0.5

Floats = npt.NDArray[np.float32]


def told_of_fields(tables: Mapping[str, Sequence[Table]], pieces: int) -> dict[str, Floats]:
    """What tables say of where each field's values start, by its path: [T], OWN at most, 0 for nothing."""
    told = {}
    for own in tables.values():
        told |= {path: np.zeros(pieces, np.float32) for path in own[0].fields}
        for table in own:
            value = _values(table.claims)
            for run in (run for line in table.body for run in line):
                for path, says in zip(table.fields, value[run.head], strict=True):
                    said = told[path]
                    said[run.first : run.until] = says - INSIDE * min(1.0, max(0.0, says / OWN))
                    said[run.first] = says
    return told


def _values(claims: Floats) -> Floats:
    """What each head says of each field: [H, F]."""
    of_others, elsewhere = _most_of_others(claims.T).T, _most_of_others(claims)
    return OWN * claims - OTHERS * np.maximum(of_others, elsewhere) * (1 - claims)


def _most_of_others(claims: Floats) -> Floats:
    """For each of [A, B] the most of any other A for the same B."""
    if len(claims) < 2:
        return np.zeros_like(claims)
    top = np.sort(claims, 0)
    return np.where(claims == top[-1], top[-2], top[-1])


def told_of_rows(tables: Sequence[Table], headed: Floats | None, pieces: int) -> Floats | None:
    """What the tables of a list say of where its items begin: [T], ROW at most, 0 for nothing."""
    if not tables and (headed is None or not (headed > 0).any()):
        return None
    if not tables:
        return np.where(headed > 0, HEADED * headed, -BESIDE * headed.max())
    whole = max(float(t.claims.max(0).mean()) for t in tables)
    told = np.full(pieces, -OUTSIDE * whole, np.float32)
    for table in tables:
        columns = set(np.flatnonzero(table.claims.max(1) >= CLAIMED).tolist())
        for line in table.body:
            if line:
                filled = columns & {run.head for run in line}
                share = len(filled) / max(1, len(columns))
                told[line[0].first : line[-1].until] = -NO_ROW * (1 - share)
                told[line[0].first] += ROW * share
    return told


def told_of_absence(told: Tensor, region: Tensor, allowed: Tensor) -> Tensor:
    """What to add to the logits of there being no value in a row: [N, S].

    told: [N, S, T], of fields; region: where pieces stand, seen from the row (regions.py); allowed: where the
    slot's values may start, bool.
    """
    own = allowed & ((region == 0) | (region >= 2) & (region <= 4))
    most = torch.where(own, told, -torch.inf).amax(-1)
    scalar = region[..., 0] == 0
    here = torch.where(most > 0, torch.where(scalar, -LABELLED, -PRESENT / OWN) * most, torch.where(scalar, 0.0, -EMPTY * most / OTHERS))
    return torch.where(own.any(-1), here, 0.0)
