"""Notes in a document that tell an assistant what to answer: no reader sees them, and the record says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: The flag of a record whose document has such notes.
INSTRUCTIONS = "instructions"
_READER = (
    r"(?:ai|a\.i\.|assistant|chat ?bot|language model|llm|gpt|extractor|parser|assistent|sprachmodell|ki"
    r"|modèle de langage|asistente)"
)
_NOTES = re.compile(
    # "Note to the assistant", "Hinweis an die KI".
    r"\b(?:note|notice|message|instructions?|hinweis|anweisung|consigne|nota)\s+(?:to|for|an|für|pour|à|per|para)\s+"
    rf"(?:(?:the|any|all|das|den|die|le|el)\s+|l['’])?{_READER}\b"
    # "Ignore the document above", first in its sentence.
    r"|(?:^|[.:;!?\"“)]\s*|\bplease\s+|\bbitte\s+)"
    r"(?:ignore|disregard|forget|override|ignorieren?(?: sie)?|vergiss|ignorez|oubliez|ignora)\b[^\n.]{0,30}"
    r"\b(?:documents? above|(?:text|all(?: of)?(?: that)?) above|instructions?|prompts?|dokument|obige\w*|anweisung\w*"
    r"|ci-dessus|consignes|istruzioni|instrucciones)\b"
    rf"|\b(?:as|if you are|you are) an? {_READER}\b[^\n.]{{0,60}}\b(?:answer|respond|output|return|report|write)\b",
    re.IGNORECASE | re.MULTILINE,
)


def notes_in(text: str) -> Iterator[tuple[int, int]]:
    """Yields the lines [start, end) of a text that tell an assistant what to do."""
    end = 0
    for found in _NOTES.finditer(text):
        if found.start() < end:
            continue
        start = text.rfind("\n", 0, found.start()) + 1
        stop = text.find("\n", found.end())
        end = len(text) if stop < 0 else stop
        yield start, end


def without_notes(text: str) -> str:
    """Returns the text with blanks in place of such lines; each other character stays at its place."""
    for start, end in [*notes_in(text)]:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text
