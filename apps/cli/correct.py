"""`cinnabar correct` corrects, accepts and takes back values of a stored record, and the parts of a packet."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.console import short, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.options import OutOption, StoredDocument
from cinnabar.apps.cli.results import warn_of_unread
from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector, Reviewed
from cinnabar.extraction.corrections.journal import waiting_corrections
from cinnabar.extraction.review.forms import form_of, place_at
from cinnabar.extraction.review.picking import text_to_read
from cinnabar.extraction.store.reading import record_named
from cinnabar.extraction.store.stored_records import source_of
from cinnabar.wording import harmless, with_noun

_Pages = list[int] | None
_Texts = list[str] | None
_SchemaName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="One of several schemas.",
    ),
]


def correct(
    document: StoredDocument,
    out: OutOption,
    schema: _SchemaName = None,
    values: Annotated[_Texts, typer.Option("--set", metavar="/P=VALUE", help="The right value there.")] = None,
    absent: Annotated[_Texts, typer.Option(metavar="/P", help="The document lacks this value.")] = None,
    accept: Annotated[_Texts, typer.Option(metavar="/P", help="This value is right; / means all.")] = None,
    other_kind: Annotated[bool, typer.Option("--other-kind", help="The document is not of this schema.")] = False,
    undo: Annotated[_Texts, typer.Option(metavar="ID", help="Take back this correction, or all.")] = None,
    list_them: Annotated[bool, typer.Option("--list", help="List the corrections.")] = False,
    parts: Annotated[bool, typer.Option("--parts", help="Show a packet's documents.")] = False,
    split: Annotated[_Pages, typer.Option(metavar="PAGE", help="A document of the packet begins there.")] = None,
    join: Annotated[_Pages, typer.Option(metavar="PAGE", help="No document begins there.")] = None,
    turn: Annotated[_Texts, typer.Option(metavar="PAGE:DEGREES", help="Turn the page clockwise.")] = None,
    kind: Annotated[
        _Texts, typer.Option(metavar="PAGE:SCHEMA", help="The schema of that document.")
    ] = None,
    who: Annotated[str | None, typer.Option(metavar="NAME", help="The name on corrections.")] = None,
) -> Answer:
    """Correct the record of a document; later runs and backfills keep what you say.

    --set, --absent, --accept and --undo may be given several times. All changes count or none: a record that would
    break its schema is refused. While a run is going, the correction waits for its next batch.

    --split, --join, --turn and --kind correct where the documents of a packet begin, which DOCUMENT or a part of it is,
    and may be given several times, too; the next `extract --split` reads what is new. Records of parts that are no
    documents any more leave the tables.

    \b
    Examples:
      cinnabar correct mails/1042.txt --out tables --set /number=R7 --absent /due
      cinnabar correct scans/monday.pdf --out tables --split 4 --kind 4:receipt
    """
    changes = _changes(values or (), absent or (), accept or (), other_kind)
    of_packet = parts or bool(split or join or turn or kind)
    if bool(changes) + bool(undo) + list_them + of_packet != 1:
        raise UsageError(
            "correct: expected changes (--set, --absent, --accept, --other-kind), --undo, --list, or of a packet "
            "--parts, --split, --join, --turn or --kind"
        )
    if of_packet:
        if schema is not None:
            raise UsageError("--schema: expected --kind PAGE:SCHEMA in its place, for a document of a packet")
        yield from _correct_packet(out, document, split, join, turn, kind, who)
        return
    warn_of_unread(out)
    digest, name = record_named(out, document, schema)
    changes, read = _as_meant(out, digest, name, changes)
    reviewed = _correct_record(out, digest, name, changes, undo, who)
    yield reviewed.as_json
    _print(reviewed, len(waiting_corrections(out)))
    print(harmless("\n".join(read)), end="\n" * bool(read))


def _as_meant(out: Path, digest: str, schema: str, changes: Sequence[Change]) -> tuple[list[Change], list[str]]:
    """Returns the changes with values of their fields, and sentences on those that were read from other texts.

    A text is read as the engine reads this document. Raises UsageError if it is no value, or may be several.
    """
    made, told = list[Change](), list[str]()
    for change in changes:
        made.append(change)
        if change.action is not Action.VALUE:
            continue
        source = source_of(out, schema, Corrector(out).state(digest, schema).schema_fingerprint)
        if (said := text_to_read(place_at(form_of(source.schema), change.pointer), change.after or "")) is not None:
            # Cold start: what shows documents takes half a second.
            from cinnabar.extraction.review.review import Review

            with Review(out, "") as review:
                read = review.readings(digest, schema, change.pointer, (), said)
            meant = [f"{words} ({value})" for value, words in zip(read["values"], read["words"], strict=True)]
            if len(meant) != 1:
                wanted = f"one of {' or '.join(meant)}, given as JSON" if meant else read["expected"]
                raise UsageError(f"--set {change.pointer}: expected {wanted}, got {said[:80]}")
            made[-1] = replace(change, after=read["values"][0])
            told.append(f"{change.pointer}: stored {meant[0]}, read from {said}")
        elif (change.after or "").lstrip().startswith("["):
            made[-1] = replace(change, action=Action.LIST)
    return made, told


def _correct_record(
    out: Path, digest: str, schema: str, changes: Sequence[Change], undo: Sequence[str] | None, who: str | None
) -> Reviewed:
    """Makes the changes or takes corrections back, if there are any, and returns the record's state."""
    corrector = Corrector(out)
    if changes:
        return corrector.correct(digest, schema, changes, who or getpass.getuser())
    if undo:
        return corrector.undo(digest, schema, None if "all" in undo else undo, who or getpass.getuser())
    return corrector.state(digest, schema)


