"""Measures the promises of Cinnabar about any JSON Schema, over a folder of schema suites, as one Markdown table.

    python -m bench.schema_report ../shared/suites --sample 40

The folder has `json-schema-test-suite` (the standard's own, draft 2020-12) and `jsonschemabench` (real schemas with
instances). A folder `tools` beside it may have `schema_traps.py`, probes of common mistakes. `--sample N` takes about N
groups of the suite and N real schemas, spread over all of them. With `--details` every deviation is named below the
table. `--record` writes the promises into `bench/results/` (`make results`). An exit status of 1 says that a promise is
not kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.random_model import SteeredModel, request
from tests.support.random_scores import records_at_random
from tests.support.second_judge import independent
from tests.support.steps_of_a_fill import EFFORTS, fill_at_random, in_the_forms_way, objections, refusals

from bench.recording import Row, record
from bench.schema_suites import Case, groups, real, references, spread, traps
from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.language.decoded import Decoded
from cinnabar.engine.request import Filled
from cinnabar.errors import CinnabarError, NotAccepted, NoValue, TooLarge
from cinnabar.schemas import CompiledSchema, compile_schema
from cinnabar.schemas.automata.strings import json_text, parse


@dataclass(slots=True)
class Count:
    """The number of tries, the number of successes, and the failures."""

    tried: int = 0
    held: int = 0
    deviations: list[str] = field(default_factory=list)

    def note(self, name: str, problem: str = "") -> None:
        """Counts one more try; `problem` is the reason if it failed."""
        self.tried += 1
        self.held += not problem
        if problem:
            self.deviations.append(f"{name}: {problem}")

    def add(self, other: Count) -> None:
        """Adds the tries of another count."""
        self.tried, self.held = self.tried + other.tried, self.held + other.held
        self.deviations += other.deviations

    @property
    def share(self) -> float:
        """The share of successes; 1 if nothing was tried."""
        return self.held / self.tried if self.tried else 1.0

    def __str__(self) -> str:
        percent = int(1000 * self.share) / 10
        return f"{self.held} of {self.tried} ({percent:g}%)"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table; `kept` is None if nothing is promised."""

    what: str
    found: str
    wanted: str
    kept: bool | None = None


