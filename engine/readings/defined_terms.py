"""Defined terms: the names that a text gives to what stands before them, as `X ("Seller")` or "X, als Vermieter,".

The structure decides, not the word: a bracket, dashes, "hereinafter", "ci-après" or "acting as" behind a name. What
follows "represented by" is no part of the name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[int, int]
#: The most characters between the beginning of a name and its term, and of a clause that tells who represents it.
LONGEST_PARTY, LONGEST_CLAUSE = 400, 160
_TERM = r"[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*){0,3}?"
_QUOTED = re.compile(r"[\"“”„«‟]\s?([^\"“”„«»‟()]{2,40}?)\s?[\"“”»‟]|[‘‚]([^‘’‚()]{2,40})[’‘]")
_INTRODUCED = (
    r"here(?:in)?-?after|ci-après|dénommée?s?|désignée?s?|im folgenden|nachfolgend|nachstehend|di seguito|in seguito"
    r"|en adelante|en lo sucesivo|hierna|doravante|zwan\w{1,3} dalej"
)
_ARTICLE = (
    r"(?:(?:the|an?|der|die|das|dem|den|eine?[mnr]?|les?|la|une?|il|lo|el|los|las|het|een|os?)(?:\s+|$)|[ld]['’]\s?)"
)
# Words before a term, and one behind it ("genannt").
_WORDS_BEFORE = (
    rf"(?:(?:{_INTRODUCED}|(?:referred to|known|called|defined|designated)(?: as)?|as|als|kurz|auch|jointly|together"
    rf"|collectively|individually|gemeinsam|zusammen|ensemble|comme)\b[:,]?\s*|{_ARTICLE}){{1,8}}"
)
_BEFORE = re.compile(_WORDS_BEFORE, re.IGNORECASE)
_BEHIND = re.compile(r"\s(?:genannt|bezeichnet|called)$", re.IGNORECASE)
_ACTING = (
    r"(?:(?:acting as|in (?:its|his|her|their) capacity as|handelnd als|agissant comme|in qualità di|en calidad de"
    r"|in de hoedanigheid van|(?<!trading )(?<!known )(?<!called )(?<!to )(?<!such )(?<!business )\bas|\bals)\s+"
    r"|en qualité d(?:e\s+|['’])|en tant qu(?:e\s+|['’]))"
)
# What names the thing before it: a bracket, a stretch between dashes, an introduced term, a role that it acts in.
_NAMING = re.compile(
    rf"\((?P<bracket>[^()]{{2,160}})\)|(?<=\s)[–—-]\s+(?P<dashes>[^–—()]{{2,120}}?)\s+[–—-](?=\s|,)"
    rf"|(?P<introduced>\b(?:{_INTRODUCED})\b(?:[^\"“„«‘.;()\n]|\n(?!\n)){{0,60}}[\"“„«‘][^\"“”»()]{{2,40}}[\"“”»’]"
    rf"|\b(?:{_INTRODUCED})\b[:,]?\s*(?:{_WORDS_BEFORE})?{_TERM}(?=\s*[,.;()\n]|\s+(?:genannt|bezeichnet)\b))|{_ACTING}(?:{_ARTICLE})?(?P<acting>{_TERM})(?=\s*[,.;:()\n]|\s+(?-i:[a-zà-öø-ÿ]))",
    re.IGNORECASE,
)
# A role in which nobody acts, as in "as well as its".
_PROSE = re.compile(r"al?s\s+(?:the\s+)?[a-zà-öø-ÿ]")
# Where the stretch that has the name begins, at the latest: a sentence, a paragraph, "between".
_BEGUN = re.compile(
    r"(?<!Corp)(?<=\w{4})[.!?;]\s+(?=[^\W\d])|:\s+|\n[ \t]*\n|\b(?:between|among|zwischen|entre|tra|tussen|pomiędzy)\b",
    re.IGNORECASE,
)
_REPRESENTED = re.compile(
    r",?\s*\b(?:represented|vertreten|représentée?s?|rappresentat[aoei]|representad[ao]s?|vertegenwoordigd"
    r"|reprezentowan\w+|acting (?:through|by)|agissant par)\s",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r",\s+(?!d(?:ie|en|er)\s)[a-zà-öø-ÿ]|\(|\n\s*\n|\s[–—-]\s|;|(?<=\w{4})\.\s")
# A name: words with capitals, with small words and signs between them.
_CAPITAL = r"(?<![^\W_])[^\W\d_a-zà-öø-ÿß][\w.'’&/-]*"
_RUN = re.compile(
    rf"{_CAPITAL}(?:\s+(?:(?:&|\+|and|und|et|of|von|van|de|du|des|del|di|la|le|les|für|zu|y|e)\s+)*"
    rf"(?:{_CAPITAL}|\d+(?![\w.])|[a-z]{{1,2}}\.?[A-Z]\S*))*"
)
# Words that begin a sentence, and are no names.
_SMALL = {"De", "By", "Von", "In", "An", "Zu", "Da", "Di", "This", "Par"}
# A legal form in small letters that ends the name.
_LEGAL_FORM = re.compile(r"\s[a-z]{2,4}\.?$")
_ARTICLES = re.compile(_ARTICLE, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DefinedTerm:
    """A term without articles; the characters that define it, of the name, and of all that stands before the term."""

    words: str
    at: Span
    name: Span
    party: Span


def defined_terms(text: str) -> list[DefinedTerm]:
    """Returns the terms that a text defines behind names, in order; one name may have several.

    "three years from the Effective Date (the "Term")" has no name: the text defines "Effective Date" elsewhere.
    """
    found = [*_find_terms(text)]
    known = {one.words for one in found}
    return [one for one in found if text[slice(*one.name)] not in known]


def _find_terms(text: str) -> Iterator[DefinedTerm]:
    floor, clauses = 0, representations(text)
    for found in _NAMING.finditer(text):
        words = [*_terms(found)]
        if not words:
            continue
        named = _named_before(text, floor, found.start(), clauses)
        if named is not None:
            for term in words:
                yield DefinedTerm(term, found.span(), *named)
        floor = floor if _PROSE.match(found[0]) else found.end()


def representations(text: str) -> list[Span]:
    """Returns the clauses that tell who represents a party."""
    clauses = []
    for found in _REPRESENTED.finditer(text):
        longest = found.end() + LONGEST_CLAUSE
        end = _CLAUSE_END.search(text, found.end(), longest)
        clauses.append((found.start(), end.start() if end else min(longest, len(text))))
    return clauses


def _terms(found: re.Match[str]) -> Iterator[str]:
    inner = found[found.lastgroup or 0]
    quoted = [one or other for one, other in _QUOTED.findall(inner)]
    for term in quoted or [inner]:
        before = _BEFORE.match(term)
        bare = _BEHIND.sub("", term[before.end() if before else 0 :].strip(" ,:\n\t"))
        known = quoted or before or found.lastgroup in ("acting", "introduced") or bare[:1].isupper()
        if known and re.fullmatch(_TERM, bare):
            yield bare


def _named_before(text: str, floor: int, end: int, clauses: list[Span]) -> tuple[Span, Span] | None:
    """Returns the characters of the name before `end`, and of all from there on; None if no name stands there."""
    floor = max(floor, end - LONGEST_PARTY)
    for start, until in clauses[bisect_left(clauses, (floor, 0)) :]:
        if start >= end:
            break
        # "X ("Seller"), represented by Y, and Z": the clause is of the name before.
        floor, end = (floor, start) if _RUN.search(text, floor, start) else (min(until, end), end)
    begun = (match.end() for match in _BEGUN.finditer(text, floor, end) if _RUN.search(text, match.end(), end))
    at = max(begun, default=floor)
    last = at + len(text[at:end].rstrip(" ,;–—-\n\t"))
    for part in re.split(r",|\n(?=[^\n]*\d)", text[at:last]):
        runs = [run for run in _RUN.finditer(part) if run[0] not in _SMALL]
        if runs:
            start = runs[-1].start()
            while (article := _ARTICLES.match(part, start)) and article.end() < runs[-1].end():
                start = article.end()
            form = _LEGAL_FORM.match(part, runs[-1].end())
            return (at + start, at + (form or runs[-1]).end()), (at + start, last)
        at += len(part) + 1
    return None
