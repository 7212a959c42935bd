"""Binds the columns of a table to the fields of a list's items, all of them together, each with a probability.

The scores of all pairs become shares that give each field one column or none, and each column to one field at most: the
balance of Sinkhorn and Knopp (1967), "Concerning nonnegative matrices and doubly stochastic matrices".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinnabar.engine.models.reader.priors.config import TableConfig
from cinnabar.engine.models.reader.priors.name_matching import most_of_others
from cinnabar.engine.models.reader.tables.column_signs import ColumnFeatures, Floats
from cinnabar.schemas.form.form import Slot

#: The rounds of balancing; the shares change by less than a thousandth after them.
MATCH_ROUNDS = 60
#: How often the order of the columns found so far is looked at again.
MATCH_REORDERED = 4
#: What keeps a column, or a field, with hardly any vote from being claimed by one.
MATCH_EVEN = 0.05
#: The share of its cells that are values, of those of a field's column, from which on another column is its rival.
MATCH_RIVAL = 0.5
#: The least probability of a column that is no rival of others; the least share of its head's words that tell a column.
MATCH_CLAIMED, MATCH_TOLD = 0.5, 0.6
#: How sure a column is at most that only the words of its head tell; how sure a language model's reading is of cells
#: that are all the same.
MATCH_NAMED, MATCH_ONE_READING = 0.95, 0.75
#: The network's share of a column that numbers rows, or is a balance, from which on it is a field's.
MATCH_RUNS = 0.8
#: The share of a column's cells that are options, for it to be the column of a choice.
MATCH_OPTIONS = 0.95


@dataclass(frozen=True, slots=True)
class MatchedColumns:
    """The column of each of F fields, -1 for none, its probability, and that of none.

    matches: the most that a value from the column may be sure of. A column that the other signs, such as the order of
    the columns, hold for the field's though the network points elsewhere too is less sure than its probability: of 460
    columns of .9 and more in the tuning layouts and in lists of stocks 8 were wrong, of 356 with this 2.
    named: the fields that could have other columns but for the words of heads; doubtful: those whose column nothing in
    the heads tells from others.
    """

    columns: tuple[int, ...]
    chances: tuple[float, ...]
    absences: tuple[float, ...]
    matches: tuple[float, ...]
    named: tuple[bool, ...]
    doubtful: tuple[bool, ...]


def match_columns(signs: ColumnFeatures, chosen: npt.NDArray[np.bool_], config: TableConfig) -> MatchedColumns:
    """Returns the likeliest columns of F fields.

    chosen: [F], the fields that are choices, for which the network has no votes.
    """
    readable, alike = signs.readable, signs.alike
    count = readable.shape[1]
    voted = np.where(chosen[:, None], 1.0 / (count + 1), signs.votes)
    pointed = voted[:, :count]
    # "Min. stock" has a word that "quantity in stock" has not, and names another thing.
    told = np.where(signs.named >= MATCH_TOLD, signs.named, 0.0)
    own = told - _others(told, readable)
    scores = _scores(signs, voted, own, config)
    shares = _shares(scores)
    for _ in range(MATCH_REORDERED):
        shares = _shares(scores + config.order * _in_order(shares))
    absences = shares[:, count].tolist()
    columns, chances = _choose_columns(shares)
    claims = np.where(chosen[:, None], 1.0, pointed / (pointed.sum(1, keepdims=True) + MATCH_EVEN))
    # What a language model reads is less sure where the network points elsewhere; of cells that are all the same it is
    # one reading.
    elsewhere = most_of_others(pointed.T.astype(np.float32)).T
    trusted = (1.0 - elsewhere / 2) * np.where(signs.constant, MATCH_ONE_READING, 1.0)
    claims = np.maximum(claims, signs.read[:, :count] * trusted)
    matched = {column for column, chance in zip(columns, chances, strict=True) if chance >= MATCH_CLAIMED}
    matches, named, doubtful = [1.0] * len(shares), [False] * len(shares), [False] * len(shares)
    for field, column in enumerate(columns):
        if column < 0:
            continue
        # Texts of all kinds can stand in many columns, and words tell less of them.
        if not signs.counts[field]:
            matches[field] = round(float(np.sqrt(chances[field] * claims[field, column])), 4)
            continue
        rivals = (readable[field] >= MATCH_RIVAL * readable[field, column]) & ~signs.runs
        rivals[column] = False
        lead = float(own[field, column] - max(own[field, rivals], default=0.0))
        is_told = lead >= config.lead and told[field, column] > 0
        named[field] = bool(rivals.any()) and is_told and chances[field] >= config.column
        rivals[[*matched]] = False
        liker = float(alike[field, column] - max(alike[field, rivals], default=0.0))
        # Each other number that has no sure column yet takes one of them.
        others = sum(signs.counts[at] and columns[at] not in matched for at in range(len(columns)) if at != field)
        doubtful[field] = bool(rivals.sum() > others) and not (is_told or liker >= config.liker or signs.adds[column])
        match = float(np.sqrt(chances[field] * max(claims[field, column], MATCH_NAMED * lead if is_told else 0.0)))
        matches[field] = round(min(match, config.doubtful if doubtful[field] else 1.0), 4)
    return MatchedColumns(
        tuple(columns), tuple(chances), tuple(absences), tuple(matches), tuple(named), tuple(doubtful)
    )


def choice_columns(slots: Sequence[Slot], signs: ColumnFeatures, taken: Collection[int]) -> dict[int, int]:
    """Returns the columns of choices, by the slot's index: all cells are options, and of several the head tells.

    Yes and no are options of all kinds: there too the head tells.

    taken: the columns of other fields.
    """
    found: dict[int, int] = {}
    for at, slot in enumerate(slots):
        may = [c for c in np.flatnonzero(signs.readable[at] >= MATCH_OPTIONS).tolist() if c not in taken]
        others = [k for k, other in enumerate(slots) if k != at and other.options]
        # Of two choices with the same options, and of two columns of the same options, heads tell.
        is_shared = any(signs.readable[k, c] >= MATCH_OPTIONS for k in others for c in may)
        least = MATCH_TOLD if is_shared or len(may) > 1 or slot.kind == "boolean" else 0.0
        may = [c for c in may if signs.named[at, c] - max((signs.named[k, c] for k in others), default=0.0) >= least]
        if slot.options and len(may) == 1:
            found[slot.index] = may[0]
    times = Counter(found.values())
    return {index: column for index, column in found.items() if times[column] == 1}


def _scores(signs: ColumnFeatures, voted: Floats, own: Floats, config: TableConfig) -> Floats:
    """Returns the scores of fields by columns, with that of no column last: [F, C + 1].

    voted: [F, C + 1], the network's votes; own: [F, C], how much more a head names a field than any other one.
    """
    readable, alike = signs.readable, signs.alike
    count = readable.shape[1]
    scores = np.empty_like(voted)
    scores[:, count] = config.none * np.log(voted[:, count] + config.doubt)
    pointed = voted[:, :count]
    apart = alike - alike.mean(1, keepdims=True) - alike.mean(0, keepdims=True) + alike.mean()
    scores[:, :count] = (
        config.votes * np.log(pointed + config.doubt)
        + config.claimed * pointed / (pointed.sum(0) + MATCH_EVEN)
        + config.readable * np.log(readable + config.doubt)
        + config.alike * alike
        + config.apart * apart
        + config.named * np.where(signs.counts[:, None], own, 0.0)
        + config.total * signs.total
        + config.read * signs.read[:, :count]
        - config.constant * signs.constant
        - config.empty * signs.empty
        - config.ungrouped * signs.ungrouped
        + config.some
    )
    # What numbers the rows, and a balance, is a number of another kind only where its head or the network tells.
    least = np.minimum(MATCH_RUNS, voted.max(1, keepdims=True))
    scores[:, :count] -= config.empty * (signs.runs & signs.counts[:, None] & (own <= 0) & (pointed < least))
    scores[:, count] += config.read_none * signs.read[:, count]
    return scores


def _choose_columns(shares: Floats) -> tuple[list[int], list[float]]:
    """Returns the column of each field, -1 for none, and its share; of two that share a column the surer one has it."""
    count = shares.shape[1] - 1
    columns, chances = [-1] * len(shares), shares[:, count].tolist()
    free = set(range(count))
    for at in np.argsort(-shares[:, :count], axis=None).tolist():
        field, column = divmod(at, count)
        if column in free and columns[field] < 0 and shares[field, column] > chances[field]:
            columns[field], chances[field] = column, float(shares[field, column])
            free.remove(column)
    return columns, chances


def _others(named: Floats, readable: Floats) -> Floats:
    """Returns for each field and column the most that another field, which may have the column, is named by it."""
    if len(named) < 2:
        return np.zeros_like(named)
    return most_of_others(np.where(readable > 0, named, 0.0).astype(np.float32)).astype(np.float64)


def _shares(scores: Floats) -> Floats:
    return balance(np.exp(scores - scores.max(1, keepdims=True)))


def _in_order(shares: Floats) -> Floats:
    """Returns how well each column of each field follows the order of the fields around it: [F, C + 1], 0 to 1.

    A schema often has its fields in the order in which a table has its columns. Where the surest columns of
    neighbouring fields are no neighbours, the order says nothing.
    """
    fields, count = shares.shape[0], shares.shape[1] - 1
    near = np.zeros_like(shares)
    near[1:, 1:count] += shares[:-1, : count - 1] / 2
    near[:-1, : count - 1] += shares[1:, 1:count] / 2
    best, sure = shares[:, :count].argmax(1), shares[:, :count].max(1)
    pairs = sure[1:] * sure[:-1]
    kept = float((pairs * (np.diff(best) == 1)).sum() / max(pairs.sum(), 1e-9)) if fields > 1 else 0.0
    return near * kept


def balance(shares: Floats) -> Floats:
    """Returns shares [F, C + 1] whose rows sum to one, and whose first C columns to one at most."""
    shares = shares.copy()
    for _ in range(MATCH_ROUNDS):
        shares[:, :-1] /= np.maximum(1.0, shares[:, :-1].sum(0))
        shares /= shares.sum(1, keepdims=True)
    return shares
