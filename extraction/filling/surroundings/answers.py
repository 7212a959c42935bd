"""Answers: the yes or no that is printed beside a field, and a negation before a choice."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from cinnabar.engine.evidence.words_behind import OPTION_LETTERS
from cinnabar.engine.readings.readings import BOOLEANS
from cinnabar.engine.readings.stems import stems
from cinnabar.extraction.filling.surroundings.beside import (
    CORRECTED,
    DOUBTED,
    LONGEST_REGION,
    Beside,
    Effect,
    Kind,
    Span,
    label_texts,
)
from cinnabar.extraction.filling.surroundings.empties import UNLABELLED
from cinnabar.extraction.filling.surroundings.flags import ANSWERED, CONTRADICTED, UNSTATED
from cinnabar.extraction.filling.surroundings.words import WORDS, whole_words

#: A denial counts among so many words before a choice.
DENIAL_WORDS = 5
#: The most lines, for each field of yes and no, of a form whose labels are in other words than the fields.
FORM_LINES = 15
#: The fewest letters of a word that a statement must have of its field's description.
STATEMENT_LETTERS = 4

#: Words that deny what follows them within a clause.
_DENIED = whole_words("denial")
# What ends a clause: a denial before it says nothing of what follows.
_CLAUSE = re.compile(r"[.;:!?|\t(]|,\s|\bbut\b|\baber\b|\bsondern\b|\bmais\b", re.IGNORECASE)
# An answer right behind a label, with what may stand between, or alone on the line below it.
_ANSWER = re.compile(
    r"[\s:?=\-–→.|\"']*([^\W\d_]+|[01✓✔✅✗✘❌](?=\s*$))(?=$|[\s,.;:!|)\"'])(?! (?:info|data|angabe|details))",
    re.IGNORECASE,
)
_ALONE_BELOW = re.compile(r"[ \t:?]*\n\s*([^\W_]+)[ \t]*$", re.MULTILINE)
# A denial, first behind a label: "not yet", "noch nicht", "not allowed", and none of whether there is an answer.
_REFUSED_BEHIND = re.compile(
    rf"(?:\s*[:?=|\t]| {{2,}})\s*((?:noch|todavía|aún|nog|still)?\s?(?!without|ohne|sans|senza)(?:{WORDS['denial']})\b)"
    r"(?!-| (?:later|before|vor|avant|app|stated|spec|known|info|data|angabe|angegeben|bekannt|ren?s|disp|noto|beken))",
    re.IGNORECASE,
)
_ANSWERS = BOOLEANS | dict.fromkeys(WORDS["yes"].split("|"), True) | dict.fromkeys(WORDS["no"].split("|"), False)
# A line of a form: a label and one word.
_LABELLED = re.compile(r"^(?:[ \t]*\w[^\n:?]{1,40}:|\w[^\n:?]{1,40}\?)[ \t]*([^\W\d_]+)[ \t.]*$", re.MULTILINE)
# What may stand between a denial and a choice, and between two choices.
_BETWEEN = re.compile(r"\s*(?:(?:an?|the|yet|been|eine?|der|die|das|une?|el|la|il|een|het) )?\s*", re.IGNORECASE)
_OR = r"/|,|\b(?:or|oder|ou|o|of|and|und|et)\b"
_BOX = re.compile(r"\[\s?[xX]?\s?\]|[☐☑☒✓✔✗✘]")


def _boolean(one: Beside) -> Effect | None:
    """A boolean takes the answer printed beside its label; a denied statement is false."""
    if set(one.slot.options) != {"true", "false"}:
        return None
    told, sure = _answers_beside_label(one), CORRECTED
    if not told:
        told, sure = _same_answers(one) or _opposites(one) or _denied_statement(one), UNLABELLED
    values = {*told.values()}
    if len(values) == 2:
        return Effect(CONTRADICTED, spans=tuple(told), most=DOUBTED)
    if len(values) == 1 and (answer := values.pop()) is not one.value:
        return Effect(ANSWERED, json.dumps(answer), tuple(told)[:1], sure)
    return None


def _same_answers(one: Beside) -> dict[Span, bool]:
    """Returns the answers of a form whose labels are in other words, if all are the same and each field has one."""
    fields = sum({*slot.options} == {"true", "false"} for slot in one.form.slots)
    text, start = one.document.text, one.region[0]
    lines = _LABELLED.finditer(text, start, min(one.region[1], start + LONGEST_REGION))
    found = [match for match in lines if match[1].lower() in _ANSWERS]
    # Who speaks in a conversation is no label.
    found = [match for match in found if text.count(f"\n{match[0].partition(':')[0]}:") < 2]
    told = {match.span(1): _ANSWERS[match[1].lower()] for match in found}
    # Of a longer page one line that says no tells nothing.
    is_form = len(text.split("\n")) <= FORM_LINES * fields
    return told if is_form and len(told) == fields and len({*told.values()}) == 1 else {}


def _opposites(one: Beside) -> dict[Span, bool]:
    """Returns where the document has the field's one word only with a beginning that makes it its opposite."""
    words = [text for text in label_texts(one.asked.label, one.slot.path) if len(stems(text, OPTION_LETTERS)) == 1]
    if not words or any(one.labels()):
        return {}
    own = "|".join(map(re.escape, set().union(*map(stems, words))))
    opposite = re.compile(rf"\b(?:un|in|im|ir|non?-|nicht-?|not-|on)(?:{own})[^\W_]*", re.IGNORECASE)
    found = opposite.search(one.document.text, one.region[0], min(one.region[1], one.region[0] + LONGEST_REGION))
    return {found.span(): False} if found else {}


