"""Splits a mail into the tree of its parts, without recursion and under limits.

The standard library's parser descends by recursion and fails on 20,000 nested parts, and its structured headers take
quadratic time on hostile values. Here it parses one header block at a time (RFC 5322, unstructured), and a loop with a
depth limit splits the bodies at their boundaries (RFC 2046).
"""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import compat32
from urllib.parse import unquote_to_bytes

from cinnabar.extraction.documents.content.limits import (
    MAX_HEADER_BYTES,
    MAX_HEADER_LINES,
    MAX_HEADER_VALUE,
    MAX_MAIL_DEPTH,
    MAX_MAIL_PARTS,
)
from cinnabar.extraction.documents.plain.charsets import decode, is_undeclared, known_charset, markup_charset

#: Media types of a mail within another.
MESSAGES = ("message/rfc822", "message/global", "message/news")
_MAX_NAME, _MAX_DAMAGED = 1024, 100

_MEDIA_TYPE = re.compile(r"[!-.0-~]{1,100}/[!-.0-~]{1,100}")
_PARSER = BytesHeaderParser(policy=compat32)
# Blanks before the colon are obsolete syntax (RFC 5322, 4.5) that the standard library does not know.
_LOOSE = re.compile(rb"^([!-9;-~]{1,100})[ \t]+:", re.MULTILINE)
# Such a line with a name that is no header is damaged, or a line of text; it must not vanish among unknown headers.
_DAMAGED = re.compile(rb"^([!-9;-~]{1,100})[ \t]+:[^\r\n]*(?:(?:\r\n|\n|\r)[ \t][^\r\n]*)*", re.MULTILINE)
_OBSOLETE = re.compile(
    rb"(?i)(?:from|sender|reply-to|to|cc|bcc|message-id|in-reply-to|references|subject|comments|keywords|date|encrypted"
    rb"|return-path|received|organization|priority|importance|mime-version|(?:resent|content|list|x)-.*)"
)
_FIELDS = re.compile(rb"(?:From [^\r\n]*(?:\r\n|\n|\r))?(?:(?:[!-9;-~]+[ \t]*:|[ \t])[^\r\n]*(?:\r\n|\n|\r|\Z))+")
# What may stand before the headers: the mark of UTF-8, blank lines, lines of mailboxes, and lines of a tool.
_AHEAD = re.compile(rb"(?:\xef\xbb\xbf|[ \t\r\n\x00]|>*From [^\r\n]*(?=[\r\n]))*+")
_TOOL_LINES = re.compile(
    rb"(?:[^\r\n]{0,200}(?:\r\n|\n|\r)){1,10}?"
    rb"(?=(?i:(?:From|To|Subject|Date|Received|Return-Path|Delivered-To|Message-ID|MIME-Version)[ \t]*:[^\r\n]*"
    rb"(?:\r\n|\n|\r)(?:[ \t][^\r\n]*(?:\r\n|\n|\r))*+){2})"
)
# Without one of these, headers are those of a server, and the mail's own, with a sender, may follow.
_OWN_HEADER = re.compile(rb"(?im)^(?:From|To|Subject|Date|Message-ID|MIME-Version|Content-[a-z-]+)[ \t]*:")
_SENDER = re.compile(rb"(?im)^From[ \t]*:[^\r\n]*@")
# Lines that are no headers, nor a delimiter or a coded body, down to one that may be a header or to a blank line.
_AMONG = re.compile(
    rb"(?!--[^\s-]|begin \d|(?:[A-Za-z0-9+/=]{4}){5,}[\r\n])"
    rb"(?:[^\r\n]+(?:\r\n|\n|\r)){1,10}?(?=[!-9;-~]{1,100}[ \t]*:|[\r\n])"
)
_NAME = re.compile(rb"(?m)^([!-9;-~]{1,100})[ \t]*:")
# Headers with values that hardly a line of a text has.
_TELLING = re.compile(
    rb"(?im)^(subject|(?:from|to|sender|reply-to)(?=[ \t]*:[^\r\n]*@)|date(?=[^\r\n]*\d\d:\d\d)|received|return-path"
    rb"|delivered-to|message-id|mime-version|(?:content|x)-[!-9;-~]{1,90})[ \t]*:"
)
# A body that is encoded has no line of words, and one of parts has none before its first delimiter.
_CODED = re.compile(rb"(?im)^Content-(?:Type[ \t]*:\s*multipart/|Transfer-Encoding[ \t]*:\s*(?:base64|(?:x-)?uu))")
# A line with a header after it looks like a delimiter; it helps if the mail names a wrong boundary.
_PLAUSIBLE = re.compile(rb"(?mi)^--([^\s-][^\r\n]{0,200}?)[ \t]*\r?\nContent-[A-Za-z-]{1,40}:")
_ENCODED = re.compile(r"=\?([^?\s]{1,80})\?([bqBQ])\?([^?]*)\?=")
_LINE_END = re.compile(r"[\r\n]+")
_BETWEEN = re.compile(r"(\?=)\s+(?==\?[^?\s]{1,80}\?[bqBQ]\?)")


