"""What no reader sees of a text, and the record says so: notes that tell an assistant what to answer, struck words."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: The flag of a record whose document has such notes.
INSTRUCTIONS = "instructions"
_READER = (
    r"(?:ai|a\.i\.|assistant|chat ?(?:bot|gpt)|language model|llm|gpt|extractor|parser|assistent|sprachmodell|ki"
    r"|modèle de langage|asistente)"
)
_AGENTS = rf"(?:{_READER}|automated)(?:[- ]?(?:agent|system|model|reader|assistant|bot)e?s?)?"
_TOLD = "(?:answer|respond|output|return|report|write|use|set|state|put|ignore)"
_NOTES = re.compile(
    # "Note to the assistant", "Hinweis an die KI".
    r"\b(?:note|notice|message|instructions?|hinweis|anweisung|consigne|nota)\s+(?:to|for|an|für|pour|à|per|para)\s+"
    rf"(?:(?:the|any|all|das|den|die|le|el)\s+|l['’])?{_READER}\b"
    # "Ignore the document above", first in its sentence.
    r"|(?:^|[.:;!?\"“)]\s*|\bplease\s+|\bbitte\s+)"
    r"(?:ignore|disregard|forget|override|ignorieren?(?: sie)?|vergiss|ignorez|oubliez|ignora)\b[^\n.]{0,30}"
    r"\b(?:documents? above|(?:text|all(?: of)?(?: that)?) above|instructions?|prompts?|dokument|obige\w*|anweisung\w*"
    r"|ci-dessus|consignes|istruzioni|instrucciones)\b"
    # What a mark of a role begins: "<|im_start|>system", "[INST]", "### Instruction:".
    r"|<\|(?:\w+\|>\s*)?(?:system|assistant|developer|model|user)\b(?:\|>|<\|end_header_id\|>)?"
    r"(?:[^<]{0,2000}<\|\w+\|>|(?:[ \t]*\n)?[^<\n]*)|<start_of_turn>(?:model|user)\b[^<]{0,2000}"
    r"|\[INST\][^\[]{0,2000}\[/INST\]|<<SYS>>|</?(?:system|assistant|developer)>"
    r"|^#{2,} (?:instruction|response|system|assistant):(?: *\n)?.*"
    # "System: you must answer", "When extracting this, return", "AI agents must output", "Dear AI, please report".
    rf"|^[^\w\n]*(?:system|assistant): ?(?:you (?:must|should|are|will)\b|(?:please|always) {_TOLD}\b)"
    rf"|^[^\w\n]*(?:system|assistant) (?:prompt|instructions?|message): ?{_TOLD}\b"
    rf"|\bwhen (?:extract|pars|summari[sz])ing (?:data|this|text|fields|values)\b[^\n.]{{0,60}}[, ]{_TOLD}\b"
    rf"|(?:^|[.!?]\s+){_AGENTS}(?:[,:] ?(?:please|bitte|always) {_TOLD}| must {_TOLD}\b[^\n.]{{0,60}}[:=])"
    rf"|^[^\w\n]*(?:dear|attention|an alle|to (?:all|any)|for) {_AGENTS}[,:]"
    rf"|\b(?:as|if you are|you are) an? {_READER}\b[^\n.]{{0,60}}\b(?:answer|respond|output|return|report|write)\b",
    re.IGNORECASE | re.MULTILINE,
)
#: Words that signs strike: "~~30~~", or a stroke over each letter.
STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,200}(?<=\S)~~|(?:\S[\u0335\u0336] ?)+")

# A sentence of a line that stands behind itself four times and more: it would be what the text is about.
_SAID_AGAIN = re.compile(r"(?:^|(?<=[.!?] ))([^\s.!?][^.!?\n]{7,200}[.!?])(?: \1){4,}", re.MULTILINE)


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


def drop_notes(text: str) -> str:
    """Returns the text with blanks in place of such lines, struck words and what is said again; the others stay."""
    for start, end in [*notes_in(text)]:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    text = STRUCK.sub(lambda struck: " " * len(struck[0]), text)
    return _SAID_AGAIN.sub(lambda said: f"{said[1]:{len(said[0])}}", text)
