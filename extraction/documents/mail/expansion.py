"""Content that holds further parts in other ways than MIME: TNEF, uuencoded and yEnc files, signed data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Literal

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.formats import content_format
from cinnabar.extraction.documents.content.limits import MAX_EXPANSIONS, MAX_MAIL_PARTS
from cinnabar.extraction.documents.mail.mime import Entity, made, parameters, parts_of, split, unbase64, uudecode
from cinnabar.extraction.documents.mail.tnef import tnef_entity
from cinnabar.extraction.documents.plain.charsets import decode

_TNEF = ("application/ms-tnef", "application/vnd.ms-tnef")
# A uuencoded file: the first letter of a line tells its length, "M" for a whole one.
_UUENCODED = re.compile(
    rb"(?:\A|(?<=\n))begin [0-7]{3,4} ([^\r\n]{1,255})\r?\n((?:[!-`][ -`]{1,90}\r?\n)+)(?:[` ]?[ ]*\r?\n)?"
    rb"end[ \t]*(?=\r?\n|\Z)"
)
_YENC = re.compile(rb"=ybegin [^\r\n]{0,200}?name=([^\r\n]{1,255})\r?\n(?:=ypart [^\r\n]{0,200}\r?\n)?")
_ESCAPE = re.compile(rb"=(.)", re.DOTALL)
_PLAIN = bytes((code - 42) % 256 for code in range(256))


def expand_content(root: Entity, count: Callable[[int], None]) -> None:
    """Puts the parts within such content in its place. `count` is told the bytes that are taken out."""
    waiting, parts = [(root, 0)], 0
    has_body = _has_body(root)
    while waiting:
        entity, level = waiting.pop()
        parts += 1
        if parts > MAX_MAIL_PARTS:
            root.flags.add("truncated")
            return
        if not entity.children and not entity.named_only and level < MAX_EXPANSIONS:
            inside = _inside(entity, count, has_body)
            if inside is not None:
                del entity.message["Content-Type"]
                entity.message["Content-Type"] = "multipart/mixed"
                entity.children, entity.raw, level = inside, b"", level + 1
        if entity.media_type == "multipart/encrypted":
            for child in entity.children:
                child.named_only = True
        waiting.extend((child, level) for child in reversed(entity.children))


def _inside(entity: Entity, count: Callable[[int], None], has_body: bool) -> list[Entity] | None:
    """Returns the parts within a part, None if it is one of its own."""
    media_type = entity.media_type
    if media_type == "text/plain" and not entity.is_attachment and not entity.name:
        return _encoded_files(entity)
    if media_type in _TNEF or entity.name.lower() == "winmail.dat":
        return _tnef(entity, count, has_body)
    if is_pkcs7(entity):
        content = signed_content(entity.content())
        if content:
            count(len(content))
            return [signed_part(content, entity.name), _open(entity)]
    return None


def _tnef(entity: Entity, count: Callable[[int], None], has_body: bool) -> list[Entity] | None:
    try:
        # The mail says in its own body what the item says.
        inner = tnef_entity(entity.content(), count, with_body=not has_body)
    except DocumentError:
        return None
    entity.flags |= inner.flags
    return [_open(entity), *inner.children]


def _open(entity: Entity) -> Entity:
    """Returns the part itself, which stays named among those that were in it."""
    media_type, name, attached = entity.media_type, entity.name, entity.is_attachment
    return Entity(made(media_type, b"", (), name, attached).message, entity.content(), given_name=name, named_only=True)


def _encoded_files(entity: Entity) -> list[Entity] | None:
    """Returns a text and the files that stand between its lines."""
    raw = entity.raw
    if b"begin " not in raw and b"=ybegin " not in raw:
        return None
    content = entity.content()
    uuencoded = [(*match.span(), match[1], uudecode(match[0])) for match in _UUENCODED.finditer(content)]
    parts: list[Entity] = []
    at = 0
    for start, end, name, data in sorted([*uuencoded, *_yenc_files(content)], key=lambda file: file[0]):
        if start < at or len(parts) >= MAX_MAIL_PARTS:
            continue
        parts += _text(entity, content[at:start])
        parts.append(made("application/octet-stream", data, (), decode(name.strip())[0], True))
        at = end
    return [*parts, *_text(entity, content[at:])] if at else None


def _text(entity: Entity, content: bytes) -> list[Entity]:
    """Returns a piece of a text as an entity with its charset, none if the piece is blank."""
    if not content.strip():
        return []
    piece = made("text/plain", content)
    if content_type := entity.message.get("content-type"):
        piece.message.replace_header("Content-Type", content_type)
    return [piece]


def _yenc_files(content: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Yields the files in yEnc: start, end, name and data of each."""
    at = 0
    while (begin := _YENC.search(content, at)) is not None:
        stop = content.find(b"\n=yend", begin.end() - 1)
        if stop < 0:
            return
        at = content.find(b"\n", stop + 1)
        at = len(content) if at < 0 else at
        data = content[begin.end() : stop].replace(b"\r", b"").replace(b"\n", b"")
        yield begin.start(), at, begin[1], _ESCAPE.sub(_unescape, data).translate(_PLAIN)


def _unescape(match: re.Match[bytes]) -> bytes:
    return bytes([(match[1][0] - 64) % 256])


def _has_body(root: Entity) -> bool:
    """Returns True if the mail itself has a text."""
    texts = (one for one in parts_of(root) if one.media_type in ("text/plain", "text/html") and not one.is_attachment)
    return any(one.raw.strip() for one in texts)