# Characters of a header that are read, and sections of one parameter.
_MAX_HEADER, _MAX_SECTIONS = 16_384, 100
# A value in quotes, whose end may be missing, or one without; some writers leave blanks within the latter.
_PARAMETER = re.compile(
    r';\s*([^\s=;"*]{1,64})(\*\d{1,3})?(\*)?\s*=\s*(?:"((?:[^"\\]|\\.)*)(?:"|\Z)|([^;"]*))', re.DOTALL
)
_PAIR = re.compile(r'\\(["\\])')


def parameters(raw: str) -> dict[str, str]:
    """Returns the values by their lower-case names, without encoded words undone.

    The extended form of a value wins over the plain one, and the first of equals over later ones. `raw` may hold bytes
    as surrogates.
    """
    sections: dict[str, dict[int, tuple[str, bool]]] = {}
    plain: dict[str, str] = {}
    for match in _PARAMETER.finditer(raw[:_MAX_HEADER]):
        name = match[1].lower()
        value = _PAIR.sub(r"\1", match[4]) if match[4] is not None else match[5].strip()
        if match[2] or match[3]:
            number = int(match[2][1:]) if match[2] else 0
            if number < _MAX_SECTIONS:
                sections.setdefault(name, {}).setdefault(number, (value, match[3] is not None))
        else:
            plain.setdefault(name, value)
    return plain | {name: _join_sections(pieces) for name, pieces in sections.items()}


def _join_sections(sections: dict[int, tuple[str, bool]]) -> str:
    """Returns a value that comes in sections; the first one may name a charset."""
    charset, pieces = None, []
    for number in sorted(sections):
        value, extended = sections[number]
        if number == min(sections) and extended and value.count("'") >= 2:
            charset, _, value = value.split("'", 2)
        content = value.encode("utf-8", "surrogateescape")
        pieces.append(unquote_to_bytes(content) if extended else content)
    return decode(b"".join(pieces), known_charset(charset), named=bool(charset))[0]


