"""Files and pictures within an office file: each becomes a part with its own content."""

from __future__ import annotations

import io
import posixpath

from cinnabar.extraction.documents.content.inner_files import add_content
from cinnabar.extraction.documents.content.parse_context import ParseContext
from cinnabar.extraction.documents.office.package import Package, Relation
from cinnabar.schemas.errors import DocumentError

_MAX_FILES = 500
_OLE = b"\xd0\xcf\x11\xe0"


class InnerFiles:
    """The files that a document refers to, each once, in the order of their first mention."""

    def __init__(self, reading: ParseContext, package: Package) -> None:
        self._reading, self._package = reading, package
        self._names: dict[str, None] = {}

    def mention(self, relation: Relation | None) -> None:
        """Takes a relation into account; one to an address outside is flagged and not followed."""
        if relation is None:
            return
        if relation.outside:
            self._reading.builder.flags.add("active_content")
        else:
            self.name(relation.target)

    def name(self, member: str) -> None:
        """Notes a member that the text mentions, for `add`; a name without a member is ignored."""
        if member in self._package:
            self._names.setdefault(member)

    def add(self) -> None:
        """Appends the files that `name` noted as parts, in the order in which the text mentions them."""
        builder = self._reading.builder
        for number, member in enumerate(self._names):
            if number >= _MAX_FILES or builder.full:
                builder.flags.add("truncated")
                break
            name = posixpath.basename(member)
            try:
                data = self._package.read(member)
            except DocumentError as error:
                builder.flags.add(f"attachment_{error.code}")
                continue
            if data.startswith(_OLE):
                name, data = _within_ole(name, data)
            builder.open("attachment", name)
            add_content(self._reading, data, name)
            builder.close()


def _within_ole(name: str, data: bytes) -> tuple[str, bytes]:
    """Returns the name and the bytes of the file that an OLE object wraps, or the object itself."""
    # Cold start: few files wrap others in this way.
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            if ole.exists("Package"):
                return name, ole.openstream("Package").read()
            if ole.exists("\x01Ole10Native"):
                return _native(name, ole.openstream("\x01Ole10Native").read())
    # The library fails in several ways on damaged files; the object itself tells its fault when it is read.
    except Exception:
        pass
    return name, data


def _native(name: str, data: bytes) -> tuple[str, bytes]:
    """Returns the name and the bytes of a file that the Object Packager of Windows wrapped."""
    label, _, rest = data[6:].partition(b"\0")
    _, _, rest = rest.partition(b"\0")
    size = int.from_bytes(rest[4:8], "little")
    rest = rest[8 + size :]
    length = int.from_bytes(rest[:4], "little")
    return label.decode("cp1252", "replace") or name, rest[4 : 4 + length]
