"""The weights of all rules that are added to the network's scores, and the rules that are switched off.

Weights of scores are natural logarithms: with `own` 2.0 a value is e² times as likely to start at a place. This file
needs no torch, so that a wrong name is reported before a model is loaded.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from cinnabar.errors import UsageError


@dataclass(frozen=True, slots=True)
class NameMatchingConfig:
    """The similarity of a page's cells and a form's names; labels, headings and tables share it."""

    #: Similarity of two words' vectors that says nothing.
    unlike: float = 0.55
    #: Similarity of two words that differ only in their endings.
    same_stem: float = 0.95
    #: Weight of a name beside a description: if the two differ, the description gives the meaning.
    named: float = 0.8
    #: Weight of a word of a description.
    noted: float = 0.85
    #: How fast a cell counts less for a field, the more similar it is to another field's name.
    rivals: float = 3.0


@dataclass(frozen=True, slots=True)
class LabelPriorConfig:
    """A value starts behind or below its field's label (priors.py)."""

    #: How much likelier a value starts behind its field's label.
    own: float = 2.0
    #: How much less likely it starts behind the label of another field.
    others: float = 1.5
    #: How much less likely it starts behind the first word of the labelled stretch.
    inside: float = 0.5
    #: Pieces of a value; a label says less about a longer stretch, because most of it is no value.
    brief: int = 24
    #: The least certainty of a label.
    least: float = 0.6
    #: Fields whose claims on a label are within this of the largest claim share the label.
    alike: float = 0.1


@dataclass(frozen=True, slots=True)
class TablePriorConfig:
    """The fields of a list's items stand below the heads of their columns (tables.py)."""

    #: How much likelier a value starts below its field's head.
    own: float = 3.5
    #: How much less likely it starts below the head of another field.
    others: float = 3.5
    #: How much less likely it starts behind the beginning of its cell.
    inside: float = 1.5
    #: How much likelier an item begins on a line that fills its table's columns.
    row: float = 2.5
    #: How much less likely it begins on a line that fills none.
    no_row: float = 2.5
    #: How much less likely it begins outside of tables, if their heads are surely those of all fields.
    outside: float = 2.5
    #: The share of the fields with a head up to which a table is surely not the list's.
    few: float = 0.2
    #: The share of the fields with a head from which on a table is surely the list's.
    many: float = 0.6
    #: The least certainty of a head that makes a line a table's head.
    least: float = 0.6
    #: The fewest heads of a table.
    heads: int = 2
    #: The least share of a head line's short cells that are heads: justified text has gaps between its words, too.
    share: float = 0.25
    #: The number of lines with fewer than two columns after which a table is over.
    over: int = 8
    #: The least certainty of a head for a field, for its column to be the field's.
    claimed: float = 0.5
    #: The share of these columns that a line must fill for a table that was over to go on.
    filled: float = 0.6


@dataclass(frozen=True, slots=True)
class ListPriorConfig:
    """The items of a list of texts begin at lines or commas behind its label (list_prior.py)."""

    #: How much likelier an item begins at a line, or behind a comma, of the text behind the list's label.
    item: float = 5.0
    #: How much less likely it begins elsewhere in that text.
    inside: float = 3.0
    #: How much less likely it begins on the rest of the page.
    outside: float = 2.0
    #: How much likelier the text of an item starts at the item's beginning.
    text: float = 2.0
    #: How far left of the first line the others may begin, in the units of `Pieces.left`.
    indent: int = 30
    #: Lines with this many words or more, in the mean, are no list but a paragraph.
    prose: float = 9.0
    #: The number of lines from which on a list may go on behind its end, up to the next label: at a page's end its
    #: number and a heading stand in between. Of 400 items on nine pages 57 were found without this, 393 with it.
    long: int = 8
    #: The most words of a last item that begins behind an "and".
    brief: int = 4
    #: The most lines that are searched for a list, behind all of its labels.
    lines: int = 10_000