@dataclass(slots=True)
class Entity:
    """A header block with its body: a mail or a part of one.

    flags: cuts and guesses. given_name: a file name from elsewhere than the headers. named_only: its content is left
    closed, or follows it as parts of their own. damaged: lines among the headers that are none.
    """

    message: Message
    raw: bytes
    children: list[Entity] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    given_name: str = ""
    named_only: bool = False
    damaged: tuple[str, ...] = ()

    @property
    def media_type(self) -> str:
        return self.message.get_content_type()

    @property
    def charset(self) -> str | None:
        named = self.message.get_content_charset()
        return str(named) if named else None

    @property
    def name(self) -> str:
        """Returns the file name that the sender gave, decoded; empty if there is none."""
        if self.given_name:
            return self.given_name[:_MAX_NAME]
        for header, parameter in (("content-disposition", "filename"), ("content-type", "name")):
            given = parameters(self._raw(header)).get(parameter)
            if given:
                return decode_header(given)[0][:_MAX_NAME]
        return ""

    @property
    def is_attachment(self) -> bool:
        return str(self.message.get("content-disposition", "")).strip().lower().startswith("attachment")

    @property
    def boundary(self) -> bytes:
        """Returns the line that separates the parts, as it came; empty if none is named."""
        named = parameters(self._raw("content-type")).get("boundary", "")
        return named.rstrip().encode("utf-8", "surrogateescape")

    @property
    def flow(self) -> bool | None:
        """Returns None unless lines end softly (`format=flowed`); then, if the blanks at soft ends are no text."""
        if self.media_type != "text/plain" or "flowed" not in self._raw("content-type").lower():
            return None
        declared = parameters(self._raw("content-type"))
        return declared.get("delsp", "").lower() == "yes" if declared.get("format", "").lower() == "flowed" else None

    def _raw(self, name: str) -> str:
        """Returns the first value of a header as it came."""
        return next(iter(self.raw_values(name)), "")

    def raw_values(self, name: str) -> list[str]:
        """Returns all values of a header as they came."""
        # raw_items, because the mapping interface would put U+FFFD for bytes that are not ASCII.
        return [str(raw) for key, raw in self.message.raw_items() if key.lower() == name.lower()]

    def values(self, name: str) -> list[str]:
        """Returns all values of a header, decoded and unfolded."""
        values = []
        for raw in self.raw_values(name):
            value, guessed = decode_header(raw)
            if guessed:
                self.flags.add("charset_guess")
            if len(raw) > MAX_HEADER_VALUE:
                self.flags.add("truncated")
            values.append(value)
        return values

    def content(self) -> bytes:
        """Returns the body with its transfer encoding undone, leniently."""
        encoding = str(self.message.get("content-transfer-encoding", "")).strip().lower()
        if encoding == "quoted-printable":
            return quopri.decodestring(self.raw)
        if encoding == "base64":
            return unbase64(self.raw)
        if encoding in ("x-uuencode", "uuencode", "uue", "x-uue"):
            return uudecode(self.raw)
        return self.raw

    def text(self) -> str:
        """Returns the body decoded by its charset, or by a guess if it names none."""
        content = self.content()
        name = None if is_undeclared(self.charset) else self.charset
        if name is None and self.media_type == "text/html":
            name = markup_charset(content)
        text, guessed = decode(content, known_charset(name), named=name is not None)
        if guessed:
            self.flags.add("charset_guess")
        return text


def headers_of(head: bytes) -> Message:
    """Returns the headers of a block of them."""
    fields = _FIELDS.match(head)
    return _PARSER.parsebytes(_LOOSE.sub(rb"\1:", fields[0] if fields else b"")[:MAX_HEADER_BYTES] + b"\n\n")


def made(
    media_type: str, raw: bytes, headers: Iterable[tuple[str, str]] = (), name: str = "", attached: bool = False
) -> Entity:
    """Returns an entity with content that came without MIME: from Outlook's formats, or from within a text."""
    message: Message = Message(policy=compat32)
    for header, value in headers:
        message[header] = value
    message["Content-Type"] = media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    if name or attached:
        # The parameter is kept as it is, because no quoting has to survive a way through the network.
        message["Content-Disposition"] = "attachment" if attached else "inline"
    return Entity(message, raw, given_name=name)


def split(data: bytes) -> Entity:
    """Returns the tree of a mail; `depth_limit` and `truncated` in the root's flags report a limit that was reached."""
    root = _whole_mail(data)
    open_: list[tuple[Entity, int]] = [(root, 0)]
    count = 1
    while open_:
        entity, depth = open_.pop()
        media_type = entity.media_type
        if media_type in MESSAGES:
            bodies, read = [entity.content()], _whole_mail
        elif media_type.startswith("multipart/"):
            boundary, read = entity.boundary, _entity
            bodies = _split(entity.raw, boundary) if boundary else []
            if not bodies and (guess := _PLAUSIBLE.search(entity.raw)):
                root.flags.add("repaired")
                bodies = _split(entity.raw, guess[1])
            if not bodies and depth < MAX_MAIL_DEPTH:
                # Without any delimiter the body is text.
                entity.children.append(Entity(_PARSER.parsebytes(b""), entity.raw))
                continue
        else:
            continue
        if depth >= MAX_MAIL_DEPTH:
            root.flags.add("depth_limit")
            continue
        default = "message/rfc822" if media_type == "multipart/digest" else "text/plain"
        for body in bodies:
            if count >= MAX_MAIL_PARTS:
                root.flags.add("truncated")
                break
            child = read(body)
            child.message.set_default_type(default)
            entity.children.append(child)
            count += 1
        open_.extend((child, depth + 1) for child in reversed(entity.children))
    _read_raw_headers(root)
    return root


