"""Valid states of streamed answers: random weights under real schemas, many clients at once."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import torch

from bench.engine.figures import Figure, Settings
from bench.engine.validity import cases_of, other_validator
from bench.engine.workload import small_model
from bench.schema_suites import Case
from cinnabar.engine.chat.language_chat import LanguageChat, shared_language_engine
from cinnabar.engine.chat.requests import ChatRequest, Done, Event, FailedRequest, Message, State
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.language_model import LanguageModel
from cinnabar.engine.settings import EFFORTS
from cinnabar.errors import CinnabarError
from cinnabar.extraction.filling.records.validation import exact
from cinnabar.schemas import CompiledSchema, compile_schema
from cinnabar.schemas.automata.strings import parse

#: Clients at once, tokens of the model's window, tokens of an answer beyond a smallest record, seconds for one answer.
CLIENTS, WINDOW, BUDGET, PATIENCE = 32, 65_536, 100, 600
DOCUMENT = "No. R-77 of 14 March 2026: 3 apples at 2,00 each, to Ann Ross, 12 High Street; ann@example.org"


@dataclass(slots=True)
class Counts:
    """What was found.

    refused: schemas that are not enforced, each told so; long: those whose words do not fit into the window. answered:
    the others. states: their states and final answers, of which some are faulty.
    """

    refused: int = 0
    long: int = 0
    answered: int = 0
    states: int = 0
    faulty: int = 0
    faults: list[str] = field(default_factory=list)


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figure."""
    cases, counts = cases_of(settings), Counts()
    model = random_model(settings)
    chat = LanguageChat(model, shared_language_engine(model, model), "random", most=len(cases))
    begin = time.perf_counter()
    try:
        with ThreadPoolExecutor(CLIENTS) as clients:
            for found in clients.map(lambda at: tried(chat, at, cases[at]), range(len(cases))):
                count(found, counts)
    finally:
        chat.close()
    took = time.perf_counter() - begin
    said = f"{counts.states - counts.faulty:,} of {counts.states:,} states of {counts.answered} answers"
    faults = "".join(f"; {fault}" for fault in counts.faults[:3])
    yield Figure(
        f"valid states of streamed answers: random weights, {len(cases)} real schemas, all efforts, {CLIENTS} clients",
        "100%",
        f"{said} ({counts.refused} schemas refused, {counts.long} too long for the window), {took:.0f} s{faults}",
        not counts.faults and counts.answered > 0,
    )


def random_model(settings: Settings) -> LanguageModel:
    """A model of random weights with the small model's tokenizer; some of its decisions are sure, others are not."""
    like = small_model(settings)
    torch.manual_seed(settings.seed)
    traits = replace(like.traits, width=32, layers=2, heads=2, key_heads=2, head_width=16, inner=48)
    decoder = Decoder(replace(traits, window=WINDOW))
    decoder.lm_head.weight.data *= 4.0
    return LanguageModel(decoder.eval(), like.tokenizer, like.chat, "random", like.folder)


@dataclass(frozen=True, slots=True)
class Tried:
    """A schema, its answer, and the states before it; no schema if it cannot be compiled."""

    case: Case
    compiled: CompiledSchema | None
    states: list[str]
    end: Done | FailedRequest | None


def tried(chat: LanguageChat, at: int, case: Case) -> Tried:
    """Asks for a record of a schema."""
    try:
        compiled = compile_schema(case.schema)
        least = len(compiled.form.instance)
    except CinnabarError:
        return Tried(case, None, [], None)
    found: queue.Queue[Event] = queue.Queue()
    effort = EFFORTS[list(EFFORTS)[at % len(EFFORTS)]]
    chat.submit(
        ChatRequest(
            f"{at}", (Message("user", DOCUMENT),), schema=compiled, effort=effort, states=True,
            max_tokens=2 * least + BUDGET,
        ),
        found.put,
    )  # fmt: skip
    states: list[str] = []
    while isinstance(event := found.get(timeout=PATIENCE), State):
        states.append(event.text)
    return Tried(case, compiled, states, event)


def count(found: Tried, counts: Counts) -> None:
    """Adds what was found of one schema."""
    if found.compiled is None or (isinstance(found.end, FailedRequest) and found.end.code == "invalid_schema"):
        counts.refused += 1
        return
    if isinstance(found.end, FailedRequest) and found.end.code == "context_length_exceeded":
        counts.long += 1
        return
    counts.answered += isinstance(found.end, Done)
    if not isinstance(found.end, Done):
        counts.faults.append(f"{found.case.name}: {found.end}"[:300])
        return
    other = other_validator(found.case)
    for text in (*found.states, found.end.text):
        problem = ""
        if not found.compiled.accepts(text) or found.compiled.canonical(parse(text)) != text:
            problem = "refused by the judge"
        elif other is not None and not other.is_valid(exact(text)):
            problem = "refused by jsonschema-rs"
        counts.states += 1
        if problem:
            counts.faulty += 1
            counts.faults.append(f"{found.case.name}: {problem}: {text[:120]}")
