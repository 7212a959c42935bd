"""The weights of all rules that are added to the network's scores, and which of the rules are switched off.

Weights of scores are natural logarithms: with `own` 2.0 a value is e² times as likely to start at a place.
This file needs no torch, so that a wrong name is told before a model is loaded.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from cinnabar.schemas.errors import UsageError


@dataclass(frozen=True, slots=True)
class NameMatchingConfig:
    """How alike the cells of a page and the names of a form are; labels, headings and tables share it."""

    #: Likeness of two words' vectors that says nothing.
    unlike: float = 0.55
    #: Likeness of two words that differ only in their endings.
    same_stem: float = 0.95
    #: Weight of a name beside a description: where the two differ, the description says what is meant.
    named: float = 0.8
    #: Weight of a word of a description.
    noted: float = 0.85
    #: How fast a cell counts for less as one field's, the more it is like another one's name.
    rivals: float = 3.0


@dataclass(frozen=True, slots=True)
class LabelPriorConfig:
    """A value starts behind or below its field's label (label_prior.py)."""

    #: How much likelier a value starts behind its field's label.
    own: float = 2.0
    #: How much less likely it starts behind the label of another field.
    others: float = 1.5
    #: How much less likely it starts behind the first word of what is labelled.
    inside: float = 0.5
    #: Pieces of a value; of what is longer a label says less, since most of it is no value.
    brief: int = 24
    #: How sure a label has to be.
    least: float = 0.6
    #: Fields that a label names as surely as the surest one, within this, share it.
    alike: float = 0.1


@dataclass(frozen=True, slots=True)
class TablePriorConfig:
    """The fields of a list's items stand below the heads of their columns (tables.py, table_prior.py)."""

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
    #: How much less likely it begins outside of tables whose heads are surely those of all fields.
    outside: float = 2.5
    #: Share of the fields with a head in a table that is not the list's.
    few: float = 0.2
    #: Share of the fields with a head in a table that is the list's.
    many: float = 0.6
    #: How sure a head has to be to make a line a table's head.
    least: float = 0.6
    #: How many heads a table has at least.
    heads: int = 2
    #: Share of a line's short cells that are heads: between the words of justified text are gaps, too.
    share: float = 0.25
    #: Lines of fewer than two columns after which a table is over.
    over: int = 8
    #: How sure a head has to be of a field for its column to be the field's.
    claimed: float = 0.5
    #: Share of these columns that a line fills with which a table that was over goes on.
    filled: float = 0.6


@dataclass(frozen=True, slots=True)
class ListPriorConfig:
    """The items of a list of texts begin at lines or commas behind its label (list_prior.py)."""

    #: How much likelier an item begins at a line or behind a comma of what the list's label stands before.
    item: float = 5.0
    #: How much less likely it begins elsewhere in that.
    inside: float = 3.0
    #: How much less likely it begins on the rest of the page.
    outside: float = 2.0
    #: How much likelier the text of an item starts where the item begins.
    text: float = 2.0
    #: How far left of the first line the others may begin, in the units of `Pieces.left`.
    indent: int = 30
    #: Words of a list's lines, in the mean, from which on they are no list but a paragraph.
    prose: float = 9.0
    #: Lines from which on a list may go on behind its end, up to the next label: where a page ends, its number
    #: and a heading stand in between. Of 400 items on nine pages 57 were found without this, 393 with it.
    long: int = 8
    #: Words of the last item, at most, for it to begin behind an "and".
    brief: int = 4
    #: Lines that are looked at for a list, behind all of its labels.
    lines: int = 10_000


@dataclass(frozen=True, slots=True)
class HeadingPriorConfig:
    """The fields of an object stand below a heading with its name (heading_prior.py)."""

    #: How much likelier a value starts below its object's heading.
    own: float = 2.5
    #: How much less likely it starts below that of an object with fields of the same names.
    others: float = 2.5
    #: Of the fields of the one with fewer, the share of names that makes two objects rivals.
    same_names: float = 0.5
    #: Least share of an object's words, and of the heading's, that makes a heading.
    least: float = 0.65
    #: Lines below a heading over which it counts for a third, where nothing stands behind it.
    alone: float = 14.0
    #: The same where the heading's line goes on.
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
class ExamplePriorConfig:
    """A value looks as the schema's examples do (example_prior.py).

    Of a list of drugs that has no heads F1 was .38 without, .71 with it.
    """

    #: How much likelier a value starts where something looks as an example does.
    own: float = 2.0


@dataclass(frozen=True, slots=True)
class AbsencePriorConfig:
    """What the other priors say of the likeliest place says whether there is a value (absence_prior.py)."""

    #: How much less likely absence is where a value stands below its field's head, at most.
    present: float = 3.0
    #: How much likelier absence is where all cells of the line are other fields'.
    empty: float = 1.5
    #: Share of the score of the likeliest place by which absence in the record is less likely.
    labelled: float = 0.5


@dataclass(frozen=True, slots=True)
class RowConfig:
    """Which places begin the items of an array (answers/rows.py)."""

    #: Least probability of a place that begins an item. Low, because an item that is missed loses all of its
    #: values: over fifteen sets the mean F1 was .477 from .3 on, .485 from .12, .476 from .06.
    least: float = 0.2
    #: Items of one array do not begin closer to each other than this, in pieces.
    apart: int = 2


