"""Party prior: a party's name stands before the term that defines it, as in `X ("Seller") and Y ("Buyer")`.

The network reads a bracket as a label of what follows. The prior matches the defined terms of a page to the names of
fields and objects: their values start at the name before the term, not at another party, nor at who represents it.
"""

from __future__ import annotations

import re
from bisect import bisect_left

import numpy as np

from cinnabar.engine.models.reader.priors.heading_prior import objects_of
from cinnabar.engine.models.reader.priors.labels import fields_of_record
from cinnabar.engine.models.reader.priors.name_matching import FieldNames, Floats, NameSimilarity, words_in
from cinnabar.engine.models.reader.priors.prior import PriorInput, PriorScores
from cinnabar.engine.readings.defined_terms import DefinedTerm, defined_terms, representations
from cinnabar.engine.readings.letter_parties import letter_parties

_UMLAUT = re.compile("([aou])e")


def party_prior(given: PriorInput) -> PriorScores:
    """Returns the scores of fields and objects by the defined terms that have their names: -others to own."""
    texts = (slot for slot in given.form.slots if slot.kind == "string" and not slot.options)
    plain = {slot.path for slot in texts if not (slot.pattern or slot.format)}
    fields = {path: own for path, own in fields_of_record(given.form).items() if path in plain}
    lists = {array.path for array in given.form.arrays}
    objects = {path: FieldNames(own.names, ()) for path, own in objects_of(given.form).items() if path not in lists}
    asked = {path: _spelled(own) for path, own in {**fields, **objects}.items()}
    terms = [*letter_parties(given.page.text), *defined_terms(given.page.text)] if asked else []
    if not terms:
        return PriorScores()
    claims = dict(zip(asked, _claims([*asked.values()], terms, given), strict=True))
    own = {
        path: _scores(row, terms, min(map(len, asked[path].names)), given) for path, row in claims.items() if row.any()
    }
    return PriorScores(
        values={path: scores for path, scores in own.items() if path not in objects},
        objects={path: scores for path, scores in own.items() if path in objects},
    )


def _spelled(asked: FieldNames) -> FieldNames:
    """Returns the names, also with umlauts, which names in a schema often lack ("kaeufer").

    Descriptions leave: that of a governing law has the word "Agreement".
    """
    umlauts = [tuple(_UMLAUT.sub(lambda two: "äöü"["aou".index(two[1])], word) for word in own) for own in asked.names]
    return FieldNames(tuple(dict.fromkeys((*asked.names, *umlauts))), ())


def _claims(asked: list[FieldNames], terms: list[DefinedTerm], given: PriorInput) -> Floats:
    """Returns how surely each of F names is that of each of T terms, 0 but for its best ones: [F, T]."""
    config = given.config.party_prior
    defined = [words_in(term.words) for term in terms]
    names = {name for one in asked for name in one.names}
    naming = NameSimilarity(names, {()}, defined, given.page.words, given.config.name_matching)
    at = [naming.cells.index(own) for own in defined]
    alike = np.stack([naming.match_field(one) for one in asked])[:, at]
    whole = np.stack([np.max([naming.shares(name)[1] for name in one.names], 0) for one in asked])[:, at]
    best = alike >= alike.max(1, keepdims=True) - config.alike
    # "seller_address" has the whole word "Seller", "contractor" not that of "Subcontractor".
    beaten = (alike < alike.max(0) - config.alike) & (whole < 1)
    claims: Floats = np.where(best & ~beaten & (alike >= config.least), alike, 0.0)
    # If all other terms are sure, the best field of the one that is left may be less sure.
    left = best & (alike >= alike.max(0)) & ~claims.any(1, keepdims=True) & ~claims.any(0)
    is_last = claims.any() and len({term.at for term, own in zip(terms, claims.T, strict=True) if not own.any()}) == 1
    return np.where(left & (alike >= config.left), alike, claims) if is_last else claims


def _scores(claims: Floats, terms: list[DefinedTerm], length: int, given: PriorInput) -> Floats:
    """Returns the scores of one field at each of T pieces by its claims on the terms; its name has `length` words."""
    config, pieces, sure = given.config.party_prior, given.page.columns.pieces, float(claims.max())
    scores = np.zeros(len(pieces), np.float32)

    def pieces_of(start: int, end: int) -> slice:
        return slice(pieces.at(start), pieces.at(end - 1) + 1 if start < end else 0)

    for term in terms:
        scores[pieces_of(*term.party)] = -config.others * sure
    claimed = [terms[at] for at in np.flatnonzero(claims)]
    # "seller_address" is somewhere behind the name, "seller_representative" in a clause.
    more = length > min(len(words_in(term.words)) for term in claimed)
    for term, claim in zip(claimed, claims[claims > 0].tolist(), strict=True):
        scores[pieces_of(*term.party)] = config.within * claim
        if not more and term.name[0] < term.name[1]:
            scores[pieces.at(term.name[0])] = config.own * claim
    for start, end in representations(given.page.text):
        behind = bisect_left(claimed, start, key=lambda term: term.at[1])
        own = any(one.party[1] <= start <= one.at[1] + 2 for one in claimed[max(0, behind - 1) : behind + 1])
        scores[pieces_of(start, end)] = config.within * sure if more and own else -config.others * sure
    for term in terms:
        scores[pieces_of(*term.at)] = -config.others * sure
    return scores