def _denied_statement(one: Beside) -> dict[Span, bool]:
    """Returns the clause that denies what the description asks for, in all its words: "could not be reached"."""
    words = stems(one.asked.note.partition(" ")[2].partition(".")[0], STATEMENT_LETTERS)
    start, end = one.region[0], min(one.region[1], one.region[0] + LONGEST_REGION)
    if len(words) < 2 or any(one.labels()):
        return {}
    clauses = re.finditer(r"[^\n.;:!?]+", one.document.text[start:end])
    stated = [clause for clause in clauses if words <= stems(clause[0], STATEMENT_LETTERS)]
    denials = {(start + clause.start(), start + clause.end()): False for clause in stated if denied(clause[0])}
    return denials if 2 * len(denials) > len(stated) else {}


def _answers_beside_label(one: Beside) -> dict[Span, bool]:
    """Returns the answers beside the field's label, with their places; a denial counts where no answer stands.

    It does not if the words of the field deny by themselves, or if most of their places are not denied: a contract that
    says what "insurance does not cover" has one.
    """
    text, told, denials = one.document.text, dict[Span, bool](), list[Span]()
    places = [*one.labels()] or [match.span(1) for match in _key_of(one.slot.path).finditer(text, *one.region)]
    for start, end in places:
        line_start, line_end = one.line_of(start, end)
        answer = _ANSWER.match(text, end, line_end) or _ALONE_BELOW.match(text, end)
        value = _ANSWERS.get(answer[1].lower()) if answer is not None else None
        boxes = len(_BOX.findall(text, line_start, line_end))
        if boxes > (answer is not None and value is not None):  # `overlay/marks.py` reads boxes
            continue
        if answer is not None and value is not None:
            told[answer.span(1)] = value
        elif (cell := one.below(start, end)) and (below := _ANSWERS.get(text[slice(*cell)].lower())) is not None:
            told[cell] = below
        elif (refused := _REFUSED_BEHIND.match(text, end, line_end)) is not None:
            told[refused.span(1)] = False
        elif (denial := denied(text[line_start:end])) is not None:
            denials.append((line_start + denial.start(), end))
    many = 2 * len(denials) > len(places) and _DENIED.search(one.asked.label) is None
    return told | (dict.fromkeys(denials, False) if many else {})


@lru_cache(maxsize=256)
def _key_of(path: str) -> re.Pattern[str]:
    """Returns a pattern of a field's name as a key of data, which its title may hold within more words."""
    return re.compile(rf"^[ \t]*({re.escape(path.rpartition('/')[2])})(?=:)", re.IGNORECASE | re.MULTILINE)


def denied(clause: str) -> re.Match[str] | None:
    """Returns the denial in the last clause of a text, None if there is none."""
    begin = max((match.end() for match in _CLAUSE.finditer(clause)), default=0)
    return next(_DENIED.finditer(clause, begin), None)


