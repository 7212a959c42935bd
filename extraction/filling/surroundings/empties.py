"""Cells without a value: an error of a sheet, a placeholder, hashes of a column that is too narrow."""

from __future__ import annotations

import re

from cinnabar.engine.readings.stems import stems
from cinnabar.extraction.documents.plain.rows import CELL_ERROR
from cinnabar.extraction.filling.surroundings.beside import DOUBTED, Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import NOT_SHOWN

#: How sure it is that a field has no date, if the one that was read has another label.
UNLABELLED = 0.6

_ERROR = re.compile(rf"(?<!\w)(?:{CELL_ERROR.pattern})|\bNaN\b|#{{3,}}(?![^\s\t|,;])")
_PLACEHOLDER = re.compile(
    r"t\.?b\.?[acd]\.?|n\. ?n\.|n/a|k\. ?a\.|[-–—]+|\?+|x{4,}|_{3,}|\.{4,}|…+|\{\{[^{}\n]*\}\}|\$\{[^{}\n]*\}|%\w+%"
    r"|lorem ipsum.*|(?:to|will) follow|not (?:specified|provided|yet (?:known|available|assigned|confirmed|announced"
    r"|determined|decided|named))|(?:(?:is )?(?:still )?to|will) be (?:confirmed|announced|determined|advised|completed"
    r"|filled in|decided|specified|agreed|named)|(?:please |bitte )(?:fill in|complete|enter|ausfüllen|eintragen)"
    r"|(?:wird |ist )?noch (?:offen|zu klären|bekannt ?(?:zu)?ge?geben|nachgereicht|nicht \w+)|wird nachgereicht|folgt"
    r"|à (?:confirmer|définir|compléter|venir)|non (?:précisé|renseigné|specificato)e?|keine angabe|sin especificar"
    r"|(?:a|por) (?:confirmar|definir|determinar)|da (?:confermare|definire|stabilire)"
    r"|(?:click|klicken|cliquez|haga clic)\b.{0,30} (?:text|a date|einzugeben|texte|une date|texto)\.?"
    r"|(?:choose an item|wählen sie ein element aus|choisissez un élément|elija un elemento)\.?"
    r"|[\[<{](?:insert|enter|your|type|please|bitte|hier|ihre?|votre|saisir|inserire|insertar)\b[^\n]*[\]>}]",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"[\[<({«]+\s*([^\[\]<>(){}«»\n]+?)\s*[\]>)}»]+")
# Another label, all that stands before a value.
_OTHER_LABEL = re.compile(r"\s*[^\W\d][^:\n|]{0,40}?(?::\s*|\s*\|\s*|\t| {2,})")
# What may stand between a label and its value.
_TO_VALUE = re.compile(r"[\s:=|,;\"']*")


def _error(one: Beside) -> Effect | None:
    """A field has no value where the document shows an error beside its label, or in the words of the value."""
    if one.value is None or not any(sign in one.document.text for sign in ("#", "NaN", "Err:")):
        return None
    if one.spans and _lies_in_error(one):
        return nothing(one)
    for start, end in one.labels():
        if (cell := one.below(start, end)) and _ERROR.fullmatch(one.document.text, *cell) and cell not in one.spans:
            return nothing(one)
        line = one.line_of(start, end)
        behind = _TO_VALUE.match(one.document.text, end, line[1])
        at = behind.end() if behind is not None else end
        if _ERROR.match(one.document.text, at, line[1]) and not any(start <= a < line[1] for a, _ in one.spans):
            return nothing(one)
    return None


def _placeholder(one: Beside) -> Effect | None:
    """Words that stand until somebody fills a form in are no value."""
    if not isinstance(one.value, str) or one.slot.options or not one.spans:
        return None
    bare = _IN_BRACKETS.fullmatch(one.printed)
    named = bare is not None and stems(bare[1]) & stems(one.asked.label)
    shown = is_shown(one.printed) and (bare is None or is_shown(bare[1]))
    return nothing(one) if named or not shown else None


def is_shown(text: str) -> bool:
    """Returns whether a cell has more than an error, a dash, or words that stand until somebody fills it."""
    return not any(kind.fullmatch(text.strip()) for kind in (_ERROR, _PLACEHOLDER))


def _beside_nothing(one: Beside) -> Effect | None:
    """A value beside another label is not that of a field whose own label stands alone on its line."""
    if one.value is None or not one.spans or not _OTHER_LABEL.fullmatch(one.before):
        return None
    text, own = one.document.text, [*one.labels()]
    if len(own) != 1:
        return None
    ((start, end),) = own
    line = one.line_of(start, end)
    # A text below may belong to a block of which the label is the heading, and what is set in below it does.
    headed = (one.slot.kind == "string" and not one.slot.format) or (
        one.before[:1] == " " and not re.search(r"\n\S", text[line[1] : one.line[1]])
    )
    if line == one.line or (headed and line[0] < one.line[0]):
        return None
    return nothing(one) if text[line[0] : line[1]].strip(" :|\t") == text[start:end] else None


def _lies_in_error(one: Beside) -> bool:
    """Returns whether the words of a value lie within an error."""
    start, end = one.line
    own = one.spans[0][0], one.spans[-1][1]
    found = _ERROR.finditer(one.document.text, start, end)
    return any(error.start() <= own[0] and own[1] <= error.end() for error in found)


def nothing(one: Beside, flag: str = NOT_SHOWN) -> Effect:
    """Returns that a field has no value, or a doubted one where its schema wants some."""
    return Effect(flag, "null", most=UNLABELLED) if one.slot.nullable else Effect(flag, most=DOUBTED)


EMPTIES: tuple[Kind, ...] = (_error, _placeholder, _beside_nothing)
