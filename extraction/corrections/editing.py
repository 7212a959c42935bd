"""Makes the entry of what a person asks for: their changes in a record, or corrections that are taken back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cinnabar.errors import NotAccepted, Refused, UsageError
from cinnabar.extraction.corrections.changes import EXCLUDING, Action, Change, Correction, Undo
from cinnabar.extraction.corrections.journal import WaitingCorrection, new_identity
from cinnabar.extraction.corrections.revising import Rules, rules_of, spelled_record
from cinnabar.extraction.corrections.state import Reviewed
from cinnabar.extraction.corrections.units import (
    HUMAN,
    RecordDraft,
    accepted_leaf,
    place_of,
    places_in,
    scalars,
    text_at,
    units_text,
)
from cinnabar.extraction.documents.content.document import Document, Evidence
from cinnabar.extraction.filling.evidence.evidence import evidence_of, page_of
from cinnabar.extraction.store.manifest import now
from cinnabar.extraction.store.records import LeafRow
from cinnabar.schemas.automata.strings import json_text, parse
from cinnabar.schemas.pointers import MISSING, above, index_of, lies_within, parts_of, unescape, value_at


def entry_of_changes(
    out: Path, state: Reviewed, changes: Sequence[Change], who: str, document: Document | None = None
) -> WaitingCorrection:
    """Returns the entry of these changes, made one after the other; it is empty if there is nothing to change.

    Whoever accepts an object leaves its guesses open. Without `document` the words of spans are not stored. Raises
    Refused, with the places, if the record breaks its schema then where it did not before, UsageError for a change that
    makes no sense.
    """
    identity = new_identity(state.last_identity)
    names = state.document, state.schema_name, state.schema_fingerprint
    new = Correction(identity, *names, Action.OTHER_KIND, "", None, None, None, who, now())
    if any(change.action in EXCLUDING for change in changes):
        if len(changes) > 1:
            raise UsageError("correct: expected other_kind alone, because it stands for the whole document")
        said = replace(new, action=changes[0].action, pointer=changes[0].pointer)
        corrections = [] if any(one.action is said.action for one in state.in_force) else [said]
    else:
        corrections = _corrections(out, state, changes, document, new) if changes else []
    numbered = (replace(one, identity=f"{identity}-{number}") for number, one in enumerate(corrections))
    return WaitingCorrection(identity, state.document, state.schema_name, tuple(numbered))


def entry_of_undo(
    state: Reviewed, identities: Sequence[str] | None, who: str, of_packet: bool = False
) -> WaitingCorrection:
    """Returns the entry that takes back these corrections, None for all; it is empty if none of them is in force.

    What a packet says is taken back with `of_packet`, and nothing else then. Raises UsageError for an identity that is
    unknown or of the other sort.
    """
    known = {one.identity for one in state.corrections}
    unknown = [one for one in identities or () if one not in known]
    if unknown:
        some = ", ".join(sorted(known)) or "none"
        raise UsageError(f"{state.path}: has no correction {unknown[0]}, expected one of {some}")
    named = [one for one in state.in_force if identities is None or one.identity in identities]
    gone = [one for one in named if (one.action is Action.NO_PART) is of_packet]
    if identities is not None and len(gone) < len(named):
        parts = "`cinnabar correct --parts` says where documents begin"
        raise UsageError(f"{state.path}: is no document of its packet; {parts}")
    identity, made = new_identity(state.last_identity), now()
    undone = tuple(Undo(f"{identity}-{number}", one.identity, who, made) for number, one in enumerate(gone))
    return WaitingCorrection(identity, state.document, state.schema_name, (), undone)


def _corrections(
    out: Path, state: Reviewed, changes: Sequence[Change], document: Document | None, new: Correction
) -> list[Correction]:
    """Returns the corrections that changes of values become; `new` has what they share."""
    if (record := state.record) is None:
        raise UsageError(
            f"{state.path}: there is no record to correct ({state.code or state.outcome}); read it again first"
        )
    rules = rules_of(out, state.schema_name, state.schema_fingerprint)
    draft, guesses = RecordDraft(record), state.guesses
    # A guess stays one wherever its row goes.
    draft.know([replace(draft.leaves[one], missing=True) for one in guesses & draft.leaves.keys()], {}, {})
    editing = _Editing(draft, rules, document, guesses)
    fixes = [editing.make(change, new) for asked in changes for change in editing.stored_changes(asked)]
    try:
        text = spelled_record(draft, record, rules)
    except NotAccepted as problem:
        violations = rules.validator.check(json_text(draft.value))
        places = [(one.pointer, one.message) for one in violations] or [(problem.pointer, str(problem))]
        raise Refused(state.path, places) from problem
    before = rules.validator.check(record.text)
    places = [(one.pointer, one.message) for one in rules.validator.check(text) if one not in before]
    if places:
        raise Refused(state.path, places)
    draft.value = parse(text)
    return [
        replace(one, after=text_at(draft.value, one.pointer), fixed=units_text(map(draft.unit, places)))
        for one, places in fixes
    ]


#: Where what stood at a pointer stands now; None for nowhere.
_Moved = Callable[[str], str | None]


@dataclass(slots=True)
class _Editing:
    draft: RecordDraft
    rules: Rules
    document: Document | None
    guesses: frozenset[str]

    def stored_changes(self, asked: Change) -> list[Change]:
        """Returns the changes that are stored for this one: an insertion is its list, an acceptance has no guesses."""
        if asked.action is Action.INSERT:
            over, _, last = asked.pointer.rpartition("/")
            held = value_at(self.draft.value, over)
            rows = list(held) if isinstance(held, list) else []
            if held is not None and held is not MISSING and not isinstance(held, list):
                raise UsageError(f"{asked.pointer}: expected the place of a row, but {over or '/'} is no list")
            rows.insert(_index(asked.pointer, last, len(rows)), _parse_value(asked))
            made = replace(asked, action=Action.LIST, pointer=over, after=json_text(rows), spans=())
            return [made, replace(asked, action=Action.VALUE)] if asked.spans else [made]
        if asked.action is not Action.ACCEPT:
            return [asked]
        # Who accepts a place of an object that is null or left out accepts that.
        around = (one for one in above(asked.pointer) if one and value_at(self.draft.value, one) in (None, MISSING))
        if (outer := next(around, asked.pointer)) != asked.pointer:
            return [replace(asked, pointer=outer)]
        within = {one for one in self._open() if one != asked.pointer and lies_within(one, asked.pointer)}
        if not within:
            return [asked]
        places = places_in(self.draft.value, asked.pointer, self.draft.leaves.values())
        if places == [asked.pointer]:
            return [asked]
        left = [place for place in places if place not in within]
        if not left:
            where = asked.pointer or "/"
            raise UsageError(f"{where}: nothing was read here, all of it was guessed; accept or correct each value")
        return [replace(asked, pointer=place) for place in left]

    def _open(self) -> set[str]:
        """Returns the guesses that no change before has settled."""
        leaves = self.draft.leaves
        return {one for one in self.guesses if one not in leaves or leaves[one].origin != HUMAN}

    def make(self, change: Change, new: Correction) -> tuple[Correction, list[str]]:
        """Makes one change in the draft; returns its correction, and the places that it fixes."""
        draft, pointer = self.draft, change.pointer
        if pointer and not pointer.startswith("/"):
            raise UsageError(f"correct: expected a JSON pointer such as /total or /lines/0/price, got {pointer!r}")
        before = text_at(draft.value, pointer)
        evidence = self._evidence(change)
        if change.action is Action.ACCEPT:
            evidence = self._accept(pointer)
        elif change.action is Action.VALUE:
            self._value(pointer, _parse_value(change), evidence)
        elif change.action is Action.LIST:
            items = _parse_value(change)
            if not isinstance(items, list):
                raise UsageError(f"{pointer}: expected a whole list as a JSON array, got {change.after}")
            self._list(pointer, items)
        elif change.action is Action.COLUMN:
            self._column(change)
            change = replace(change, action=Action.LIST)
        elif change.action is Action.ABSENT:
            self._absent(pointer)
        else:
            raise UsageError(f"correct: expected a change of a value, got {change.action}")
        place = place_of(draft.value, pointer)
        # A correction within a list fixes the list; an accepted object has several places.
        several = place == pointer and (pointer == "" or change.action is Action.ACCEPT)
        places = places_in(draft.value, pointer, draft.leaves.values()) if several else []
        made = replace(new, action=change.action, pointer=pointer, before=before, evidence=evidence)
        return made, places or [place]

    def _accept(self, pointer: str) -> Evidence | None:
        draft, left = self.draft, self._open() - {pointer}
        mine = [
            leaf for leaf in draft.leaves.values() if lies_within(leaf.pointer, pointer) and leaf.pointer not in left
        ]
        if value_at(draft.value, pointer) is MISSING and not mine:
            raise UsageError(f"{pointer}: expected a place of the record; `cinnabar show` lists them")
        draft.know(map(accepted_leaf, mine), {}, {})
        draft.rows |= dict.fromkeys((one for one in draft.rows if lies_within(one, pointer)), 1.0)
        self._know_lists(pointer)
        return mine[0].evidence if len(mine) == 1 else None

    def _value(self, pointer: str, value: Any, evidence: Evidence | None) -> None:
        if isinstance(value, list):
            self._list(pointer, value)
            return
        draft = self.draft
        old = draft.leaves.get(pointer)
        if evidence is None and old is not None and isinstance(value, (str, int)) and old.value == json_text(value):
            evidence = old.evidence
        self._check_parent(pointer)
        over, _, last = pointer.rpartition("/")
        holder = value_at(draft.value, over)
        if isinstance(holder, list) and _index(pointer, last, len(holder)) == len(holder):
            self._list(over, [*holder, value])
        page = page_of(self.document, evidence) if self.document is not None else 0
        if evidence is not None and not page:
            same = old is not None and old.evidence == evidence
            page = old.page if old is not None and same else next((box.page for box in evidence.boxes), 0)
        self._write(pointer, value, lambda one: one if isinstance(value, dict) else None, evidence, page)

    def _write(
        self, pointer: str, value: Any, moved: _Moved, evidence: Evidence | None = None, page: int = 0
    ) -> None:
        """Writes a value; a part that is what it was keeps all that was known of it."""
        draft, kept, old = self.draft, self.draft.unit(pointer), value_at(self.draft.value, pointer)
        draft.put(pointer, value, self.rules.compiled.form)
        given = (LeafRow(one, text, 1.0, HUMAN, evidence=evidence, page=page) for one, text in scalars(value, pointer))
        draft.know(given, {}, {})
        self._know_lists(pointer)
        for leaf in kept.leaves:
            if (there := moved(leaf.pointer)) is not None and text_at(draft.value, there) == leaf.value:
                draft.know([replace(leaf, pointer=there)], {}, {})
        for one, sure in kept.lists.items():
            was = value_at(old, one.removeprefix(pointer))
            if (there := moved(one)) is not None and value_at(draft.value, there) == was:
                draft.lists[there] = sure
        for one, sure in kept.rows.items():
            if (there := moved(one)) is not None and value_at(draft.value, there) is not MISSING:
                draft.rows[there] = sure

    def _check_parent(self, pointer: str) -> None:
        steps = pointer.split("/")[1:]
        for number, step in enumerate(steps):
            around = "".join(f"/{one}" for one in steps[:number])
            holder = value_at(self.draft.value, around)
            # One behind the last item is a new one.
            most = len(holder) - (number + 1 < len(steps)) if isinstance(holder, list) else 0
            if isinstance(holder, list):
                _index(pointer, step, most)
            if holder is not MISSING and holder is not None and not isinstance(holder, (dict, list)):
                held = json_text(holder)[:60]
                raise UsageError(f"{pointer}: expected a place of the record; {around} holds {held}")

    def _list(self, pointer: str, items: list[Any]) -> None:
        """Writes a list; an item that was there before keeps all that was known of it."""
        old = value_at(self.draft.value, pointer)
        before = old if isinstance(old, list) else []
        # The items before by their texts, each until an item takes it.
        free: dict[str, dict[int, None]] = defaultdict(dict)
        for number, item in enumerate(before):
            free[json_text(item)][number] = None
        origin: dict[int, int] = {}
        for number, item in enumerate(items):
            if same := free[json_text(item)]:
                origin[number] = number if number in same else next(iter(same))
                del same[origin[number]]
        left = {number for same in free.values() for number in same}
        # An item that was changed in place keeps what is known of the values that it still has.
        sources = ((origin.get(number, number if number in left else None), number) for number in range(len(items)))
        places = {str(source): number for source, number in sources if source is not None}

        def moved(one: str) -> str | None:
            step, slash, rest = one[len(pointer) + 1 :].partition("/")
            return f"{pointer}/{places[step]}{slash}{rest}" if step in places else None

        self._check_parent(pointer)
        unrated = {moved(f"{pointer}/{source}") for source in places if f"{pointer}/{source}" not in self.draft.rows}
        self._write(pointer, items, moved)
        self.draft.rows = {one: sure for one, sure in self.draft.rows.items() if one not in unrated}

    def _column(self, change: Change) -> None:
        """Writes a field of many rows; all else that is known of them stays."""
        for part in change.parts:
            row, _, name = part.pointer.rpartition("/")
            value, evidence = _parse_value(part), self._evidence(part)
            value_at(self.draft.value, row)[unescape(name)] = value
            if evidence is not None:
                evidence = replace(evidence, place=" › ".join(filter(None, (evidence.place, change.after))))
            page = page_of(self.document, evidence) if self.document is not None else 0
            leaf = LeafRow(part.pointer, json_text(value), 1.0, HUMAN, evidence=evidence, page=page)
            self.draft.know([leaf], {}, {})

    def _absent(self, pointer: str) -> None:
        draft, form = self.draft, self.rules.compiled.form
        if not pointer:
            raise UsageError("expected the pointer of a value that is absent, got that of the whole record")
        parent, _, last = pointer.rpartition("/")
        holder = value_at(draft.value, parent)
        if isinstance(holder, list):
            gone_row = _index(pointer, last, len(holder) - 1)
            self._list(parent, [item for number, item in enumerate(holder) if number != gone_row])
            return
        self._check_parent(pointer)
        had = isinstance(holder, dict) and unescape(last) in holder
        old = [leaf.pointer for leaf in draft.leaves.values() if lies_within(leaf.pointer, pointer)]
        ways: tuple[Any, ...] = (None, MISSING) if had else (MISSING, None)
        for value in ways:
            draft.put(pointer, value, form)
            if self._is_allowed():
                break
        else:
            draft.put(pointer, ways[0], form)
        text = text_at(draft.value, pointer)
        gone = [one for one in old if one != pointer]
        draft.know(
            [LeafRow(one, None, 1.0, HUMAN) for one in gone] or [LeafRow(pointer, text, 1.0, HUMAN)], {}, {}
        )

    def _is_allowed(self) -> bool:
        try:
            self.rules.compiled.canonical(self.draft.value)
        except NotAccepted:
            return False
        return True

    def _know_lists(self, pointer: str) -> None:
        """Makes the lists at and below a place, and their rows, certain; the open properties of objects too."""
        draft = self.draft
        draft.lists |= dict.fromkeys((one for one in draft.lists if lies_within(one, pointer)), 1.0)
        for one, part in parts_of(value_at(draft.value, pointer), pointer):
            if isinstance(part, list):
                draft.lists[one] = 1.0
                draft.rows |= {f"{one}/{number}": 1.0 for number in range(len(part))}

    def _evidence(self, change: Change) -> Evidence | None:
        if not change.spans:
            return None
        if self.document is not None:
            return evidence_of(self.document, [(span.start, span.end) for span in change.spans])
        return Evidence(change.spans, "")


def _index(pointer: str, step: str, most: int) -> int:
    """Returns the index that a step of a pointer names. Raises UsageError if it is none of 0 to `most`."""
    index = index_of(step)
    if index is None or index > most:
        raise UsageError(f"{pointer[:200]}: expected the index of an item, 0 to {most}, got {step[:40]!r}")
    return index


def _parse_value(change: Change) -> Any:
    if change.after is None:
        raise UsageError(f"{change.pointer}: expected the new value as JSON, got none")
    try:
        value = parse(change.after)
        json_text(value)  # a number of more digits than any automaton holds has no text
        return value
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{change.pointer}: expected a value as JSON (a text in double quotes), got {change.after[:80]} ({error})"
        ) from error
