"""Electronic invoices (EN 16931) in XML: their business terms as labelled lines, their lines and taxes as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from cinnabar.extraction.documents.content.marked_text import MarkedText, part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import MAX_TREE, local, xml_tree
from cinnabar.extraction.documents.plain.rows import table_lines
from cinnabar.extraction.documents.web.invoice_terms import BLOCKS, LINES, TAXES, TOTALS, Syntax, Term, TermGroup

# The roots of both syntaxes by their names, with a part of their namespaces.
_ROOTS: dict[str, tuple[Syntax, str]] = {
    "CrossIndustryInvoice": ("cii", "uncefact"),
    "CrossIndustryDocument": ("cii", "ferd"),
    "Invoice": ("ubl", "oasis:names:specification:ubl"),
    "CreditNote": ("ubl", "oasis:names:specification:ubl"),
}
_DAY = re.compile(r"(\d{4})(\d{2})(\d{2})\d{0,6}")
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?")
_MONEY = re.compile(r"\b(?:amount|price|allowances|charges)\b(?! base)", re.IGNORECASE)
_NUMERIC = re.compile(rf"{_MONEY.pattern}|\b(?:quantity|rate)\b", re.IGNORECASE)
# Rows that are laid out at once, and those of a table.
_BLOCK, MAX_ROWS = 500, 50_000
# The terms that repeat in one invoice: notes, references.
_MAX_VALUES = 20
# The values that mean the same as no value, by the numbers of their terms: sums of allowances and charges, the paid
# amount and rounding count as 0 in the standard's rules, and a price is that of one unit.
_EMPTY = {107: 0, 108: 0, 113: 0, 114: 0, 149: 1}
# Identifiers of accounts and for VAT have no blanks; some programs print them in groups.
_WITHOUT_BLANKS = (31, 48, 84, 91)


def syntax_of(root: Any) -> Syntax | None:
    """Returns the syntax of an invoice by the root of its tree, None if it is anything else."""
    syntax, namespace = _ROOTS.get(local(root), (None, ""))
    return syntax if syntax and namespace in root.tag.partition("}")[0] else None


def is_invoice(data: bytes) -> bool:
    """Returns whether XML is an electronic invoice."""
    if len(data) > MAX_TREE:
        return False
    root, damaged = xml_tree(data)
    return root is not None and not damaged and syntax_of(root) is not None


def add_invoice(reading: ParseContext, root: Any, syntax: Syntax) -> None:
    """Appends the terms of an invoice as a part of its own; the places of its values are their terms (BT-1)."""
    with part_text(reading, "invoice", media_type="application/xml") as lines:
        for block in BLOCKS:
            _add_terms(lines, root, syntax, block)
        _add_group(reading, lines, root, syntax, LINES)
        _add_group(reading, lines, root, syntax, TAXES)
        _add_terms(lines, root, syntax, TOTALS)


def _add_terms(lines: MarkedText, root: Any, syntax: Syntax, terms: Sequence[Term]) -> None:
    lines.blank()
    for term in terms:
        for text in dict.fromkeys(_values(term, root, syntax)):
            lines.line(f"{term.name}: {text}", f"BT-{term.number}")


def _add_group(reading: ParseContext, lines: MarkedText, root: Any, syntax: Syntax, group: TermGroup) -> None:
    """Appends a table with a column for each term that any row has."""
    elements = group.elements(root, syntax)
    if len(elements) > MAX_ROWS:
        reading.builder.flags.add("truncated")
        del elements[MAX_ROWS:]
    rows = [[next(_values(term, one, syntax), "") for term in group.terms] for one in elements]
    used = [at for at in range(len(group.terms)) if any(row[at] for row in rows)]
    if not used:
        return
    lines.blank()
    names = [group.terms[at].name for at in used]
    for begin in range(0, len(rows), _BLOCK):
        if lines.full:
            return
        block = [[row[at] for at in used] for row in rows[begin : begin + _BLOCK]]
        (head, *_), *printed = table_lines([names, *block])
        if not begin:
            lines.line(head, group.name)
        for number, (row, *_) in enumerate(printed, begin + 1):
            lines.line(row, f"{group.name} {number}")


def _values(term: Term, element: Any, syntax: Syntax) -> Iterator[str]:
    """Yields the texts of a term, at most `_MAX_VALUES`."""
    for node in term.values(element, syntax)[:_MAX_VALUES]:
        text = str(node) if isinstance(node, str) else "".join(node.itertext())
        if text := _plain(" ".join(text.split()), term):
            yield text


def _plain(text: str, term: Term) -> str:
    """Returns a date as ISO 8601 has it, an amount with two decimals or as many as it needs, and "" for no value.

    A number never has three decimals: its mark would look like one of thousands.
    """
    if term.number in _WITHOUT_BLANKS:
        return text.replace(" ", "")
    if "date" in term.name and (day := _DAY.fullmatch(text)):
        return "-".join(day.groups())
    if not (_NUMERIC.search(term.name) and _NUMBER.fullmatch(text)):
        return text
    number = Decimal(text)
    if number == _EMPTY.get(term.number):
        return ""
    whole, _, decimals = f"{number:f}".partition(".")
    decimals = decimals.rstrip("0").ljust(2 if _MONEY.search(term.name) else 0, "0")
    return f"{whole}.{decimals}{'0' * (len(decimals) == 3)}" if decimals else whole
