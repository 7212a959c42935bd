"""Generated pages as tasks of the denoiser, and a denoiser whose prefill is timed apart."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from training.diffusion.pages import Page, Pages

from bench.engine.figures import Settings, clock
from cinnabar.engine.diffusion.contexts import PagedContext
from cinnabar.engine.diffusion.decoded import Decoded, Undecoded
from cinnabar.engine.diffusion.denoiser import Denoiser
from cinnabar.engine.diffusion.kept_graphs import kept_graph
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.engine.models.language.passes import Piece
from cinnabar.extraction.learning.evaluation import score
from cinnabar.schemas import CompiledSchema, compile_schema
from cinnabar.schemas.automata.canonical import parse

#: The most tokens of an answer, for each slot of its form.
SLOT = 40


def small_model(settings: Settings) -> LanguageModel:
    """The trained small model."""
    return load_language_model(settings.model, "cpu")


def held_back_pages(settings: Settings, count: int, asked: int | None = None) -> list[Page]:
    """Pages that training never sees; `asked` is the number of fields of each."""
    rng, pages = random.Random(settings.seed), Pages(held_back=True)
    return [pages.labelled(rng, asked) for _ in range(settings.some(count))]


@dataclass(frozen=True, slots=True)
class Work:
    """A page as a task of a model."""

    page: Page
    compiled: CompiledSchema
    task: Task

    def accepts(self, text: bytes) -> bool:
        """Whether a text is a valid record of the page's schema."""
        try:
            return self.compiled.accepts(text.decode())
        except UnicodeDecodeError:
            return False


def work_of(model: LanguageModel, page: Page) -> Work:
    """The task of writing a page's record."""
    compiled = compile_schema(page.schema)
    form, tokenizer = compiled.form, model.tokenizer

    def judge(text: bytes) -> bool:
        return form.judge is None or form.judge.accepts(parse(text.decode()))

    task = Task(
        prompt=model.chat.render(messages(form, {}, page.text)),
        graph=kept_graph(form, tokenizer),
        budget=SLOT * len(form.slots),
        judge=judge,
        minimal=json.dumps(parse(form.instance), ensure_ascii=False).encode(),
    )
    return Work(page, compiled, task)


class TimedDenoiser(Denoiser):
    """A denoiser that counts the seconds of reading prompts, and of all that follows.

    A pass that reads both is shared out by tokens.
    """

    prefill = decoding = 0.0

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        assert isinstance(self._context, PagedContext)
        passes, usual = self._context.passes, 2 * self.block + 1

        def read(pieces: Sequence[Piece]) -> torch.Tensor:
            begin = clock()
            made = passes(pieces)
            sizes = [len(piece.tokens) for piece in pieces]
            prompts = sum(
                size - self.block * (piece.opened is not None)
                for size, piece in zip(sizes, pieces, strict=True)
                if size > usual
            )
            self.prefill += (clock() - begin) * prompts / sum(sizes)
            return made

        self._context.passes = read

    def decode(self, tasks: Sequence[Task], *args: Any, **named: Any) -> list[Decoded | Undecoded]:
        """See `Denoiser.decode`."""
        before, begin = self.prefill, clock()
        found = super().decode(tasks, *args, **named)
        self.decoding += clock() - begin - (self.prefill - before)
        return found


def value_f1(pages: Sequence[Page], records: Sequence[Any]) -> float:
    """F1 of the values of these records of pages by the project's own scoring; None counts as one without values."""
    truths = [{"file": str(at), "truth": page.record} for at, page in enumerate(pages)]
    figures = score(truths, {str(at): {"record": record} for at, record in enumerate(records)})
    return float(figures["f1"])


def record_of(text: bytes) -> Any:
    """The record of a text, None if it is no JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
