"""Generated pages as tasks of the denoiser."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from training.diffusion.pages import Page, Pages

from bench.engine.figures import Settings
from cinnabar.engine.diffusion.graph_cache import cached_graph
from cinnabar.engine.diffusion.prompt import messages
from cinnabar.engine.diffusion.sequences import Task
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model
from cinnabar.schemas import CompiledSchema, compile_schema
from cinnabar.schemas.automata.strings import parse

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
        graph=cached_graph(form, tokenizer),
        budget=SLOT * len(form.slots),
        judge=judge,
        minimal=json.dumps(parse(form.instance), ensure_ascii=False).encode(),
    )
    return Work(page, compiled, task)