def _read_raw_headers(root: Entity) -> None:
    """Puts text in the place of headers with bytes beyond ASCII, in the charset that a part of the mail declares."""
    entities, charset = [root], None
    for entity in entities:
        charset = charset or known_charset(entity.charset)
        entities.extend(entity.children)
    for entity in entities:
        items = [(name, str(raw)) for name, raw in entity.message.raw_items()]
        if all(raw.isascii() for _, raw in items):
            continue
        for name in {name for name, _ in items}:
            del entity.message[name]
        for name, raw in items:
            value = raw if raw.isascii() else _read_raw(raw, charset, entity.flags)
            entity.message.set_raw(name, value)


def _read_raw(raw: str, charset: str | None, flags: set[str]) -> str:
    content = raw.encode("utf-8", "surrogateescape")
    try:
        return content.decode("utf-8")
    except UnicodeError:
        flags.add("charset_guess")
        return decode(content, charset)[0]


def parts_of(root: Entity) -> Iterator[Entity]:
    """Yields the parts of a mail that hold no other parts, in order; a mail within the mail is one part."""
    waiting = [root]
    while waiting:
        entity = waiting.pop()
        if entity.media_type.startswith("multipart/"):
            waiting.extend(reversed(entity.children))
        else:
            yield entity


def walk_flags(root: Entity) -> set[str]:
    """Returns the flags of all entities of a tree."""
    entities = [root]
    for entity in entities:
        entities.extend(entity.children)
    return set().union(*(entity.flags for entity in entities))


def decode_header(raw: str) -> tuple[str, bool]:
    """Returns a header's value decoded (RFC 2047) on one line, and true if a charset was guessed.

    It never fails: wrong encodings stay as they are, or become U+FFFD. `raw` may hold bytes as surrogates.
    """
    raw = _BETWEEN.sub(r"\1", " ".join(map(str.strip, _LINE_END.split(raw[:MAX_HEADER_VALUE]))))
    pieces: list[str] = []
    held: list[bytes] = []
    held_charset = ""
    guessed = False
    position = 0

    def release(plain: str) -> None:
        # Neighbours of one charset are joined first: senders cut characters of many bytes in two.
        nonlocal guessed
        if held:
            text, guess = decode(b"".join(held), known_charset(held_charset), named=True)
            guessed = guessed or guess
            pieces.append(text)
            held.clear()
        if not plain.isascii():
            plain, guess = decode(plain.encode("utf-8", "surrogateescape"))
            guessed = guessed or guess
        pieces.append(plain)

    for match in _ENCODED.finditer(raw):
        charset = match[1].split("*")[0].lower()
        if match.start() > position or charset != held_charset:
            release(raw[position : match.start()])
        content = match[3].encode("utf-8", "surrogateescape")
        held_charset = charset
        held.append(unbase64(content) if match[2] in "bB" else quopri.decodestring(content, header=True))
        position = match.end()
    release(raw[position:])
    return " ".join("".join(pieces).split()), guessed


