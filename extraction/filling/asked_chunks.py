"""Writes the requests for a document's chunks, and chooses those of a long one that a second reader reads.

A place of the record is asked where the first reader found something of it, and nowhere else: what a chunk does not
say another one may. Chunks in which nothing doubtful was found are not read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from cinnabar.engine.request import Filled, Request
from cinnabar.extraction.documents.chunking import Chunk
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.overlay.given import KnownToModel
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.schemas.form.form import Form, Node, ObjectNode, walk
from cinnabar.schemas.pointers import above, escape

#: Tokens of a chunk of a document that a language model would read in several.
SHORT_CHUNK = 2_048
#: A chunk, and the places that are not asked there (`Request.elsewhere`).
AskedChunk = tuple[Chunk, frozenset[str]]
NOTHING: frozenset[str] = frozenset()


def requests_of(
    document: Document, form: Form, asked: Iterable[AskedChunk], beside: KnownToModel, draft: Filled | None = None
) -> list[Request]:
    """Returns a request for each of these chunks, which tells what is given beside them; `draft` as in `Passage`."""
    passages = [(replace(passage_of(document, c.start, c.end), draft=draft), elsewhere) for c, elsewhere in asked]
    return [
        Request(f"{document.digest}:{passage.offset}", form, passage, *beside, elsewhere)
        for passage, elsewhere in passages
    ]


def asked_chunks(
    form: Form, filled: Filled, chunks: Sequence[Chunk], doubted: Collection[str]
) -> list[AskedChunk]:
    """Returns the chunks to read.

    filled: what the first reader found in the whole document; doubted: pointers of its leaves, rows and lists. A form
    that counts the members of an object is asked as a whole.
    """
    if any(isinstance(node, ObjectNode) and (node.demands or node.least or node.most) for node in walk(form.root)):
        return [(chunk, NOTHING) for chunk in chunks]
    places: dict[str, set[int]] = {at: set() for at in _places(form.root, "")}

    def place_of(pointer: str) -> str:
        return next((one for one in above(pointer) if one in places), "")

    found = [(at, begin) for at, leaf in filled.leaves.items() for begin, _ in leaf.spans]
    found += [(at, anchor) for at, (anchor, _) in filled.rows.items()]
    for at, begin in found:
        if (place := place_of(at)) not in places:
            continue
        # Of chunks that overlap the one counts that shows most around the value.
        chunk = max(range(len(chunks)), key=lambda one: min(begin - chunks[one].start, chunks[one].end - begin))
        places[place].add(chunk)
    read = {chunk for at in {place_of(at) for at in doubted} for chunk in places.get(at, ())}
    return [
        (chunks[chunk], frozenset(at for at, own in places.items() if chunk not in own)) for chunk in sorted(read)
    ]


def _places(node: Node, pointer: str) -> Iterator[str]:
    """Yields the pointers of the values, lists and alternatives that a form has in any record."""
    if not isinstance(node, ObjectNode) or node.rest:
        yield pointer
        return
    for place in node.properties:
        yield from _places(place.node, f"{pointer}/{escape(place.name)}")
