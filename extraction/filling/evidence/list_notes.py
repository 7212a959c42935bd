"""What a document says of the length of each list of its record, in words, and what becomes of incomplete lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cinnabar.engine.models.reader.confidence_features import list_names
from cinnabar.engine.request import Filled
from cinnabar.engine.tables.list_length import ListLength, length_of, printed_around
from cinnabar.extraction.documents.content.document import Document, Evidence, Span
from cinnabar.extraction.filling.evidence.evidence import page_of
from cinnabar.extraction.plan.run_options import OnListIncomplete
from cinnabar.extraction.store.records import LIST_INCOMPLETE, ListNote, Outcome
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_walk import walk_lists
from cinnabar.wording import with_noun

# A changed one changes values: raise the part `merging` (engine/version.py).
#: The fewest rows of a list of which anything is told, and the most gaps and numbers that a sentence names.
GAP_ROWS, NAMED_GAPS = 4, 8


def notes_of(document: Document, filled: Filled, form: Form) -> dict[str, ListNote]:
    """Returns what the document, and another reading, say of the length of each list outside of others, by pointer."""
    notes: dict[str, ListNote] = {}
    for one in walk_lists(form, filled.value) if filled.rows else ():
        begins = [filled.rows[row][0] for row in one.rows if row in filled.rows]
        if one.parent is not None or len(begins) < max(GAP_ROWS, len(one.rows)):
            continue
        length = length_of(document.text, begins, list_names(one.array))
        if sentence := _sentence(document, length):
            notes[one.pointer] = ListNote(sentence, length.disagrees)
    said = ListNote("", False)
    return notes | {at: replace(notes.get(at, said), other=other) for at, other in filled.others.items()}


def _sentence(document: Document, length: ListLength) -> str:
    """Returns a sentence on the length of a list; empty if the document tells nothing of it."""
    if length.told is None and not length.numbered and not length.agreeing:
        return ""
    told = length.told if length.told is not None else length.found
    parts = [f"{length.found} of {with_noun(told, 'row')}" if length.found <= told else _more(length.found, told)]
    if length.told_at is not None:
        words = printed_around(document.text, length.told_at)
        parts[0] += f" (\"{words}\"{_on_page(document, length.told_at[0])})"
    parts += _numbers(document, length)
    for gap in [gap for gap in length.gaps if not gap.numbers][:NAMED_GAPS]:
        words = printed_around(document.text, (gap.at, gap.at))
        what = with_noun(abs(gap.count), "row") + (" missing" if gap.count > 0 else " too many")
        parts.append(f"{what} by \"{words}\"{_on_page(document, gap.at)}")
    if not length.gaps and length.numbered:
        parts.append("numbered without a gap")
    if not length.gaps and length.agreeing > 1:
        parts.append(f"{length.agreeing} printed counts agree")
    return "; ".join(parts)


def _more(found: int, told: int) -> str:
    return f"{with_noun(found, 'row')}, {found - told:,} more than told"


def _numbers(document: Document, length: ListLength) -> Iterator[str]:
    """Yields the numbers of the rows that are missing, by the pages of the rows before them."""
    by_page: dict[str, list[int]] = {}
    for gap in length.gaps:
        by_page.setdefault(_on_page(document, gap.at), []).extend(gap.numbers)
    for page, numbers in list(by_page.items())[:NAMED_GAPS]:
        if numbers:
            yield f"no. {_list_numbers(numbers)} missing{page}"


def _list_numbers(numbers: Iterable[int]) -> str:
    """Returns numbers with their runs: "3, 7 to 9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [f"{run[0]} to {run[-1]}" if len(run) > 2 else " and ".join(map(str, run)) for run in runs]
    return ", ".join(shown[:NAMED_GAPS]) + (", …" if len(shown) > NAMED_GAPS else "")


def _on_page(document: Document, at: int) -> str:
    page = page_of(document, Evidence((Span(at, at + 1),), ""))
    return f", page {page}" if page else ""


def settle_incomplete_list(outcome: Outcome, on_list_incomplete: OnListIncomplete) -> Outcome:
    """Returns the outcome of a record that would be written; with "quarantine" it is held back if rows are missing."""
    record = outcome.record
    if record is None or LIST_INCOMPLETE not in record.flags or on_list_incomplete == "flag":
        return outcome
    wrong = {pointer: note.sentence for pointer, note in record.lengths.items() if note.disagrees}
    detail = "; ".join(f"{pointer or '/'}: {sentence}" for pointer, sentence in wrong.items())
    return replace(outcome, status="quarantined", code=LIST_INCOMPLETE, detail=detail[:2000], pointers=tuple(wrong))
