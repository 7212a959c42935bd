#!/usr/bin/env python3
"""Measures what is promised of any JSON Schema, over a folder of schema suites, as one Markdown table.

    PYTHONPATH=tests/engine:scripts .venv/bin/python scripts/schema_report.py ../shared/suites --sample 40

The folder has `json-schema-test-suite` (the standard's own, draft 2020-12) and `jsonschemabench` (real
schemas with instances); a folder `tools` beside it may have `schema_traps.py`, probes of what goes wrong.
`--sample` takes about so many groups of the suite and so many real schemas, spread over all of them. With
`--details` every deviation is named below the table. An exit status of 1 says that a promise is not kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema_rs
from random_model import RandomModel, SteeredModel, request
from schema_adapter import Adapter

from cinnabar.engine.engine import Engine
from cinnabar.engine.request import Filled
from cinnabar.schemas import CompiledSchema, compile_schema
from cinnabar.schemas.canonical import parse
from cinnabar.schemas.errors import CinnabarError, NotAccepted, NoValue

EFFORTS = ("instant", "low", "medium", "high")
#: Groups that need documents of other hosts, and those in which `format` is an annotation.
APART = ("refRemote.json", "format.json")
#: What may be refused, by the part of the message that says why: nothing is fetched from elsewhere, and a
#: pattern has to be regular.
REFUSED = ("and nothing is fetched", "expected the meta-schema of a draft", "a backreference is not regular")


@dataclass(slots=True)
class Case:
    """A schema and its labelled values."""

    name: str
    schema: Any
    tests: list[tuple[Any, bool]]


@dataclass(slots=True)
class Count:
    """How often something held, what it took, and where it did not hold."""

    tried: int = 0
    held: int = 0
    seconds: list[float] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)

    def note(self, name: str, problem: str = "", seconds: float | None = None) -> None:
        """One more; `problem` says why it did not hold."""
        self.tried += 1
        self.held += not problem
        if problem:
            self.deviations.append(f"{name}: {problem}")
        if seconds is not None:
            self.seconds.append(seconds)

    def __str__(self) -> str:
        return f"{self.held} of {self.tried}"

    @property
    def times(self) -> str:
        """p50, p95 and the longest, in ms."""
        found = sorted(self.seconds)
        if not found:
            return "-"
        ranks = (len(found) // 2, min(len(found) - 1, len(found) * 95 // 100), len(found) - 1)
        return " / ".join(f"{1000 * found[at]:.1f}" for at in ranks)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table; `kept` is None where nothing is promised."""

    what: str
    found: str
    wanted: str
    kept: bool | None = None


class Report:
    """The lines of the table, and all that deviates."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.deviations: dict[str, list[str]] = {}

    def add(self, what: str, count: Count, wanted: str = "all", kept: bool | None = None) -> None:
        """A line of a count; by default all of it has to hold."""
        holds = count.held == count.tried if kept is None and wanted == "all" else kept
        self.lines.append(Line(what, str(count), wanted, holds))
        if count.deviations:
            self.deviations[what] = count.deviations

    def say(self, what: str, found: str, wanted: str = "-", kept: bool | None = None) -> None:
        """A line of any text."""
        self.lines.append(Line(what, found, wanted, kept))

    @property
    def kept(self) -> bool:
        """Whether all promises are."""
        return all(line.kept is not False for line in self.lines)

    def table(self) -> Iterator[str]:
        """The table in Markdown."""
        yield "| what | found | wanted | |"
        yield "|---|---|---|---|"
        for line in self.lines:
            verdict = {True: "kept", False: "**not kept**", None: ""}[line.kept]
            yield f"| {line.what} | {line.found} | {line.wanted} | {verdict} |"


def groups(suites: Path) -> dict[str, list[Case]]:
    """The groups of the standard's suite: required, optional and formats."""
    folder = suites / "json-schema-test-suite" / "tests" / "draft2020-12"
    places = {
        "required": sorted(path for path in folder.glob("*.json") if path.name not in APART),
        "optional": sorted(folder.glob("optional/*.json")),
        "format": sorted(folder.glob("optional/format/*.json")),
    }
    return {
        kind: [
            Case(
                f"{path.stem}: {group['description']}",
                group["schema"],
                [(test["data"], bool(test["valid"])) for test in group["tests"]],
            )
            for path in paths
            for group in json.loads(path.read_text(encoding="utf-8"))
        ]
        for kind, paths in places.items()
    }