@dataclass(frozen=True, slots=True)
class HeadingPriorConfig:
    """The fields of an object stand below a heading with its name (heading_prior.py)."""

    #: How much likelier a value starts below its object's heading.
    own: float = 2.5
    #: How much less likely it starts below the heading of an object with fields of the same names.
    others: float = 2.5
    #: Two objects with this share of common names, among the fields of the smaller one, are rivals.
    same_names: float = 0.5
    #: The least share of an object's words, and of the heading's, that makes a heading.
    least: float = 0.65
    #: The lines below a heading after which its weight falls to a third, if nothing stands behind it.
    alone: float = 14.0
    #: The same if the heading's line continues.
    beside: float = 6.0
    #: Lines after which a heading's block is over.
    over: int = 16
    #: How far left of its heading a block may begin, in the units of `Pieces.left`.
    indent: int = 40
    #: Share of a score below a list's heading that is added for the beginnings of its items.
    items: float = 1.4
    #: Share of the best such score that is taken from places outside of the list's block.
    outside: float = 0.8


@dataclass(frozen=True, slots=True)
class PartyPriorConfig:
    """A party's name stands before the term that defines it (party_prior.py)."""

    #: How much likelier a value starts at the name before the term that is its field's.
    own: float = 6.0
    #: How much likelier it starts in what stands between that name and the term.
    within: float = 2.0
    #: How much less likely it starts at another party, at who represents one, or at a term.
    others: float = 4.0
    #: The least similarity of a term and a field, and of the best of those that are left when others are sure.
    least: float = 0.6
    left: float = 0.3
    #: Terms and fields whose similarity is within this of the largest one share a claim.
    alike: float = 0.02


@dataclass(frozen=True, slots=True)
class ExamplePriorConfig:
    """A value looks like the schema's examples (priors.py).

    F1 of a list of drugs without heads was .38 without, .71 with it.
    """

    #: How much likelier a value starts at text that looks like an example.
    own: float = 2.0


@dataclass(frozen=True, slots=True)
class AbsencePriorConfig:
    """The other priors' scores at the likeliest place tell whether there is a value (priors.py)."""

    #: How much less likely absence is if a value stands below its field's head, at most.
    present: float = 3.0
    #: How much likelier absence is if all cells of the line are other fields'.
    empty: float = 1.5
    #: The share of the likeliest place's score by which absence in the record is less likely.
    labelled: float = 0.5


@dataclass(frozen=True, slots=True)
class RowConfig:
    """The places at which the items of an array begin (scoring/rows.py)."""

    #: The least probability of a place that begins an item. It is low, because a missed item loses all of its values:
    #: over fifteen sets the mean F1 was .477 from .3 on, .485 from .12, .476 from .06.
    least: float = 0.2
    #: Items of one array do not begin closer to each other than this, in pieces.
    apart: int = 2
    #: The least probability of a place that counts as a refused beginning, for the confidence that a list is complete.
    refused: float = 0.01
    #: The most refused beginnings of an array.
    most_refused: int = 500


@dataclass(frozen=True, slots=True)
class DoubtfulRowsConfig:
    """Without a sure beginning of an array's items, the likeliest places begin items (scoring/rows.py).

    Of 56 such arrays with a place from .05 on 50 had items. Mean F1 of thirteen sets is .535 without and .557 with it.
    """

    #: The least probability of such a place.
    least: float = 0.03
    #: The least share of the probability of the likeliest one.
    share: float = 0.3
    #: The most items that begin at such places.
    most: int = 8
    #: The pieces of an item's field. Doubtful items begin no closer than their fields' pieces, and no closer than their
    #: share of the text: if an item's values are scattered over a page, each of them may look like its beginning. F1 of
    #: documents with such lists: broker_statements .43 to .50, film_articles .54 to .58, twelve other sets .43 to .43.
    pieces_a_field: int = 12


@dataclass(frozen=True, slots=True)
class SingleItemConfig:
    """A document without a row is one item of the schema's only list if it has the item's fields
    (scoring/rows.py)."""

    #: The least mean, over the fields of an item, of the probability that the document has the field. Of 85 documents
    #: without a row under 18 schemas that were made a list's item, 28 of the 32 of the schema's own kind reach it, and
    #: 13 of the 53 of other kinds.
    least: float = 0.5


@dataclass(frozen=True, slots=True)
class ProximityConfig:
    """The fields of one object stand near each other (scoring/reranking.py)."""

    #: The lines over which nearness falls to a third.
    lines: float = 3.0
    #: The distance across the page over which it does, in the units of `Pieces.left`.
    across: float = 120.0
    #: The weight of a candidate far from all others, relative to one on the same spot.
    elsewhere: float = 0.03
    #: The exponent of the nearness of other fields.
    together: float = 2.0
    #: The exponent of the probability that a candidate's words are no other object's.
    rivals: float = 2.0
    #: Rounds of mean field.
    rounds: int = 2
    #: Records with more candidates than this within objects stay unchanged, because every pair of them is compared.
    most: int = 3_000
    #: The upper limit of the probability that words are another object's.
    taken: float = 0.95