_PKCS7 = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_UNKNOWN = "application/octet-stream"
#: Parts that hold nothing that a reader could read: signatures, versions, keys.
SEALS = (
    "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature",
    "application/pgp-encrypted", "application/pgp-keys",
)  # fmt: skip
# Bytes of a file that hold the first line of its armour, below a comment.
_BEGINNING = 1000
_ARMOUR = re.compile(rb"-----[A-Z0-9 ]{1,40}-----")
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_SEQUENCE, _SET, _INTEGER, _OID, _OCTETS, _OCTETS_IN_PIECES, _EXPLICIT = 0x30, 0x31, 0x02, 0x06, 0x04, 0x24, 0xA0

Sealing = Literal["signed", "encrypted"]


def sealing_of(entity: Entity) -> Sealing | None:
    """Returns how a part is secured, None if it is not."""
    kind = entity.media_type
    if kind == "multipart/signed" or kind in SEALS[:3]:
        return "signed"
    if kind in ("multipart/encrypted", "application/pgp-encrypted"):
        return "encrypted"
    if is_pkcs7(entity):
        smime_type = parameters(str(entity.message.get("content-type", ""))).get("smime-type", "").lower()
        if smime_type in ("signed-data", "certs-only"):
            return "signed"
        if smime_type:
            return "encrypted"
        return "signed" if _SIGNED_DATA in _strip_armour(entity.content()[:200]) else "encrypted"
    return _file_of_openpgp(entity)


def _file_of_openpgp(entity: Entity) -> Sealing | None:
    """Returns how an attached file is secured by OpenPGP, by its name and its first line."""
    suffix = entity.name.lower()[-4:]
    if suffix not in (".pgp", ".gpg", ".asc", ".sig") or entity.media_type.startswith(("multipart/", "message/")):
        return None
    begin = entity.content()[:_BEGINNING]
    if b"-----BEGIN PGP SIGNED MESSAGE-----" in begin:
        return None
    if b"-----BEGIN PGP MESSAGE-----" in begin:
        return "encrypted"
    if b"-----BEGIN PGP SIGNATURE-----" in begin:
        return "signed"
    # A packet in binary form has the first bit set, and a name ends in `.sig` for signatures alone.
    if not begin or not begin[0] & 0x80 or suffix == ".asc":
        return None
    return "signed" if suffix == ".sig" else "encrypted"


def is_pkcs7(entity: Entity) -> bool:
    """Returns True for a part of S/MIME, by its media type, or by its name if it has none."""
    kind = entity.media_type
    return kind in _PKCS7 or (kind == _UNKNOWN and entity.name.lower().endswith(".p7m"))


def sealings_in(text: str) -> set[str]:
    """Returns how the blocks of OpenPGP within a text are secured."""
    sealings = set()
    if "-----BEGIN PGP MESSAGE-----" in text:
        sealings.add("encrypted")
    if "-----BEGIN PGP SIGNED MESSAGE-----" in text:
        sealings.add("signed")
    return sealings


def signed_content(data: bytes) -> bytes:
    """Returns the content of signed data of S/MIME (RFC 5652, 5.1), empty if it has none or the form is another.

    The data may be in base64, and signed repeatedly.
    """
    content = b""
    for _ in range(MAX_EXPANSIONS):
        try:
            content = data = _Ber(_strip_armour(data)).signed_content()
        except IndexError:
            break
    return content


def _strip_armour(data: bytes) -> bytes:
    return unbase64(_ARMOUR.sub(b"", data)) if data.startswith((b"M", b"-----BEGIN ")) else data


def signed_part(content: bytes, name: str) -> Entity:
    """Returns what was signed: a part of a mail, or an attachment under the name that the file around it tells."""
    while name.lower().endswith(".p7m"):
        name = name[:-4]
    part = split(content)
    if "content-type" not in part.message or name.lower().endswith(".eml"):
        with suppress(DocumentError):
            content_format(content, name)
            return made("application/octet-stream", content, (), name, attached=True)
    return part


class _Ber:
    """Reads BER forward, as far as signed data need it; IndexError tells another form."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def signed_content(self) -> bytes:
        self._enter(_SEQUENCE)
        if self._skip(_OID) != _SIGNED_DATA:
            raise IndexError("no signed data")
        self._enter(_EXPLICIT)
        self._enter(_SEQUENCE)
        self._skip(_INTEGER)
        self._skip(_SET)
        self._enter(_SEQUENCE)
        self._skip(_OID)
        self._enter(_EXPLICIT)
        if self._data[self._at] == _OCTETS:
            return self._skip(_OCTETS)
        size = self._enter(_OCTETS_IN_PIECES)
        end = len(self._data) if size is None else self._at + size
        pieces = []
        while self._at < end and self._data[self._at] == _OCTETS:
            pieces.append(self._skip(_OCTETS))
        return b"".join(pieces)

    def _enter(self, tag: int) -> int | None:
        """Goes into a value and returns its size, None if only a mark tells its end."""
        if self._data[self._at] != tag:
            raise IndexError(f"tag {self._data[self._at]:#x} in place of {tag:#x}")
        first = self._data[self._at + 1]
        self._at += 2
        if first == 0x80:
            return None
        if first < 0x80:
            return first
        count = first & 0x7F
        size = int.from_bytes(self._data[self._at : self._at + count], "big")
        self._at += count
        return size

    def _skip(self, tag: int) -> bytes:
        """Goes behind a value and returns it."""
        size = self._enter(tag)
        if size is None:
            raise IndexError("a value without a size")
        value = self._data[self._at : self._at + size]
        self._at += size
        return value
