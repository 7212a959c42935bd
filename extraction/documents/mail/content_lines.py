"""Reads calendars (RFC 5545) and contacts (RFC 6350, and vCard 2.1): their lines become labelled text."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import add_content
from cinnabar.extraction.documents.content.limits import MAX_COMPONENT_DEPTH, MAX_COMPONENTS, MAX_MAIL_PARTS
from cinnabar.extraction.documents.content.marked_text import part_text
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.mail.mime import unbase64
from cinnabar.extraction.documents.plain.charsets import decode, known_charset
from cinnabar.extraction.documents.plain.html import html_to_text

_LINE = re.compile(r'(?:[\w-]+\.)?([\w-]{1,60})((?:;(?:"[^"]*"|[^":;])*)*):(.*)', re.DOTALL)
_PARAMETER = re.compile(r';([\w-]+)(?:=("[^"]*"|[^;]*))?')
_MOMENT = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?")
_DATA = re.compile(r"\s*data:([\w.+-]+/[\w.+-]+)?[^,]{0,200};base64,", re.IGNORECASE)
# Some writers fold binary values without a blank.
_UNFOLDED = re.compile(
    r"^[\w.-]{1,60};[^\n:]{0,200}\b(?:BASE64|ENCODING=B)\b[^\n:]{0,200}:[^\n]*(?:\n[A-Za-z0-9+/]+={0,2}(?=\n|\Z))+",
    re.IGNORECASE | re.MULTILINE,
)
_ESCAPED = re.compile(r"\\([\\;,nN])")
_UNESCAPED_SEMICOLON = re.compile(r"(?<!\\);")
# The labels of properties whose names are no words.
_LABELS = {
    "DTSTART": "Start", "DTEND": "End", "RRULE": "Repeats", "EXDATE": "Except", "RDATE": "Also",
    "FN": "Name", "TEL": "Phone", "ADR": "Address", "ORG": "Organization", "BDAY": "Birthday", "TZ": "Time zone",
    "X-WR-CALNAME": "Calendar", "X-WR-CALDESC": "Calendar description",
    "X-ALT-DESC": "Description", "STYLED-DESCRIPTION": "Description",
}  # fmt: skip
# Pages that stand for a missing description.
_RICH = ("X-ALT-DESC", "STYLED-DESCRIPTION")
# Properties that only programs read.
_SILENT = frozenset({
    "BEGIN", "END", "VERSION", "PRODID", "CALSCALE", "METHOD", "DTSTAMP", "SEQUENCE", "TRANSP", "CLASS", "TRIGGER",
    "ACTION", "REV", "PHOTO", "LOGO", "SOUND", "KEY", "N", "CREATED", "LAST-MODIFIED", "RECURRENCE-ID", "GEO",
})  # fmt: skip
_PEOPLE = ("ORGANIZER", "ATTENDEE")
_COMPONENTS = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "entry", "VCARD": "contact", "VFREEBUSY": "times"}
# Components that say how the others are to be used.
_HIDDEN = ("VTIMEZONE", "VALARM", "STANDARD", "DAYLIGHT")


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    parameters: dict[str, str]
    value: str

    @property
    def is_binary(self) -> bool:
        encoding = self.parameters.get("ENCODING", "").upper()
        binary = encoding in ("B", "BASE64") or self.parameters.get("VALUE", "").upper() == "BINARY"
        return binary or "BASE64" in self.parameters or _DATA.match(self.value) is not None


def add_content_lines(reading: ParseContext, data: bytes) -> None:
    """Appends the events of a calendar, or contacts, each as a block of labelled lines with its number as place."""
    text, guessed = decode(data)
    if "\x00" in text:
        raise DocumentError("unsupported", "the file is named as a calendar or contact and holds NUL bytes")
    builder = reading.builder
    if guessed:
        builder.flags.add("charset_guess")
    numbers: dict[str, int] = {}
    files: list[_Line] = []
    with part_text(reading) as blocks:
        for kind, named in _blocks(text, files):
            names = {name for name, _ in named}
            lines = [line for name, line in named if not (name in _RICH and "DESCRIPTION" in names)]
            if sum(numbers.values()) >= MAX_COMPONENTS:
                builder.flags.add("truncated")
                break
            if not lines:
                continue
            label = ""
            if kind:
                numbers[kind] = numbers.get(kind, 0) + 1
                label = f"{kind} {numbers[kind]}"
            blocks.blank()
            blocks.line("\n".join(lines), label)
    for file in islice(files, MAX_MAIL_PARTS):
        name = file.parameters.get("FILENAME") or file.parameters.get("X-FILENAME", "")
        inline = _DATA.match(file.value)
        media_type = (file.parameters.get("FMTTYPE") or (inline and inline[1]) or "").lower()
        builder.open("attachment", name[:1024], media_type=media_type)
        add_content(reading, unbase64(file.value[inline.end() if inline else 0 :].encode()), name, media_type)
        builder.close()


def _blocks(text: str, files: list[_Line]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yields each component's kind, and its own lines with their names; lines outside of all come with the kind "".

    Files within the lines are added to `files`; other binary values are left out.
    """
    open_: list[tuple[str, list[tuple[str, str]]]] = [("", [])]
    hidden = 0
    for line in _content_lines(text):
        if line is None:
            continue
        component = line.value.strip().upper()
        if line.name == "BEGIN":
            hidden += component in _HIDDEN or hidden > 0
            if component in _COMPONENTS and not hidden and len(open_) < MAX_COMPONENT_DEPTH:
                if open_[0][1]:
                    yield open_[0]
                    open_[0] = ("", [])
                open_.append((_COMPONENTS[component], []))
        elif line.name == "END":
            if hidden:
                hidden -= 1
            elif component in _COMPONENTS and len(open_) > 1:
                yield open_.pop()
        elif line.is_binary:
            files += [line] if line.name == "ATTACH" and not hidden else []
        elif not hidden and (shown := _shown(line)):
            open_[-1][1].append((line.name, shown))
    yield from reversed(open_)


