"""A language model by its folder: decoder, tokenizer and fingerprint, and the chat template that makes its prompts.

A template is a program of the checkpoint, so Jinja2's sandbox runs it, in a process with limits, and it never sees what
the messages say: it is rendered with a placeholder for each content. Its own text may spell special tokens; a content
is always plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from cinnabar.engine.models.backend import device_of
from cinnabar.engine.models.language.checkpoint import load_decoder
from cinnabar.engine.models.language.configuration import language_precision
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder
from cinnabar.engine.models.language.identity import precise_fingerprint
from cinnabar.engine.models.language.rendering import RenderingError, render_template
from cinnabar.engine.models.language.tokenizer import AddedToken, Tokenizer, TokenizerFile, tokenizer_settings
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import Precision
from cinnabar.errors import ModelError

#: A message has `role` and `content`. A content in several parts is encoded part by part, so that the tokens of its
#: first parts do not depend on the others.
Message = Mapping[str, str | Sequence[str]]

_PLACEHOLDER = re.compile("\ue000([0-9]+)\ue001")


class Template:
    """A chat template, without a tokenizer."""

    def __init__(self, source: str, path: Path, variables: Mapping[str, Any]) -> None:
        """`variables` are those that the template may use besides the messages."""
        self.source, self.path, self._variables = source, path, dict(variables)

    def pieces(self, roles: Sequence[str], answer_begins: bool = True) -> list[str | int]:
        """Returns the prompt of messages with these roles: the template's texts, and the numbers of the messages.

        With `answer_begins` the prompt ends with the beginning of the answer. Raises ModelError if the template is
        broken or fails, or if it leaves out a message that is not the system's.
        """
        messages = [{"role": role, "content": f"\ue000{place}\ue001"} for place, role in enumerate(roles)]
        try:
            made = render_template(self.source, self._variables, messages, answer_begins)
        except RenderingError as error:
            if error.broken:
                advice = "take that of the release"
                raise ModelError(f"{self.path}: the chat template is broken: {error}; {advice}") from error
            raise ModelError(
                f"{self.path}: the chat template fails on messages of {', '.join(roles)}: {error}; take the template"
                " of an instruct or chat release"
            ) from error
        parts = _PLACEHOLDER.split(made)
        met = parts[1::2]
        # Models that were trained without instructions leave those of the system out.
        needed = {str(place) for place, role in enumerate(roles) if role != "system"}
        if len(set(met)) < len(met) or not needed <= set(met) <= {str(place) for place in range(len(roles))}:
            raise ModelError(
                f"{self.path}: the chat template leaves out or repeats a message of {', '.join(roles)}; take the"
                " template of an instruct or chat release"
            )
        return [int(part) if place % 2 else part for place, part in enumerate(parts)]

    def end_of_turn(self, names: Sequence[str]) -> str | None:
        """Returns the special token behind an answer, one of these names; None if the template writes none there."""
        behind = self.pieces(("user", "assistant"), answer_begins=False)[-1]
        met = _any_of(names).search(str(behind))
        return met[0] if met else None


class ChatTemplate:
    """The chat template of a checkpoint with its tokenizer."""

    def __init__(self, template: Template, tokenizer: Tokenizer) -> None:
        self._template, self._tokenizer = template, tokenizer
        self._added = _any_of(list(tokenizer.added))

    @cached_property
    def has_system(self) -> bool:
        """Whether the template writes the message of the system."""
        return 0 in self._template.pieces(("system", "user"))

    def render(self, messages: Sequence[Message]) -> list[int]:
        """Returns the tokens of the prompt up to the place at which the answer begins."""
        pieces = self._template.pieces([str(message["role"]) for message in messages])
        tokens: list[int] = []
        run = ""
        for piece in pieces:
            if isinstance(piece, str):
                for text, special in self._cut(piece):
                    run += text
                    if special is not None:
                        tokens += [*self._tokenizer.encode_run(run), special.id] if run else [special.id]
                        run = ""
                continue
            content = messages[piece]["content"]
            parts = [content] if isinstance(content, str) else list(content)
            for place, part in enumerate(parts):
                if place:
                    tokens += self._tokenizer.encode_run(run) if run else []
                    run = ""
                run += part
        return tokens + self._tokenizer.encode_run(run) if run else tokens

    def _cut(self, text: str) -> list[tuple[str, AddedToken | None]]:
        """Returns a template's text as stretches of plain text, each with the special token behind it."""
        cut: list[tuple[str, AddedToken | None]] = []
        begin, strip = 0, False
        for met in self._added.finditer(text):
            token = self._tokenizer.added[met[0]]
            plain = text[begin : met.start()]
            plain = plain.lstrip() if strip else plain
            cut.append((plain.rstrip() if token.lstrip else plain, token))
            begin, strip = met.end(), token.rstrip
        rest = text[begin:]
        return [*cut, (rest.lstrip() if strip else rest, None)]