@dataclass(frozen=True, slots=True)
class SharedWordsConfig:
    """Words are the value of one field of an object, the surer one's (scoring/reranking.py)."""

    #: The exponent of the probability that a candidate's words are no surer field's. Mean F1 of twelve sets and the
    #: share of their absent fields that got a value: .595 and 24% without, .620 and 18% with .7, .617 and 17% with 1.5.
    #: If the surer field doubts as well, F1 of 21 sets is .596 instead of .603.
    rivals: float = 0.7
    #: Objects with more candidates than this stay unchanged, because every pair of them is compared.
    most: int = 3_000
    #: The upper limit of the probability that words are another field's.
    taken: float = 0.95


@dataclass(frozen=True, slots=True)
class PrintedOptionsConfig:
    """A choice has a value if the document prints its likeliest option (scoring/choices.py)."""

    #: How much less likely (a natural logarithm) its absence is then. Of 66 demanded currencies of invoices and
    #: receipts 12 are kept without it and 37 with 2, all of them right; mean F1 of twelve sets with choices is .664
    #: without it and .666 with it.
    present: float = 2.0


@dataclass(frozen=True, slots=True)
class DescribedOptionsConfig:
    """Options that the document does not print are compared with its passages (scoring/described_options.py).

    training/class_fit.py fits the weights of choices and writes them here. Those of lists were
    fitted on two training sets whose documents were joined by twos and threes.
    """

    #: The share of the reader's log probability of an option.
    reader: float = 0.78
    #: The weight of an option's likeness to the document, a cosine.
    alike: float = 8.52
    #: The weight of an option that is printed though the reader's likeliest is not.
    printed: float = 1.16
    #: The log odds that a choice has no value, before anything is known of it.
    nothing: float = 0.51
    #: How much likelier absence is, for each unit of the reader's log odds of absence above zero.
    absent: float = 1.33
    #: How much likelier a choice has a value, for the likeness of the document and the option that is most like it.
    likest: float = 5.53
    #: The log odds of an option of a list: its likeness, how far it is behind the likest option of the list, how far
    #: it is ahead of all others in its own sentence, and what is taken from their sum.
    list_alike: float = 5.0
    list_behind: float = 4.0
    list_ahead: float = 12.0
    list_bias: float = 2.2
    #: The least probability of the likest option, and of any other.
    list_first: float = 0.25
    list_least: float = 0.5
    #: A list with an item of at least this probability, which the reader finds by pointing, is not compared. Of 210
    #: lists of options in six sets, printed or not, two have one.
    list_rows: float = 0.5