def _choice(one: Beside) -> Effect | None:
    """A choice that is denied where it is printed is its opposite, or is doubted."""
    options = one.slot.options
    if len(options) < 2 or not isinstance(one.value, str) or one.leaf.text not in options or not one.spans:
        return None
    near = " ".join(one.before.split(" ")[-DENIAL_WORDS:])
    if (denial := denied(near)) is None:
        return None
    at = one.spans[0][0] - len(near) + denial.start()
    other = _opposite(one.value, [json.loads(option) for option in options])
    adjacent = _BETWEEN.fullmatch(near[denial.end() :])
    if other is None and one.slot.nullable and adjacent:
        return Effect(CONTRADICTED, "null", most=UNLABELLED)
    if other is None and not adjacent and not stems(one.asked.label) & stems(one.before):
        return None
    told = None if other is None else json.dumps(other, ensure_ascii=False)
    return Effect(CONTRADICTED, told, ((at, one.spans[-1][1]),), CORRECTED if other else DOUBTED)


def _twice(one: Beside) -> Effect | None:
    """A choice of which the field's label tells two is in doubt."""
    if len(one.slot.options) < 2 or not isinstance(one.value, str):
        return None
    told = dict[str, Span]()
    option = "|".join(re.escape(str(json.loads(text))) for text in one.slot.options if text != "null")
    behind = rf"\s*(?:[:=|\t]|(?:is|was|ist|war|est|è|es)\b)\s*({option})(?:\s*(?:{_OR})\s*({option}))?\.?\s*$"
    said = re.compile(behind, re.IGNORECASE | re.MULTILINE)
    for _, end in one.labels():
        if found := said.match(one.document.text, end):
            told |= {found[group].lower(): found.span(group) for group in (1, 2) if found[group]}
    return Effect(CONTRADICTED, spans=tuple(told.values()), most=DOUBTED) if len(told) > 1 else None


def _without_a_word(one: Beside) -> Effect | None:
    """A choice of which the document has no word is none, where the schema allows that; rows may tell it as a whole.

    One that the model is likelier right about than not is left, in doubt: a report without units has those of its kind.
    """
    in_row = re.search(r"/\d+(?:/|$)", one.pointer)
    if one.leaf.origin != "chosen" or not isinstance(one.value, str) or in_row or one.spans or not one.slot.nullable:
        return None
    glued = re.compile(rf"(?<=\d){re.escape(one.value)}(?![^\W_])", re.IGNORECASE)
    if glued.search(one.document.text, *one.region) is not None:
        return None
    unlikely = one.leaf.confidence < UNLABELLED
    return Effect(UNSTATED, "null", most=UNLABELLED) if unlikely else Effect(UNSTATED, most=DOUBTED)


# Beginnings of words that make them their opposites, and words that are opposites in a decision.
_OPPOSED = re.compile(r"^(?:un|in|im|ir|il|dis|non|not|no|out of|nicht|non)[ -]?(?=\w)", re.IGNORECASE)
_GRANTED, _REFUSED = re.compile(WORDS["granted"]), re.compile(WORDS["refused"])
_PAIRS = ("yes/no", "true/false", "on/off", "open/closed", "ja/nein", "offen/geschlossen", "ouvert/fermé")


def _opposite(value: object, options: list[object]) -> object | None:
    """Returns the option that a denied one leaves, its opposite in words; None if none is."""
    others = [option for option in options if option not in (value, None)]
    plain = {option: _plain(option) for option in others}
    own = _plain(value)
    same = [option for option, words in plain.items() if _bare(words) == _bare(own) and words != own]
    if not same and _GRANTED.fullmatch(own):
        same = [option for option, words in plain.items() if _REFUSED.fullmatch(words)]
    if not same:
        same = [option for option, words in plain.items() if {f"{own}/{words}", f"{words}/{own}"} & {*_PAIRS}]
    return same[0] if len(same) == 1 and _bare(own) in (own, own.removeprefix("in ")) else None


def _plain(option: object) -> str:
    return str(option).replace("_", " ").lower()


def _bare(words: str) -> str:
    """Returns the words without what makes them the opposite of others: "in stock" and "out of stock" are one."""
    return _OPPOSED.sub("", words)


ANSWERS: tuple[Kind, ...] = (_boolean, _choice, _twice, _without_a_word)
