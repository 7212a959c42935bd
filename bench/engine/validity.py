"""Valid records and valid states at every step: random weights under real schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import jsonschema_rs
import torch

from bench.engine.figures import Figure, Settings
from bench.engine.workload import small_model
from bench.schema_suites import Case, real, spread
from cinnabar.engine.diffusion.decoded import Decoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.graph_cache import cached_graph
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.tokenizer import Tokenizer
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import EFFORTS
from cinnabar.errors import CinnabarError, TooLarge
from cinnabar.extraction.filling.records.validation import ECMA_PATTERN, EcmaPattern, exact, translate
from cinnabar.schemas import CompiledSchema, compile_schema, load_schema
from cinnabar.schemas.automata.strings import parse
from cinnabar.schemas.library import LIBRARY

SCHEMAS = 200
#: Tokens of an answer beyond its smallest record, and tokens of the prompt.
BUDGET, PROMPT = 100, 8


@dataclass(slots=True)
class Counts:
    """What was found: schemas refused for their size, schemas without any record, decoded ones, states, faults."""

    refused: int = 0
    empty: int = 0
    decoded: int = 0
    states: int = 0
    fallen_back: int = 0
    faults: list[str] = field(default_factory=list)
    faulty: int = 0


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figure."""
    model = small_model(settings)
    cases = cases_of(settings)
    counts = Counts()
    for at, case in enumerate(cases):
        try_case(case, list(EFFORTS)[at % len(EFFORTS)], model.traits, model.tokenizer, settings.seed + at, counts)
    shares = f"{counts.decoded - counts.faulty} of {counts.decoded} schemas, {counts.states:,} states"
    apart = f"{counts.refused} refused as too large, {counts.empty} without any record"
    said = f"; {counts.fallen_back} records replaced by an earlier state that the judge accepts"
    faults = "".join(f"; {fault}" for fault in counts.faults[:3])
    yield Figure(
        f"valid records and valid states at any step: random weights under {len(cases)} real schemas, all efforts",
        "100%",
        f"{shares} ({apart}){said}{faults}",
        not counts.faulty and counts.decoded > 0,
    )


def cases_of(settings: Settings) -> list[Case]:
    """The real schemas of the suites, or those of the library where there are none."""
    if (settings.suites / "jsonschemabench").is_dir():
        return spread(real(settings.suites), settings.some(SCHEMAS))
    return [Case(name, load_schema(name).schema, []) for name in LIBRARY]


def try_case(case: Case, effort: str, like: Traits, tokenizer: Tokenizer, seed: int, counts: Counts) -> None:
    """Decodes a record of a schema with random weights and judges all states that are shown."""
    try:
        compiled = compile_schema(case.schema)
        graph = cached_graph(compiled.form, tokenizer)
    except TooLarge:
        counts.refused += 1
        return
    except CinnabarError:
        counts.empty += 1
        return
    form = compiled.form

    def accepted(text: bytes) -> bool:
        try:
            return form.judge is None or form.judge.accepts(parse(text.decode()))
        except ValueError:
            # A name twice.
            return False

    torch.manual_seed(seed)
    decoder = Decoder(replace(like, width=32, layers=2, heads=2, key_heads=2, head_width=16, inner=48))
    # Weights of this size make some decisions sure, so that tokens are committed in any order.
    decoder.lm_head.weight.data *= 4.0
    task = Task(
        prompt=torch.randint(0, like.vocabulary, (PROMPT,)).tolist(),
        graph=graph,
        budget=int(graph.distance[0]) + BUDGET,
        judge=accepted,
        minimal=json.dumps(parse(form.instance), ensure_ascii=False).encode(),
    )
    shown: dict[bytes, None] = {}
    (found,) = Denoiser(decoder.eval(), tokenizer, effort).decode([task], lambda _, states: shown.setdefault(states[0]))
    counts.decoded += 1
    counts.states += len(shown)
    problem = _problem(compiled, case, found, list(shown))
    if problem:
        counts.faulty += 1
        counts.faults.append(f"{case.name}: {problem}")
    elif isinstance(found, Decoded):
        counts.fallen_back += not found.accepted


def _problem(compiled: CompiledSchema, case: Case, found: object, shown: list[bytes]) -> str:
    """The first fault of a result and of the states before it; empty if there is none."""
    if not isinstance(found, Decoded):
        return str(found)
    try:
        texts = [text.decode() for text in (*shown, found.text)]
    except UnicodeDecodeError as error:
        return f"no UTF-8: {error.object[:120]!r}"
    return first_refused(compiled, case, texts)


def first_refused(compiled: CompiledSchema, case: Case, texts: Iterable[str]) -> str:
    """The first of these records that a validator refuses, and which one; empty if there is none."""
    other = other_validator(case)
    for said in texts:
        if not compiled.accepts(said):
            return f"refused by the judge: {said[:120]}"
        if other is not None and not other.is_valid(exact(said)):
            return f"refused by jsonschema-rs: {said[:120]}"
    return ""


def other_validator(case: Case) -> jsonschema_rs.Validator | None:
    """The independent validator; None where it cannot read the schema."""
    named = isinstance(case.schema, dict) and "$schema" in case.schema
    try:
        return jsonschema_rs.validator_for(
            translate(case.schema, not named)[0], validate_formats=True, keywords={ECMA_PATTERN: EcmaPattern}
        )
    except ValueError:
        return None
