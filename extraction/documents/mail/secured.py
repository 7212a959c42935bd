"""Signed and encrypted parts (S/MIME: RFC 8551, OpenPGP: RFC 3156): told by their names; nothing is verified."""

from __future__ import annotations

from typing import Literal

from cinnabar.extraction.documents.mail.mime import Entity
from cinnabar.extraction.documents.mail.parameters import parameters

_PKCS7 = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_UNKNOWN = "application/octet-stream"
#: Parts that hold nothing that a reader could read: signatures, versions, keys.
SEALS = (
    "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature",
    "application/pgp-encrypted", "application/pgp-keys",
)  # fmt: skip
# Bytes of a file that hold the first line of its armour, below a comment.
_BEGINNING = 1000
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
        return "signed" if _SIGNED_DATA in entity.content()[:100] else "encrypted"
    return _file_of_openpgp(entity)


def _file_of_openpgp(entity: Entity) -> Sealing | None:
    """Returns how an attached file is secured by OpenPGP, by its name and its first line."""
    suffix = entity.name.lower()[-4:]
    if suffix not in (".pgp", ".gpg", ".asc", ".sig") or entity.media_type.startswith(("multipart/", "message/")):
        return None
    begin = entity.content()[:_BEGINNING]
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
    """Returns the content of signed data of S/MIME (RFC 5652, 5.1), empty if it has none or the form is another."""
    try:
        return _Ber(data).signed_content()
    except IndexError:
        return b""


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
