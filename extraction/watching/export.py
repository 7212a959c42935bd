"""Exports documents with their records as one HTML page that needs no server: pages, text, values, corrections.

The page works from a file. Its policy allows its own style and script, by their hashes, and pictures within it; nothing
is fetched. Without the script everything is there to be read; the script finds, walks and highlights.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from cinnabar.extraction.documents import Document
from cinnabar.extraction.ingest.page_pictures import PagePicture
from cinnabar.extraction.storage.files import failures, write_whole
from cinnabar.extraction.watching.export_style import EXPORT_STYLE, SCRIPT
from cinnabar.extraction.watching.pages import page_end, page_start, shown
from cinnabar.extraction.watching.selection import (
    Chosen,
    Corrected,
    TextReader,
    Texts,
    check_limit,
    part_intervals,
    select_documents,
)
from cinnabar.schemas.pointers import escape
from cinnabar.schemas.wording import counted

#: Documents of a page by default; pages of a document with a picture; bytes of all pictures; characters of a text.
LIMIT, _PAGES, _PICTURES, _TEXT = 200, 12, 80 << 20, 60_000
# Values of a document that are shown, characters of one, and of what is said of it.
_VALUES, _VALUE, _DETAIL = 2_000, 2_000, 500
# From this confidence on a value is sure, and from the other on it is likely.
_SURE, _LIKELY = 0.9, 0.6
_SIGNS = {"sure": "✓", "likely": "~", "doubtful": "?", "human": "✎"}
_WORDS = {"sure": "sure", "likely": "likely", "doubtful": "doubtful", "human": "checked by a person"}


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """An exported page: its path and bytes, its documents, the pictures of pages in it, and the selected documents that
    were left out beyond the limit."""

    path: Path
    documents: int
    left_out: int
    pages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Value:
    """A value to show: `key` names it on the page, `kind` how sure it is; `row` is its row of `fields`, {} for none."""

    key: str
    pointer: str
    text: str
    kind: str
    confidence: float | None
    row: Mapping[str, Any]
    correction: Corrected | None


def export_page(
    out: Path,
    to: Path,
    *,
    where: str | None = None,
    schema_name: str | None = None,
    paths: Sequence[str] = (),
    limit: int = LIMIT,
    images: bool = True,
) -> ExportedPage:
    """Writes the chosen documents with their records to an HTML file, the least sure first.

    where: an SQL condition on path, document, schema_name, outcome, code, detail, run_id, confidence, flags and
    record_json. paths: paths of documents or their ends. limit: the most documents. images: whether pages are drawn.
    Raises UsageError if the folder holds no results, or the condition is wrong, RunError if the file cannot be written.
    """
    check_limit(limit)
    chosen, left_out = select_documents(out, where, schema_name, paths, limit)
    pages = 0

    def write(temporary: Path) -> None:
        nonlocal pages
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file, TextReader(out) as reader:
            pages = _write(file, chosen, left_out, reader, images)

    with failures(f"{to}: the export could not be written"):
        write_whole(to, write)
    return ExportedPage(to, len(chosen), left_out, pages, to.stat().st_size)


def _write(file: IO[str], chosen: Sequence[Chosen], left_out: int, reader: TextReader, images: bool) -> int:
    """Writes the page document by document, and returns the number of pictures."""
    title = f"{counted(len(chosen), 'document')} · Cinnabar"
    file.write(page_start(title, EXPORT_STYLE, SCRIPT, images=True))
    file.write(_head(len(chosen), left_out))
    pages, room = 0, _PICTURES
    for number, one in enumerate(chosen, 1):
        texts = reader.read(one, images and room > 0)
        pictures: list[PagePicture] = []
        for picture in texts.pictures[:_PAGES]:
            if len(picture.jpeg) > room:
                break
            room -= len(picture.jpeg)
            pictures.append(picture)
        pages += len(pictures)
        file.write(_article(number, one, texts, pictures))
    if not chosen:
        file.write("<p>No document was chosen.</p>")
    file.write("</main>")
    file.write(page_end(SCRIPT))
    return pages


def _head(documents: int, left_out: int) -> str:
    legend = " ".join(f'<span class="badge {kind}">{sign} {_WORDS[kind]}</span>' for kind, sign in _SIGNS.items())
    more = f" {left_out:,} more were chosen and left out." if left_out else ""
    return (
        f'<header><h1>{counted(documents, "document")}</h1><label for="find">Find</label> '
        '<input id="find" type="search" autocomplete="off" placeholder="words of a path, a value, a text">'
        '<p id="found" class="soft" role="status" aria-live="polite"></p>'
        f'<p class="soft">{legend}</p><p class="soft keys"><kbd>j</kbd> <kbd>k</kbd> document, <kbd>n</kbd>'
        " <kbd>p</kbd> value, <kbd>d</kbd> doubtful value, <kbd>/</kbd> find, <kbd>Esc</kbd> all."
        f"{more}</p></header><main>"
    )


def _article(number: int, one: Chosen, texts: Texts, pictures: Sequence[PagePicture]) -> str:
    values = _values(number, one)
    sure = "" if one.confidence is None else f", confidence {one.confidence:.2f}"
    outcome = one.outcome if one.code is None else f"{one.outcome}: {one.code}"
    detail = f'<p class="soft">{shown((one.detail or "")[:_DETAIL])}</p>' if one.detail else ""
    document = _document(texts, pictures, values)
    return (
        f'<article id="d{number}" tabindex="-1" aria-labelledby="h{number}"><h2 id="h{number}">'
        f"<bdi>{shown(one.path)}</bdi></h2><p class=\"soft\">{shown(one.schema_name)}, {shown(outcome)}{sure},"
        f" <code>{shown(one.document[:16])}</code></p>{detail}"
        f'<div class="both"><section class="document" tabindex="0" aria-label="Document {number}">{document}</section>'
        f'<section class="record" tabindex="0" aria-label="Record {number}">{_table(values)}{_others(one, values)}'
        "</section></div>"
        "</article>\n"
    )


def _values(number: int, one: Chosen) -> list[_Value]:
    """Returns the values of a record in its order, then the places that were left out."""
    rows = {str(row["pointer"]): row for row in one.values}
    leaves = {} if one.record_json is None else dict(_leaves(json.loads(one.record_json)))
    corrections = {correction.pointer: correction for correction in one.corrections}
    found = []
    for at, pointer in enumerate([*leaves, *sorted(rows.keys() - leaves.keys())][:_VALUES]):
        row = rows.get(pointer, {})
        confidence = row.get("confidence")
        kind = "human" if row.get("origin") == "human" else _kind(confidence)
        value = leaves.get(pointer, _LEFT_OUT)
        text = "left out" if value is _LEFT_OUT else _told(value)
        key = f"d{number}v{at}"
        found.append(_Value(key, pointer, text, kind, confidence, row, corrections.get(pointer)))
    return found


_LEFT_OUT = object()


def _leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _leaves(part, f"{pointer}/{escape(name)}")
    elif isinstance(value, list) and value:
        for at, part in enumerate(value):
            yield from _leaves(part, f"{pointer}/{at}")
    else:
        yield pointer, value


def _told(value: Any) -> str:
    if value is None or value == [] or value == {}:
        return "–" if value is None else "empty"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}…"


def _kind(confidence: float | None) -> str:
    if confidence is None:
        return ""
    return "sure" if confidence >= _SURE else "likely" if confidence >= _LIKELY else "doubtful"


def _table(values: Sequence[_Value]) -> str:
    if not values:
        return '<p class="soft">There is no record.</p>'
    rows = "".join(map(_row, values))
    return (
        '<table><thead><tr><th scope="col">field</th><th scope="col">value</th><th scope="col" class="n">confidence'
        f"</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(value: _Value) -> str:
    about = []
    if value.row.get("place"):
        about.append(shown(value.row["place"]))
    if value.row.get("flags"):
        about.append(shown(", ".join(value.row["flags"])))
    evidence = value.row.get("evidence_text")
    if evidence and evidence != value.text:
        about.append(f"read: “{shown(str(evidence)[:_DETAIL])}”")
    if value.correction is not None:
        about.append(_correction(value.correction))
    below = f'<div class="about">{" · ".join(about)}</div>' if about else ""
    sign = ""
    if value.kind:
        number = "" if value.confidence is None else f" {value.confidence:.2f}"
        label = f'<span class="hide">, {_WORDS[value.kind]}</span>'
        sign = f'<span class="badge {value.kind}">{_SIGNS[value.kind]}{number}</span>{label}'
    return (
        f'<tr id="{value.key}" class="value {value.kind}" tabindex="0"><th scope="row">'
        f"{shown(value.pointer or '/')}</th><td><bdi>{shown(value.text)}</bdi>{below}</td>"
        f'<td class="n">{sign}</td></tr>'
    )


def _correction(one: Corrected) -> str:
    before = "nothing" if one.before is None else one.before[:_DETAIL]
    after = {"accept": "accepted as it is", "absent": "not in the document"}.get(one.action)
    told = f"changed from {shown(before)}" if after is None else after
    return f'<span class="corrected">✎ {told} by {shown(one.who)}, {shown(one.made)}</span>'


def _others(one: Chosen, values: Iterable[_Value]) -> str:
    """Returns the corrections of lists and whole records."""
    there = {value.pointer for value in values}
    left = [correction for correction in one.corrections if correction.pointer not in there]
    items = "".join(
        f"<li>{shown(c.pointer or 'the whole record')}: {shown(c.action)} {_correction(c)}</li>" for c in left
    )
    return f'<h3>Corrections</h3><ul class="soft">{items}</ul>' if items else ""


def _document(texts: Texts, pictures: Sequence[PagePicture], values: Sequence[_Value]) -> str:
    if texts.document is None:
        return f'<p class="missing">{shown(texts.missing)}</p>'
    document = texts.document
    owners = [*part_intervals(document)]
    drawn = {picture.part: picture for picture in pictures}
    marks = _marks(values)
    parts: list[str] = []
    told: set[int] = set()
    left = _TEXT
    for start, end, owner in owners:
        part = _page_around(document, owner, drawn)
        if part is not None:
            if part not in told:
                told.add(part)
                parts.append(_picture(drawn[part], document, values))
            continue
        if left <= 0 or not document.text[start:end].strip():
            continue
        stop = min(end, start + left)
        left -= stop - start
        name = _name(document, owner)
        head = f"<h3>{shown(name)}</h3>" if name else ""
        parts.append(f"{head}<pre>{_marked(document.text, start, stop, marks)}</pre>")
    if left <= 0:
        parts.append(f'<p class="soft">The text goes on; {_TEXT:,} characters are shown.</p>')
    hidden = sum(part.kind == "page" for part in document.parts) - len(drawn)
    if drawn and hidden > 0:
        parts.append(f'<p class="soft">{counted(hidden, "page")} more without a picture here.</p>')
    return "".join(parts)


def _page_around(document: Document, owner: int, drawn: Mapping[int, PagePicture]) -> int | None:
    """Returns the drawn page that an interval's part is or lies in; what no page shows is told as text."""
    while owner >= 0:
        part = document.parts[owner]
        if part.kind in ("hidden", "notes", "fields"):
            return None
        if owner in drawn:
            return owner
        owner = part.parent
    return None


