"""The kind of the values that a field of the reading data asks for, by a word of its name.

The names are those of the labels of the reading sets (their README). A name is of the kind of its last known word:
"companies and institutions" are organisations, a "place of birth" is a place.
"""

from __future__ import annotations

from collections.abc import Iterable

from cinnabar.engine.models.weights import VALUE_KINDS

_WORDS = {
    "person": "person people individual author writer politician musician scientist researcher judge richter lawyer "
    "rechtsanwalt ceo founder spouse parent mother father child children sibling director producer composer lyricist "
    "screenwriter performer cast chairperson character owner",
    "organisation": "organisation organization company companies institution corporation court gericht university "
    "institutionen unternehmen employer school band party employment publisher developer broadcaster manufacturer "
    "subsidiary subsidiaries team league behoerde bodies label branch organisationen",
    "place": "place location country countries city cities town land stadt staedte strasse street landschaft "
    "headquarters residence address building capital continent laender geographic",
    "job": "occupation job position title",
    "date": "date day founded dissolved year datetime",
    "time": "time",
    "duration": "duration period recurrence",
    "money": "money price",
    "measure": "temperature concentration size speed measurement density densities resistance thickness voltage "
    "conductivity conductivities ph rate amount",
    "count": "count number age percentage rank ordinal",
    "identifier": "card iban phone email url website ip postcode licence guid version file social",
    "work": "book song album poem magazine journal work series statute gesetz verordnung ordinance decision "
    "entscheidung law norm eu vertrag contract literature literaturstelle vorschrift",
    "thing": "product device drug chemical reagent container material vehicle instrument ingredient gene protein cell "
    "tissue organ object compound element enzyme brand marke platform fuel application library",
    "term": "skill knowledge field discipline genre algorithm theory metric task method action disease cancer "
    "condition language technology award event election conference conflict",
    "people": "nationality nationalities citizenship ethnic religion group",
}  # fmt: skip
#: Words that name a kind only where no word before them does: a "card number" is an identifier.
_WEAK = {"number", "address", "amount", "range", "time", "title", "law", "group"}
_KIND_OF = {word: VALUE_KINDS.index(kind) for kind, words in _WORDS.items() for word in words.split()}


def kind_of_name(name: str) -> int | None:
    """Returns the place in VALUE_KINDS of what a field of this name asks for; None if no word of it is known."""
    found = None
    head = name.lower().split(" of ")[0].split(" in ")[0]
    for word in head.split():
        for form in (word, word.removesuffix("s"), word.removesuffix("en"), word.removesuffix("e")):
            if form in _KIND_OF:
                if found is None or form not in _WEAK:
                    found = _KIND_OF[form]
                break
    return found


def kinds_of(names: Iterable[str]) -> dict[str, int]:
    """Returns the known kinds of these names."""
    found = ((name, kind_of_name(name)) for name in names)
    return {name: kind for name, kind in found if kind is not None}