def real(suites: Path) -> list[Case]:
    """Real schemas, with the instances whose labels are agreed on."""
    folder = suites / "jsonschemabench"
    found: list[Case] = []
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        case = json.loads((folder / entry["file"]).read_text(encoding="utf-8"))
        doubted = set(entry.get("label_disagree", ()))
        tests = [(t["data"], bool(t["valid"])) for i, t in enumerate(case["tests"]) if i not in doubted]
        found.append(Case(Path(entry["file"]).stem, case["schema"], tests))
    return found


def spread(cases: Sequence[Case], wanted: int | None) -> list[Case]:
    """About so many cases, evenly from all of them."""
    step = 1 if wanted is None else max(1, len(cases) // wanted)
    return list(cases[::step])


def exactness(report: Report, title: str, cases: Sequence[Case]) -> None:
    """Whether exactly the values are accepted that are labelled valid."""
    count, refused = Count(), 0
    for case in cases:
        try:
            compiled = compile_schema(case.schema)
        except CinnabarError as problem:
            refused += any(reason in str(problem) for reason in REFUSED)
            count.note(case.name, f"refused: {problem}")
            continue
        wrong = [json.dumps(v)[:80] for v, ok in case.tests if compiled.accepts(json.dumps(v)) != ok]
        count.note(case.name, f"judged otherwise: {'; '.join(wrong)}" if wrong else "")
    also = f", {refused} refused for what is elsewhere" if refused else ""
    report.add(
        f"{title}: groups judged exactly{also}",
        count,
        "all but those",
        count.held + refused == count.tried,
    )


def compiling(report: Report, cases: Sequence[Case]) -> list[tuple[Case, CompiledSchema]]:
    """Compile the real schemas and lay out their forms."""
    compiles, forms, slots = Count(), Count(), list[int]()
    found: list[tuple[Case, CompiledSchema]] = []
    nothing = 0
    for case in cases:
        begin = time.perf_counter()
        try:
            compiled = compile_schema(case.schema)
        except CinnabarError as problem:
            compiles.note(case.name, str(problem))
            continue
        compiles.note(case.name, "", time.perf_counter() - begin)
        begin = time.perf_counter()
        try:
            slots.append(len(compiled.form.slots))
            forms.note(case.name, "", time.perf_counter() - begin)
            found.append((case, compiled))
        except CinnabarError as problem:
            nothing += isinstance(problem, NoValue)
            forms.note(case.name, str(problem), time.perf_counter() - begin)
    slots.sort()
    report.add("real schemas that compile", compiles, ">= 99 %", compiles.held >= 0.99 * compiles.tried)
    report.say("time to compile, ms p50 / p95 / max", compiles.times)
    report.add("compiled schemas with a form", forms, ">= 97 %", forms.held >= 0.97 * forms.tried)
    report.say("of those without one, no value is possible or was found", str(nothing))
    report.say("time to lay out a form, ms p50 / p95 / max", forms.times)
    if slots:
        report.say("slots of a form, p50 / max", f"{slots[len(slots) // 2]} / {slots[-1]}")
    return found


def probes(report: Report, suites: Path) -> None:
    """The traps, where they are at hand."""
    path = suites.parent / "tools" / "schema_traps.py"
    if not path.is_file():
        report.say("traps", "not at hand")
        return
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("schema_traps", path)
    assert spec is not None and spec.loader is not None
    traps = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(traps)
    adapter, count, refused = Adapter(), Count(), 0
    for name, schema, good, bad, _ in traps.P:
        try:
            compiled = adapter.compile(schema)
        except CinnabarError as problem:
            refused += any(reason in str(problem) for reason in REFUSED)
            count.note(name, f"refused: {problem}")
            continue
        wrong = [text[:60] for text in good if not compiled.accepts(text)]
        wrong += [text[:60] for text in bad if compiled.accepts(text)]
        count.note(name, "; ".join(wrong))
    kept = count.held + refused == count.tried
    report.add(
        f"traps judged exactly, {refused} refused for no regular pattern", count, "all but those", kept
    )


def independent(schema: Any) -> Callable[[Any], bool]:
    """Another validator's opinion; True where it has none."""
    try:
        validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    except ValueError:
        return lambda _: True
    return validator.is_valid


def any_step(report: Report, compiled: Sequence[tuple[Case, CompiledSchema]]) -> None:
    """Random scores, so that slots are committed in any order: what stands at each step is valid."""
    count, other, states = Count(), Count(), 0
    for at, (case, schema) in enumerate(compiled):
        agrees = independent(case.schema)
        seen: list[str] = []
        engine = Engine(RandomModel(at), EFFORTS[at % 4])
        begin = time.perf_counter()
        (result,) = engine.fill([request(schema.form, str(at))], lambda _, now, seen=seen: seen.extend(now))
        spent = time.perf_counter() - begin
        if not isinstance(result, Filled):
            count.note(case.name, f"{result.code}: {result.detail[:160]}", spent)
            continue
        seen.append(result.record)
        states += len(seen)
        wrong = [text for text in dict.fromkeys(seen) if not schema.accepts(text)]
        wrong += [f"{result.steps} steps"] if result.steps > engine.effort.steps + 2 else []
        count.note(case.name, f"not valid: {wrong[0][:160]}" if wrong else "", spent)
        doubted = [text for text in dict.fromkeys(seen) if not agrees(json.loads(text))]
        other.note(case.name, f"not valid to the other: {doubted[0][:160]}" if doubted else "")
    report.add(f"random scores: valid at each of {states} steps", count)
    report.add("the same by an independent validator", other)
    report.say("time to fill a record at random, ms p50 / p95 / max", count.times)


def present(value: Any) -> Any:
    """What a value holds, however it is written that there is nothing: as null, as `[]`, not at all."""
    if isinstance(value, dict):
        parts = {name: present(part) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part not in (None, [], {})}
    if not isinstance(value, list):
        return value
    items = [present(part) for part in value]
    while items and items[-1] in (None, [], {}):
        items.pop()
    return items


def steered(report: Report, compiled: Sequence[tuple[Case, CompiledSchema]]) -> None:
    """Scores peaked on the instances: the valid ones are written, of the others something that is allowed."""
    held, same, close, other = Count(), Count(), Count(), Count()
    for case, schema in compiled:
        for number, (value, valid) in enumerate(case.tests):
            name, text = f"{case.name} {number}", json.dumps(value)
            if not valid:
                result, spent = _fill(schema, text)
                allowed = result is not None and schema.accepts(result)
                other.note(name, "" if allowed else f"{result}"[:160], spent)
                continue
            try:
                wanted = schema.canonical(parse(text))
            except NotAccepted as problem:
                held.note(name, str(problem))
                continue
            held.note(name)
            result, spent = _fill(schema, text)
            same.note(name, "" if result == wanted else f"got {result}"[:200], spent)
            near = result is not None and present(parse(result)) == present(parse(wanted))
            close.note(name, "" if near else f"wanted {wanted[:200]} got {result}"[:420])
    report.add("valid instances that the form holds", held, "-")
    report.add("scores peaked on them: written as they are", same, "-")
    report.add("the same, but for how absence is written", close, ">= 98 %", close.held >= 0.98 * close.tried)
    report.say("time to fill, ms p50 / p95 / max", same.times)
    report.add("scores peaked on invalid instances: a valid record", other)
    report.say("time to fill, ms p50 / p95 / max", other.times)


def _fill(schema: CompiledSchema, text: str) -> tuple[str | None, float]:
    begin = time.perf_counter()
    (result,) = Engine(SteeredModel("copy"), "low").fill([request(schema.form, text=text)])
    return result.record if isinstance(result, Filled) else None, time.perf_counter() - begin


def measure(suites: Path, sample: int | None = None) -> Report:
    """Everything that is promised, over this folder."""
    report = Report()
    for kind, cases in groups(suites).items():
        exactness(report, f"suite, {kind}", spread(cases, sample))
    cases = spread(real(suites), sample)
    exactness(report, "real schemas", cases)
    probes(report, suites)
    compiled = compiling(report, cases)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report.say(
        "peak memory when all are compiled, MB", f"{memory / 1024:.0f}", "< 1000", memory < 1000 * 1024
    )
    any_step(report, compiled)
    steered(report, compiled)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report.say("peak memory in the end, MB", f"{memory / 1024:.0f}")
    return report


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "suites", nargs="?", type=Path, default=Path("../shared/suites"), help="folder of suites"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="about N groups and N real schemas")
    parser.add_argument("--details", action="store_true", help="name every deviation")
    options = parser.parse_args()
    if not options.suites.is_dir():
        parser.error(f"expected a folder of suites, got {options.suites}")
    report = measure(options.suites, options.sample)
    print("\n".join(report.table()))
    if options.details:
        for what, deviations in report.deviations.items():
            print(f"\n{what}:", *deviations, sep="\n- ")
    return 0 if report.kept else 1


if __name__ == "__main__":
    sys.exit(main())