def load_template(folder: Path, variables: Mapping[str, Any]) -> Template:
    """Returns the chat template of a checkpoint's folder: chat_template.jinja, or a key of tokenizer_config.json.

    Raises ModelError if there is none, or if it is broken.
    """
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            return Template(path.read_text(encoding="utf-8"), path, variables)
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError(f"{path}: cannot be read: {error}") from error
    settings = tokenizer_settings(folder)
    template = settings.values.get("chat_template")
    if isinstance(template, list):
        named = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
        template = named.get("default")
    if not isinstance(template, str):
        raise ModelError(
            f"{folder}: expected chat_template.jinja, or `chat_template` in tokenizer_config.json; a base model has"
            " none, so take an instruct or chat release"
        )
    return Template(template, settings.path, variables)


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    """Matches any of these names, the longest first; with no name it matches nothing."""
    ordered = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    return re.compile("|".join(ordered) if ordered else r"(?!)")


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A language model that is ready to run."""

    decoder: Decoder
    tokenizer: Tokenizer
    chat: ChatTemplate
    fingerprint: str
    folder: Path

    @property
    def traits(self) -> Traits:
        """The traits of the decoder."""
        return self.decoder.traits


def load_language_model(
    folder: str | Path, device: str = "auto", precision: Precision | None = None
) -> LanguageModel:
    """Returns the language model of a folder in Hugging Face form, on this device.

    Without a `precision` it has the one of language models (engine/settings.py). Raises UsageError if the folder is
    none, and ModelError if something in it is missing, odd or too large; texts are checked before weights are read.
    """
    path = checkpoint_folder(folder).resolve()
    reading = precision or language_precision(path)
    return _load(path, device, reading, precise_fingerprint(path, reading))


@lru_cache(maxsize=2)
def _load(folder: Path, device: str, precision: Precision, _: str) -> LanguageModel:
    # Files that changed have another fingerprint.
    on = device_of(device)
    traits, tokenizer, chat = load_texts(folder)
    decoder = load_decoder(folder, traits, on, precision)
    return LanguageModel(decoder, tokenizer, chat, precise_fingerprint(folder, precision), folder)


def load_texts(folder: Path) -> tuple[Traits, Tokenizer, ChatTemplate]:
    """Returns all of a checkpoint but its weights: the traits with the mask token, the tokenizer, the chat template.

    Raises ModelError if the template cannot render a system and a user message.
    """
    family, traits = read_family(folder)
    file = TokenizerFile(folder)
    template = load_template(folder, file.names | dict(family.template))
    template.pieces(("system", "user"))
    mask = file.mask(traits.mask) if traits.noise == "mask" else None
    tokenizer = Tokenizer(file, traits.vocabulary, template.end_of_turn(list(file.added)), mask)
    return replace(traits, mask=mask), tokenizer, ChatTemplate(template, tokenizer)