def _name(document: Document, owner: int) -> str:
    if owner < 0:
        return ""
    part = document.parts[owner]
    if part.kind == "page":
        return f"Page {part.page}"
    return f"{part.kind}: {part.name}" if part.name and part.name != part.kind else part.kind


def _marks(values: Iterable[_Value]) -> list[tuple[int, int, _Value]]:
    """Returns the characters [start, end) that were read, each with its value, in order."""
    found = [
        (int(span["start"]), int(span["end"]), value) for value in values for span in value.row.get("spans") or ()
    ]
    return sorted(found, key=lambda one: one[:2])


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int, _Value]]) -> str:
    """Returns a text with marks; where several values were read, a mark names all of them."""
    own = [(max(a, start), min(b, end), value) for a, b, value in marks if a < end and b > start]
    cuts = sorted({start, end, *(a for a, _, _ in own), *(b for _, b, _ in own)})
    written = []
    for a, b in pairwise(cuts):
        here = [value for first, last, value in own if first <= a and b <= last]
        piece = shown_text(text[a:b])
        if here:
            names = " ".join(value.key for value in here)
            piece = f'<mark class="{here[0].kind}" data-v="{names}" title="{shown(_title(here))}">{piece}</mark>'
        written.append(piece)
    return "".join(written)


def shown_text(text: str) -> str:
    """Returns a text for HTML with its line breaks."""
    return shown(text.replace("\t", " ").replace("\x0c", "\n"))