@dataclass(frozen=True, slots=True)
class RowSmoothingConfig:
    """A doubtful line among lines that begin items begins one too (answers/row_smoothing.py)."""

    #: Lines that are alike, at least.
    alike: int = 3
    #: Cells of each of them, at least: running text is alike everywhere.
    cells: int = 2
    #: Lines counted beside those that were read, of which half begin an item.
    unread: float = 1.0
    #: How much likelier an item begins in a line, at most.
    most: float = 3.0
    #: The left edges of lines that are alike differ by less, in the units of `Pieces.left`.
    coarse: int = 40
    #: The next such line is near up to so many times of how far apart such lines are (the median).
    near: float = 1.5


@dataclass(frozen=True, slots=True)
class DoubtfulRowsConfig:
    """Where none of an array's places surely begins an item, the likeliest ones do (answers/rows.py).

    Of 56 such arrays with a place from .05 on 50 had items. Mean F1 of thirteen sets .535 without, .557 so.
    """

    #: Least probability of such a place.
    least: float = 0.03
    #: Least share of the probability of the likeliest one.
    share: float = 0.3
    #: Most items that begin so.
    most: int = 8
    #: Pieces that a field of an item takes up. Doubtful items begin no closer than their fields take up, nor
    #: than their share of the text: where an item's values are scattered over a page, each of them may look
    #: like its beginning. F1 of documents with such lists: broker_statements .43 to .50, film_articles .54 to
    #: .58, twelve other sets .43 to .43.
    pieces_a_field: int = 12


@dataclass(frozen=True, slots=True)
class ColumnAlignmentConfig:
    """The values of one field in many rows stand in one column (answers/column_alignment.py)."""

    #: Rows that agree with every place, counted beside those that were read: a few rows make no table.
    no_column: float = 2.0
    #: Places across the page are as coarse as this, in the units of `Pieces.left`: how far values of a column
    #: may stand beside each other.
    coarse: int = 5
    #: Rounds in which what is likelier by its column changes the column: F1 of nics_tables .823, .884 after
    #: one, .889 after three.
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class ProximityConfig:
    """The fields of one object stand near each other (answers/proximity.py)."""

    #: Lines over which nearness falls to a third.
    lines: float = 3.0
    #: Distance across the page over which it does, in the units of `Pieces.left`.
    across: float = 120.0
    #: Weight of standing far from everything else, beside that of standing on the same spot.
    elsewhere: float = 0.03
    #: Power of how much stands near a candidate.
    together: float = 2.0
    #: Power of how likely a candidate's words are no other object's.
    rivals: float = 2.0
    #: Rounds of mean field.
    rounds: int = 2
    #: Records of more candidates than this within objects stay as they are: every pair of them is looked at.
    most: int = 3_000
    #: No words are another object's for more certain than this.
    taken: float = 0.95


@dataclass(frozen=True, slots=True)
class SharedWordsConfig:
    """Words are the value of one field of an object, the surer one's (answers/shared_words.py)."""

    #: Power of how likely a candidate's words are no surer field's. Mean F1 of twelve sets and the share of
    #: their absent fields that got a value: .595 and 24% without, .620 and 18% with .7, .617 and 17% with 1.5.
    #: Where the surer field doubts as well, F1 of 21 sets is .596 instead of .603.
    rivals: float = 0.7
    #: Objects of more candidates than this stay as they are: every pair of them is looked at.
    most: int = 3_000
    #: No words are another field's for more certain than this.
    taken: float = 0.95


@dataclass(frozen=True, slots=True)
class PrintedOptionsConfig:
    """A choice has a value where its likeliest option is printed in the document (answers/choices.py)."""

    #: How much less likely (a natural logarithm) it is then that the choice has none. Of 66 demanded currencies of
    #: invoices and receipts 12 are kept without it and 37 with 2, all of them right; mean F1 of twelve sets with
    #: choices is .664 without it and .666 with it.
    present: float = 2.0


@dataclass(frozen=True, slots=True)
class PriorConfig:
    """The weights of each rule, by the rule's name, and the names of the rules that are switched off.

    Raises UsageError for an unknown name, ValueError for a weight below zero.
    """

    label_prior: LabelPriorConfig = LabelPriorConfig()
    table_prior: TablePriorConfig = TablePriorConfig()
    list_prior: ListPriorConfig = ListPriorConfig()
    heading_prior: HeadingPriorConfig = HeadingPriorConfig()
    example_prior: ExamplePriorConfig = ExamplePriorConfig()
    absence_prior: AbsencePriorConfig = AbsencePriorConfig()
    row_smoothing: RowSmoothingConfig = RowSmoothingConfig()
    doubtful_rows: DoubtfulRowsConfig = DoubtfulRowsConfig()
    column_alignment: ColumnAlignmentConfig = ColumnAlignmentConfig()
    proximity: ProximityConfig = ProximityConfig()
    shared_words: SharedWordsConfig = SharedWordsConfig()
    printed_options: PrintedOptionsConfig = PrintedOptionsConfig()
    #: Shared by several rules: it cannot be switched off.
    name_matching: NameMatchingConfig = NameMatchingConfig()
    #: No rule, but the threshold that all rules of rows go by.
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
        """Whether the rule of this name is switched on."""
        return rule not in self.without

    def fingerprint(self, model: str) -> str:
        """Names the model of this fingerprint that reads under these weights: its own under the usual ones."""
        if self == DEFAULT_PRIORS:
            return model
        said: dict[str, Any] = asdict(self) | {"without": sorted(self.without)}
        return hashlib.sha256(json.dumps([model, said], sort_keys=True).encode()).hexdigest()[:16]


#: The rules that can be switched off.
RULES = tuple(f.name for f in fields(PriorConfig) if f.name not in ("name_matching", "rows", "without"))
#: All rules, with the usual weights.
DEFAULT_PRIORS = PriorConfig()