class Report:
    """The lines of the table, and all deviations."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.deviations: dict[str, list[str]] = {}

    def add(self, what: str, count: Count, least: float | None = 1.0) -> None:
        """Adds the line of a count with the least share that is promised."""
        wanted = "-" if least is None else f"{100 * least:g}%"
        self.lines.append(Line(what, str(count), wanted, None if least is None else count.share >= least))
        if count.deviations:
            self.deviations[what] = count.deviations

    def say(self, what: str, found: str, wanted: str = "-", kept: bool | None = None) -> None:
        """Adds a line of any text."""
        self.lines.append(Line(what, found, wanted, kept))

    @property
    def kept(self) -> bool:
        """Whether all promises are kept."""
        return all(line.kept is not False for line in self.lines)

    def table(self) -> Iterator[str]:
        """The table in Markdown."""
        yield "| what | found | wanted | |"
        yield "|---|---|---|---|"
        for line in self.lines:
            verdict = {True: "kept", False: "**not kept**", None: ""}[line.kept]
            yield f"| {line.what} | {line.found} | {line.wanted} | {verdict} |"

    def rows(self) -> list[Row]:
        """The lines that promise something, as they are recorded."""
        lines = [line for line in self.lines if line.kept is not None]
        return [Row(line.what, line.wanted, line.found, not line.kept) for line in lines]


def exactness(cases: Sequence[Case], unsound: Count) -> Count:
    """The schemas that accept exactly the values labelled valid; `unsound` counts the accepted invalid values."""
    count = Count()
    for case in cases:
        try:
            compiled = compile_schema(case.schema)
        except CinnabarError as problem:
            count.note(case.name, f"refused: {problem}")
            continue
        wrong = [(text[:80], valid) for text, valid in case.tests if compiled.accepts(text) != valid]
        count.note(case.name, f"judged otherwise: {'; '.join(text for text, _ in wrong)}" if wrong else "")
        for text, valid in case.tests:
            if not valid:
                unsound.note(case.name, f"accepted: {text[:80]}" if (text[:80], valid) in wrong else "")
    return count


def compiling(cases: Sequence[Case]) -> tuple[Count, Count, list[tuple[Case, CompiledSchema]]]:
    """The real schemas that compile, those with a form or without any value, and the compiled ones with forms."""
    compiles, forms, found = Count(), Count(), list[tuple[Case, CompiledSchema]]()
    for case in cases:
        try:
            compiled = compile_schema(case.schema)
            compiles.note(case.name)
        except CinnabarError as problem:
            compiles.note(case.name, str(problem))
            continue
        try:
            _ = compiled.form
            found.append((case, compiled))
            forms.note(case.name)
        except NoValue as problem:
            # A schema that no value meets is fine; one with a valid instance must have a form.
            met = any(valid for _, valid in case.tests)
            forms.note(case.name, str(problem) if met else "")
        except CinnabarError as problem:
            forms.note(case.name, str(problem))
    return compiles, forms, found


def any_step(compiled: Sequence[tuple[Case, CompiledSchema]]) -> tuple[Count, int]:
    """With random candidates, the schemas whose record is valid at each step, and the number of records checked."""
    count, states = Count(), 0
    for at, (case, schema) in enumerate(compiled):
        ((result, shown),) = fill_at_random([schema], at, EFFORTS[at % 4])
        states += len(shown)
        count.note(case.name, next(objections(schema, independent(case.schema), result, shown), ""))
    return count, states


def any_step_of_a_text(compiled: Sequence[tuple[Case, CompiledSchema]]) -> tuple[Count, int, int]:
    """The same of records that are written token by token under their graphs, with random scores of all tokens.

    The last number counts the schemas whose records have too many states for a graph.
    """
    count, states, too_large = Count(), 0, 0
    for at, (case, schema) in enumerate(compiled):
        try:
            ((result, shown),) = records_at_random([schema], at, EFFORTS[at % 4])
        except TooLarge:
            too_large += 1
            continue
        states += len(shown)
        problem = "" if isinstance(result, Decoded) else f"{result.code}: {result.detail[:160]}"
        count.note(case.name, problem or next(refusals(schema, independent(case.schema), shown), ""))
    return count, states, too_large


def steered(compiled: Sequence[tuple[Case, CompiledSchema]]) -> tuple[Count, Count, Count]:
    """With scores peaked on the instances: those that the form holds, those of them that are written, and the
    invalid ones for which another, allowed text is written."""
    held, same, other = Count(), Count(), Count()
    for case, schema in compiled:
        for number, (text, valid) in enumerate(case.tests):
            name = f"{case.name} {number}"
            if not valid:
                result = _filled(schema, text)
                good = result is not None and schema.accepts(result) and result != json_text(parse(text))
                other.note(name, "" if good else f"{result}"[:160])
                continue
            try:
                wanted = schema.canonical(parse(text))
            except NotAccepted as problem:
                held.note(name, str(problem))
                continue
            held.note(name)
            way = in_the_forms_way(schema.form, parse(text))
            # If the form's way to write absence is not allowed, the record itself is expected.
            wanted = schema.canonical(parse(way)) if schema.accepts(way) else wanted
            result = _filled(schema, wanted)
            same.note(name, "" if result == wanted else f"wanted {wanted[:200]} got {result}"[:420])
    return held, same, other


def _filled(schema: CompiledSchema, text: str) -> str | None:
    (result,) = Engine(SteeredModel(), "low").fill([request(schema.form, text=text)])
    return result.record if isinstance(result, Filled) else None


def measure(suites: Path, sample: int | None = None) -> Report:
    """The report of all promises over this folder."""
    report, unsound = Report(), Count()
    cases = spread(real(suites), sample)
    kinds = {kind: spread(found, sample) for kind, found in groups(suites).items()}
    apart = [case for case in kinds["required"] if any(_remote(at) for at in references(case.schema))]
    exact = {kind: exactness([c for c in found if c not in apart], unsound) for kind, found in kinds.items()}
    elsewhere = exactness(apart, unsound)
    exactly, probed = exactness(cases, unsound), exactness(traps(suites), unsound)
    compiles, forms, compiled = compiling(cases)

    report.add("invalid instances refused, all suites", unsound)
    report.add("suite, required groups exact, without those that refer to something remote", exact["required"], 0.97)
    report.add("suite, `format` groups exact", exact["format"], 0.95)
    report.add("real schemas that compile", compiles, 0.98)
    report.add("real schemas exact", exactly, 0.98)
    report.add("traps exact", probed, 78 / 80)
    valid, states = any_step(compiled)
    report.add(f"reader: valid at each of {states:,} steps, random scores, also to an independent validator", valid)
    valid, states, too_large = any_step_of_a_text(compiled)
    report.add(f"language model: valid at each of {states:,} steps, random scores, also to that validator", valid)
    held, same, other = steered(compiled)
    report.add("scores peaked on a valid instance of the form: its canonical text", same)
    report.add("scores peaked on an invalid instance: another text, valid", other)
    report.say("mutants of automata, cuts and commits that tests catch", "`python scripts/mutants.py`", "90%")
    report.add("besides: suite, optional groups exact", exact["optional"], None)
    report.add("besides: groups that refer to something remote, exact", elsewhere, None)
    report.add("besides: real schemas with a form, or without any value", forms, None)
    report.add("besides: valid instances that the form holds", held, None)
    report.say("besides: schemas whose records have too many states for a language model", f"{too_large}")
    slots = sorted(len(schema.form.slots) for _, schema in compiled) or [0]
    report.say("besides: slots of a form, median / largest", f"{slots[len(slots) // 2]} / {slots[-1]}")
    return report


def _remote(reference: str) -> bool:
    """Whether a reference leads out of the schema, to a document that the standard does not publish itself."""
    return reference.startswith("http://localhost")


def main() -> int:
    """Prints the table; returns 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="?", type=Path, default=Path("../shared/suites"), help="folder of suites")
    parser.add_argument("--sample", type=int, metavar="N", help="about N groups and N real schemas")
    parser.add_argument("--details", action="store_true", help="name every deviation")
    parser.add_argument("--record", action="store_true", help="keep the promises' figures in bench/results/")
    options = parser.parse_args()
    if options.sample and options.record:
        parser.error("expected all schemas with --record, got --sample")
    if not options.suites.is_dir():
        parser.error(f"expected a folder of suites, got {options.suites}")
    report = measure(options.suites, options.sample)
    print("\n".join(report.table()))
    if options.details:
        for what, deviations in report.deviations.items():
            print(f"\n{what}:", *deviations, sep="\n- ")
    if options.record:
        record("schemas", "any JSON Schema", "python -m bench schema_report", report.rows(), precision="no model")
    return 0 if report.kept else 1


if __name__ == "__main__":
    sys.exit(main())
