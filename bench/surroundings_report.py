"""Measures whether what stands beside a value is read: drawn documents of eight kinds, each beside its control.

    python -m bench surroundings_report [--model auto] [--json] [--record] [--parties tuning|sealed]

`surroundings.json` has twenty documents of each kind in several languages and formats, and frames that go around them.
A document has a schema of one field to look at and those of its frame, the trouble (a negation, a unit, a struck text)
with the right value, and the control: the same without the trouble. A value counts as in doubt if it is null or its
confidence is below .5. `parties.json` has sentences that say who is who, half of them with unusual roles.
"""

from __future__ import annotations

import argparse
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docx import Document as Letter
from openpyxl import Workbook
from openpyxl.styles import Font

from bench.recording import Row, record
from bench.reporting import table
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.filling.run_models import sources_of
from cinnabar.extraction.plan.run_options import RunPlan
from cinnabar.schemas import compile_schema, load_schema

DOCUMENTS, PARTIES = (Path(__file__).with_name(name) for name in ("surroundings.json", "parties.json"))
#: Below the first a value is in doubt; from the second on a reader takes it as sure.
DOUBTED, SURE = 0.5, 0.9
#: The least shares, and the most that are wrong though sure; .92 is .98 of what 5295ebcc told of the controls.
WANTED = {"right": 0.85, "right or in doubt": 0.97, "wrong at .9": 0.01, "control right at .9": 0.917}
_SORTS: dict[str, dict[str, Any]] = {
    "bool": {"type": ["boolean", "null"]},
    "num": {"type": ["number", "null"]},
    "str": {"type": ["string", "null"]},
    "code": {"type": ["string", "null"], "pattern": "^[A-Z]{3}$"},
    "date": {"type": ["string", "null"], "format": "date"},
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a document of this kind, of its trouble or its control."""

    kind: str
    field: str
    control: bool
    right: Any
    got: Any
    confidence: float
    flags: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """Whether the value is right: numbers to a thousandth, moments to the minute, other texts by letters."""
        if None in (self.right, self.got) or isinstance(self.right, bool):
            return self.right is self.got
        if isinstance(self.right, int | float):
            return bool(abs(self.got - self.right) <= 0.001 * abs(self.right))
        if self.kind == "told forms":
            return bool(self.got == self.right)
        got = self.got[:16] if "T" in self.right and ":" in self.right else self.got
        return _letters(got) == _letters(self.right)


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text).casefold()


def field_schema(title: str, about: str, sort: str | dict[str, Any]) -> dict[str, Any]:
    """The schema of a field from its title, its description, and its sort, such as `num`, or what else it holds."""
    own = sort if isinstance(sort, dict) else _SORTS[sort]
    return {"title": title} | ({"description": about} if about else {}) | own


def file_of(text: str, form: str) -> bytes:
    """The bytes of a file of this form; in sheets and letters a text between tildes is struck."""
    if form not in ("docx", "xlsx"):
        return text.encode()
    held = io.BytesIO()
    if form == "docx":
        letter = Letter()
        for line in text.splitlines():
            paragraph = letter.add_paragraph()
            for place, part in enumerate(line.split("~")):
                paragraph.add_run(part).font.strike = bool(place % 2)
        letter.save(held)
        return held.getvalue()
    book = Workbook()
    sheet = book.worksheets[0]
    for down, line in enumerate(text.splitlines(), 1):
        for across, part in enumerate(line.split("\t"), 1):
            bare = part.strip("~")
            number = re.fullmatch(r"[\d.]+", bare)
            sheet.cell(down, across, float(bare) if number else bare).font = Font(strike=bare != part)
    book.save(held)
    return held.getvalue()


def readings(model: str) -> Iterator[Reading]:
    """Reads each document and its control with this model."""
    data, read = json.loads(DOCUMENTS.read_text("utf-8")), reading(model)
    for kind, form, frame, (name, *about), body, trouble, right, control, control_right in data["documents"]:
        head, tail, others = data["frames"][frame]
        members = {one: field_schema(*own) for one, own in {**others, name: about}.items()}
        for is_control, inserted, wanted in ((False, trouble, right), (True, control, control_right)):
            got = read(file_of(head + body.format(inserted) + tail, form), f"page.{form}", members)[name]
            yield Reading(kind, name, is_control, wanted, *got)


def reading(model: str) -> Callable[[bytes, str, dict[str, Any]], dict[str, tuple[Any, float, tuple[str, ...]]]]:
    """Returns a function that reads a file under the schemas of fields: each value, its confidence and flags."""
    plan = RunPlan.of(model=model, on_missing="guess")
    source, escalation = sources_of(plan, model)
    engine = source.filler(plan.options.effort, plan.options.steps)
    tier = None if escalation is None else escalation.tier(plan.options.effort)

    def read(file: bytes, name: str, members: dict[str, Any]) -> dict[str, tuple[Any, float, tuple[str, ...]]]:
        own = load_schema({"type": "object", "properties": members, "required": [*members]})
        job = Job(compile_schema(own.schema), engine, Validator(own), "guess", tier=tier)
        document = parse(file, name)
        (outcome,) = run_batch([OpenedInput(name, document.digest, document)], job).outcomes
        found: dict[str, Any] = dict.fromkeys(members, (None, 0.0, ()))
        for one in outcome.record.leaves if outcome.record else ():
            found[one.pointer[1:]] = json.loads(one.value or "null"), one.confidence, one.flags
        return found

    return read


def parties(model: str, half: str) -> Iterator[tuple[str, ...]]:
    """Yields of the sentences of one half by group how many there are, are right, and are wrong at .8 or more."""
    read, counts = reading(model), dict[str, Counter[str]]()
    for own, kind, language, text, fields, right in json.loads(PARTIES.read_text("utf-8")):
        if own == half:
            members = {name: field_schema(title, note, "str") for name, (title, note) in fields.items()}
            found = read(text.encode(), "page.txt", members)
            wrong = [sure for name, (got, sure, _) in found.items() if not _names(got or "", right[name])]
            for group in (kind, language, "all"):
                counts.setdefault(group, Counter()).update(all=1, right=not wrong, sure=max(wrong, default=0) >= 0.8)
    yield from ((group, *(str(own[what]) for what in ("all", "right", "sure"))) for group, own in counts.items())


def _names(got: str, right: str) -> bool:
    """Returns whether this is the name, with a title and an article at most: "Frau Dr. Jutta Wimmer"."""
    return _letters(got).endswith(_letters(right)) and len(got.split()) <= len(right.split()) + 2


def counted(found: Sequence[Reading]) -> dict[str, Counter[str]]:
    """What is counted of each kind, and of all."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        sure, doubted = one.got is not None and one.confidence >= SURE, one.got is None or one.confidence < DOUBTED
        of_trouble = {"documents": 1, "right": one.is_right, "right or in doubt": one.is_right or doubted}
        of_trouble |= {"wrong at .9": sure and not one.is_right}
        of_control = {"control right": one.is_right, "control right at .9": one.is_right and sure}
        own = Counter(of_control if one.control else of_trouble)
        for name in (one.kind, "all"):
            counts.setdefault(name, Counter()).update(own)
    return dict(sorted(counts.items(), key=lambda item: item[0] == "all"))


def main() -> None:
    """Prints a row of each kind, or all readings; records the shares of all if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="reader")
    parser.add_argument("--json", action="store_true", help="every reading")
    parser.add_argument("--record", action="store_true", help="write the shares to bench/results/surroundings.json")
    parser.add_argument("--parties", choices=("tuning", "sealed"), help="who is who, in this half of the sentences")
    asked = parser.parse_args()
    if asked.parties:
        print(table(("group", "sentences", "right", "wrong at .8"), [*parties(asked.model, asked.parties)]))
        return
    found = [*readings(asked.model)]
    counts = counted(found)
    if asked.json:
        print(json.dumps({"kinds": counts, "readings": [asdict(one) for one in found]}, ensure_ascii=False, indent=1))
    else:
        heads = [*counts["all"]]
        print(table(("kind", *heads), [(kind, *(str(own[head]) for head in heads)) for kind, own in counts.items()]))
    if asked.record:
        own, rows = counts["all"], []
        for what, wanted in WANTED.items():
            share = own[what] / own["documents"]
            missed = share > wanted if what.startswith("wrong") else share < wanted
            rows.append(Row(what, f"{wanted:.0%}", f"{share:.1%}", missed))
        record(
            "surroundings", "what stands beside a value", "python -m bench surroundings_report", rows, precision="int8",
            note=f"Model {asked.model}, {own['documents']} documents of eight kinds and as many controls",
        )  # fmt: skip


if __name__ == "__main__":
    main()