def _title(values: Iterable[_Value]) -> str:
    return "; ".join(
        f"{value.pointer or '/'} {'' if value.confidence is None else f'{value.confidence:.2f}'}" for value in values
    )


def _picture(picture: PagePicture, document: Document, values: Iterable[_Value]) -> str:
    """Returns a page with a frame around each place where a value was read."""
    part = document.parts[picture.part]
    frames = []
    for value in values:
        starts = [int(span["start"]) for span in value.row.get("spans") or ()]
        if not any(part.start <= start < part.end for start in starts):
            continue
        for box in value.row.get("boxes") or ():
            if box["page"] != part.page:
                continue
            x, y, right, bottom = (float(box[side]) for side in ("x0", "top", "x1", "bottom"))
            frames.append(
                f'<rect class="{value.kind}" data-v="{value.key}" x="{x - 1.5:.1f}" y="{y - 1.5:.1f}"'
                f' width="{max(right - x, 1) + 3:.1f}" height="{max(bottom - y, 1) + 3:.1f}" rx="1.5">'
                f"<title>{shown(_title([value]))}</title></rect>"
            )
    data = base64.b64encode(picture.jpeg).decode()
    label = f"Page {picture.page}, {counted(len(frames), 'place')} that values were read from"
    return (
        f'<figure><svg viewBox="0 0 {picture.width:.1f} {picture.height:.1f}" role="img" aria-label="{label}">'
        f'<image href="data:image/jpeg;base64,{data}" width="{picture.width:.1f}" height="{picture.height:.1f}"/>'
        f"{''.join(frames)}</svg><figcaption>Page {picture.page}</figcaption></figure>"
    )