@dataclass(frozen=True, slots=True)
class TableConfig:
    """The weights of what tells a field's column, natural logarithms, and the least probabilities of a match.

    They were fitted on 33 lists of eleven layouts (bench/list_layouts, the tuning part). Each subject judged by a fit
    on the others, 86% of the columns of .6 and more are right, 92% of those of .7, and 96% of those of .8.
    """

    #: The weight of the logarithm of the network's votes, and of that for no column; what is added to a vote, which may
    #: be mistaken; the weight of a field's share of all votes for a column.
    votes: float = 1.34
    none: float = 2.85
    doubt: float = 0.02
    claimed: float = 2.27
    #: The weight of the logarithm of the share of a column's cells that are values of the field.
    readable: float = 1.87
    #: The weights of the likeness of head and field, and of how much it is above that of other heads and fields.
    alike: float = 2.15
    apart: float = 1.71
    #: The weight of the share of a head's own words that are the field's, above that of the other fields.
    named: float = 6.0
    #: The weight of the log odds of a field to be the sum that a column is.
    total: float = 2.0
    #: What a column has behind the others if all of its cells are the same, and for the share of cells that are empty
    #: though each item has a number of the field.
    constant: float = 4.0
    empty: float = 4.0
    #: What a column that tells no groups of rows has behind the others, for a field of the items around these rows.
    ungrouped: float = 8.0
    #: The weight of the share that a language model gives to a column in a few rows, and to none.
    read: float = 12.0
    read_none: float = 4.0
    #: A table whose columns are all surer than this needs no language model.
    known: float = 0.95
    #: What every column has ahead of none.
    some: float = 2.08
    #: The weight of the order of the columns of the fields around it.
    order: float = 5.5
    #: How far a field's column must be ahead of those that could be its column as well, in the share of the head's own
    #: words or in likeness; else the match is at most so sure.
    lead: float = 0.3
    liker: float = 0.3
    doubtful: float = 0.75
    #: The least probability of a field's column, and in a long table, whose rows the network itself reads worse; below
    #: it the field has no column.
    column: float = 0.8
    long_column: float = 0.25
    #: The least probability of a value that stands once for many rows; the largest share of filled cells in a column of
    #: merged ones.
    carried: float = 0.5
    merged: float = 0.7
    #: The least number of rows of a table that is matched, and the least share of the fields that have such a column:
    #: below it the network finds the rows.
    rows: int = 8
    fields: float = 0.4
    long_fields: float = 0.3
    #: The least probability of the columns that make a short table the list, whose other cells the network reads.
    listing: float = 0.4
    #: The least number of rows of a long table, and of one without heads, which may be a page in columns.
    long: int = 16
    headless: int = 24

    def least(self, rows: int) -> tuple[float, float]:
        """Returns the least probability of a column of a table of so many rows, and the least share of fields."""
        return (self.long_column, self.long_fields) if rows >= self.long else (self.column, self.fields)

    def fewest(self, rows: int, fields: int) -> float:
        """Returns the least number of fields of a list that have a column in a table of so many rows."""
        return max(2.0, self.least(rows)[1] * fields)


@dataclass(frozen=True, slots=True)
class PriorConfig:
    """The weights of each rule, by the rule's name, and the names of the rules that are switched off.

    Raises UsageError for an unknown name, ValueError for a weight below zero.
    """

    label_prior: LabelPriorConfig = LabelPriorConfig()
    table_prior: TablePriorConfig = TablePriorConfig()
    list_prior: ListPriorConfig = ListPriorConfig()
    heading_prior: HeadingPriorConfig = HeadingPriorConfig()
    party_prior: PartyPriorConfig = PartyPriorConfig()
    example_prior: ExamplePriorConfig = ExamplePriorConfig()
    absence_prior: AbsencePriorConfig = AbsencePriorConfig()
    doubtful_rows: DoubtfulRowsConfig = DoubtfulRowsConfig()
    single_item: SingleItemConfig = SingleItemConfig()
    proximity: ProximityConfig = ProximityConfig()
    shared_words: SharedWordsConfig = SharedWordsConfig()
    printed_options: PrintedOptionsConfig = PrintedOptionsConfig()
    described_options: DescribedOptionsConfig = DescribedOptionsConfig()
    bound_tables: TableConfig = TableConfig()
    #: Shared by several rules: it cannot be switched off.
    name_matching: NameMatchingConfig = NameMatchingConfig()
    #: No rule, but the threshold that all rules of rows use.
    rows: RowConfig = RowConfig()
    #: Names of the rules that are switched off.
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(self.without - set(RULES))
        if unknown:
            raise UsageError(f"without: expected some of {', '.join(RULES)}, got {unknown[0]!r}")
        for part in fields(self):
            own = {} if part.name == "without" else asdict(getattr(self, part.name))
            for name, weight in own.items():
                if not weight >= 0:
                    raise ValueError(f"{part.name}.{name}: expected at least 0, got {weight}")

    def applies(self, rule: str) -> bool:
        """Returns whether the rule of this name is switched on."""
        return rule not in self.without

    def fingerprint(self, model: str) -> str:
        """Returns the fingerprint of a model under these weights; under the default weights it is the model's own."""
        if self == DEFAULT_PRIORS:
            return model
        content: dict[str, Any] = asdict(self) | {"without": sorted(self.without)}
        return hashlib.sha256(json.dumps([model, content], sort_keys=True).encode()).hexdigest()[:16]


#: The rules that can be switched off.
RULES = tuple(f.name for f in fields(PriorConfig) if f.name not in ("name_matching", "rows", "without"))
#: All rules, with the default weights.
DEFAULT_PRIORS = PriorConfig()