def _whole_mail(data: bytes) -> Entity:
    """Returns a mail from its first header on; lines of a tool before it are damaged headers."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or 0 in data[:2]:
        data = decode(data)[0].encode("utf-8", "replace")
    head, tool, at = b"", b"", 0
    for _ in range(3):
        if (ahead := _AHEAD.match(data, at)) is not None:
            at = ahead.end()
        if not _FIELDS.match(data, at) and (lines := _TOOL_LINES.match(data, at)):
            tool, at = tool + lines[0], lines.end()
        if (fields := _FIELDS.match(data, at)) is None:
            break
        own = _SENDER if head else _OWN_HEADER
        head, at = head + fields[0], fields.end()
        if own.search(head):
            mail = _entity(head + data[at:])
            mail.damaged += tuple(decode(line)[0][:MAX_HEADER_VALUE] for line in tool.split(b"\n") if line.strip())
            mail.flags |= {"repaired"} if tool else set()
            return mail
    return _entity(data)


def _entity(data: bytes) -> Entity:
    """Splits data into header block and body. Data without a header field at the start are all body."""
    head, damaged, end = _head_of(data)
    flags, body = {"repaired"} if len(head) != end else set[str](), data[end:]
    # A blank line separates them; without it the body begins at the first line that is not a field.
    body = body[2:] if body[:2] == b"\r\n" else body[1:] if body[:1] in (b"\r", b"\n") else body
    if len(head) > MAX_HEADER_BYTES or head.count(b"\n") > MAX_HEADER_LINES:
        flags.add("truncated")
        head = b"\n".join(head[:MAX_HEADER_BYTES].split(b"\n")[:MAX_HEADER_LINES])
    for line in _DAMAGED.finditer(head):
        if not _OBSOLETE.fullmatch(line[1]):
            flags.add("repaired")
            damaged.append(" ".join(decode(line[0])[0].split())[:MAX_HEADER_VALUE])
            if len(damaged) >= _MAX_DAMAGED:
                flags.add("truncated")
                break
    return Entity(_PARSER.parsebytes(_LOOSE.sub(rb"\1:", head) + b"\n\n"), body, flags=flags, damaged=tuple(damaged))


def _head_of(data: bytes) -> tuple[bytes, list[str], int]:
    """Returns the headers at the start of data, the lines among them that are none, and the place of their end.

    Without a blank line below them, or if the mail has the headers below such a line already, those are of its text.
    """
    fields = _FIELDS.match(data)
    head, end = (fields[0], fields.end()) if fields else (b"", 0)
    sound, damaged = (head, list[str](), end), list[str]()
    while fields and len(damaged) < _MAX_DAMAGED and end < MAX_HEADER_BYTES and (among := _AMONG.match(data, end)):
        end = among.end()
        # A parameter is due behind such a sign: a folded line lost its blank.
        folded = re.sub(rb"(?m)^(?=.)", b" ", among[0]) if head.rstrip().endswith(b";") else b""
        if (fields := _FIELDS.match(data, end)) is not None:
            below, known = fields[0], {name.lower() for name in _NAME.findall(head)}
            new = sum(name.lower() not in known for name in _TELLING.findall(below))
            if sum(b"-" not in name and not _OBSOLETE.fullmatch(name) for name in _NAME.findall(below)) >= new:
                break
            head, end = head + folded + below, fields.end()
        elif folded or _CODED.search(head):
            head += folded
        else:
            break
        lines = [] if folded else among[0].splitlines()
        damaged += [decode(line)[0].strip()[:MAX_HEADER_VALUE] for line in lines]
        if data[end : end + 1] in (b"\r", b"\n"):
            sound = head, [*damaged], end
    return sound


def _split(body: bytes, boundary: bytes) -> list[bytes]:
    """Returns the bodies between the delimiter lines; the last one may lack its end."""
    mark = re.escape(boundary[:1024])
    delimiter = re.compile(rb"(?:\A|\r\n|\n|\r)--" + mark + rb"(--)?[ \t]*(?=\r|\n|\Z)")
    bodies: list[bytes] = []
    start: int | None = None
    for match in delimiter.finditer(body):
        if start is not None:
            bodies.append(body[start : match.start()])
        if match[1]:
            return bodies
        start = match.end()
        # One line end belongs to the delimiter; the next may already begin the part without headers.
        start += 2 if body[start : start + 2] == b"\r\n" else 1
        if len(bodies) > MAX_MAIL_PARTS:
            return bodies
    if start is not None and start < len(body):
        bodies.append(body[start:])
    return bodies


def unbase64(data: bytes) -> bytes:
    """Returns what base64 stands for, as far as it can be decoded."""
    data = re.sub(rb"[^A-Za-z0-9+/=]", b"", data)
    # Padding in the middle comes from joined encodings; each piece is decoded on its own.
    pieces = []
    for piece in re.findall(rb"[A-Za-z0-9+/]+", data):
        piece = piece[:-1] if len(piece) % 4 == 1 else piece
        pieces.append(base64.b64decode(piece + b"=" * (-len(piece) % 4)))
    return b"".join(pieces)


def uudecode(data: bytes) -> bytes:
    """Returns the file in a uuencoded text, as far as it can be decoded."""
    out = []
    inside = False
    for line in data.splitlines():
        if line.startswith(b"begin "):
            inside = True
        elif line == b"end":
            break
        elif inside and line:
            try:
                out.append(binascii.a2b_uu(line))
            except binascii.Error:
                # Some writers give a wrong length; take as many bytes as the length byte says.
                count = ((((line[0] - 32) & 63) * 4 + 5) // 3) + 1
                try:
                    out.append(binascii.a2b_uu(line[:count]))
                except binascii.Error:
                    break
    return b"".join(out)