def _content_lines(text: str) -> Iterator[_Line | None]:
    """Yields the lines, unfolded; lines that are not of the form stay as they are, under no name."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # vCard 2.1 folds quoted-printable by its own soft line ends.
    if "QUOTED-PRINTABLE" in text.upper():
        text = _without_soft_ends(text)
    text = _UNFOLDED.sub(lambda binary: binary[0].replace("\n", ""), re.sub(r"\n[ \t]", "", text))
    for raw in text.split("\n"):
        match = _LINE.fullmatch(raw)
        if match is None:
            yield _Line("", {}, raw) if raw.strip() else None
            continue
        parameters: dict[str, str] = {}
        for name, value in _PARAMETER.findall(match[2]):
            parameters.setdefault(name.upper(), value.strip('"') if value else name)
        yield _Line(match[1].upper(), parameters, match[3])


def _without_soft_ends(text: str) -> str:
    """Returns a text in which the values in quoted-printable stand on one line each."""
    pieces: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        if not goes_on:
            parameters, colon, _ = line.partition(":")
            goes_on = bool(colon) and "QUOTED-PRINTABLE" in parameters.upper()
        goes_on = goes_on and line.endswith("=")
        pieces.append(line[:-1] if goes_on else f"{line}\n")
    return "".join(pieces).removesuffix("\n")


def _shown(line: _Line) -> str:
    """Returns a line as its label and value, "" for those that only programs read."""
    value = _value(line)
    if not line.name:
        return value.strip()
    if line.name in _SILENT or (line.name.startswith("X-") and line.name not in _LABELS) or not value.strip():
        return ""
    label = _LABELS.get(line.name, line.name.replace("-", " ").capitalize())
    return f"{label}: {value.strip()}"


def _value(line: _Line) -> str:
    value = line.value
    if line.parameters.get("ENCODING", "").upper() == "QUOTED-PRINTABLE" or "QUOTED-PRINTABLE" in line.parameters:
        charset = line.parameters.get("CHARSET")
        value = decode(quopri.decodestring(value.encode()), known_charset(charset), named=charset is not None)[0]
    if line.name in _PEOPLE:
        address = re.sub(r"(?i)^mailto:", "", value.strip())
        name = line.parameters.get("CN", "")
        return f"{name} <{address}>" if name and name != address else address
    if moment := _MOMENT.fullmatch(value.strip()):
        return _moment(moment, line.parameters.get("TZID", ""))
    if line.name in ("ADR", "ORG"):
        value = ", ".join(piece.strip() for piece in _UNESCAPED_SEMICOLON.split(value) if piece.strip())
    # Values of several lines stay below their label.
    value = _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
    return html_to_text(value)[0] if line.name in _RICH and "<" in value else value


def _moment(moment: re.Match[str], zone: str) -> str:
    year, month, day, hour, minute, utc = moment.groups()
    date = f"{year}-{month}-{day}"
    if hour is None:
        return date
    return " ".join(filter(None, [date, f"{hour}:{minute}", "UTC" if utc else zone]))