def _correct_packet(
    out: Path, packet: str, split: _Pages, join: _Pages, turn: _Texts, kind: _Texts, who: str | None
) -> Answer:
    """Corrects where the documents of a packet begin, if anything is said, and shows it."""
    # Cold start: modules of models take .2 s.
    from cinnabar.extraction.maintenance.packets import amend, packet_around
    from cinnabar.extraction.store.packets import PacketStatement

    shown = packet_around(out, packet)
    if split or join or turn or kind:
        try:
            turns, kinds = (dict(one.split(":", 1) for one in given or ()) for given in (turn, kind))
            said = PacketStatement.model_validate(
                {"split": split or [], "join": join or [], "turns": turns, "kinds": kinds}
            )
        except ValueError as error:
            raise UsageError("--turn, --kind: expected a page, a colon, and degrees or a schema") from error
        shown = amend(out, shown, said, who or getpass.getuser())
    yield shown.as_json()
    rows = [(str(part).removeprefix("pages="), f"{sure:.2f}") for part, sure in shown.parts()]
    standard_output().print(table(("pages", "probability"), rows))
    if shown.sheets:
        print(f"separator sheets, left out: {', '.join(map(str, shown.sheets))}")


def _changes(
    values: Sequence[str], absent: Sequence[str], accept: Sequence[str], other_kind: bool
) -> list[Change]:
    changes = []
    for one in values:
        pointer, equals, text = one.partition("=")
        if not equals:
            raise UsageError(f"--set {one}: expected a JSON pointer, = and a value, such as /number=R-17")
        changes.append(Change(Action.VALUE, pointer, text))
    changes += [Change(Action.ABSENT, pointer) for pointer in absent]
    changes += [Change(Action.ACCEPT, "" if pointer == "/" else pointer) for pointer in accept]
    return changes + ([Change(Action.OTHER_KIND, "")] if other_kind else [])


def _cell_text(text: str | None) -> str:
    """Returns a JSON text as a cell of the table; --json has all of it."""
    return "" if text is None else short(json.loads(text))


def _print(reviewed: Reviewed, waiting: int) -> None:
    rows = [
        (
            one.identity,
            one.action.value,
            one.pointer or "/",
            _cell_text(one.before),
            _cell_text(one.after),
            one.who,
            f"{one.made:%Y-%m-%d %H:%M:%S}",
            "taken back" if one.undone else "",
        )
        for one in reviewed.corrections
    ]
    console = standard_output()
    if rows:
        console.print(table(("correction", "action", "place", "before", "after", "who", "made", ""), rows))
    force = sum(one.undone is None for one in reviewed.corrections)
    outcome = f"{reviewed.path}: {reviewed.outcome} {reviewed.code}".rstrip()
    print(harmless(f"{outcome}, {with_noun(force, 'correction')} in force"))
    if reviewed.detail:
        print(harmless(reviewed.detail))
    if reviewed.guesses and force:
        guesses = ", ".join(sorted(reviewed.guesses)[:10])
        print(harmless(f"left open, because it was guessed: {guesses}; accept each by name, or --set its value"))
    if waiting:
        noun = with_noun(waiting, "change")
        print(f"{noun} kept in the folder; the next run or correction brings them into the tables")
