"""A language model by its folder: decoder, tokenizer, chat template and fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from cinnabar.engine.backend import device_of
from cinnabar.engine.models.language.adapter import FIELDS
from cinnabar.engine.models.language.chat import ChatTemplate, load_template
from cinnabar.engine.models.language.checkpoint import load_decoder
from cinnabar.engine.models.language.configuration import language_precision
from cinnabar.engine.models.language.decoder import Decoder
from cinnabar.engine.models.language.families import read_family
from cinnabar.engine.models.language.gguf_folder import checkpoint_folder
from cinnabar.engine.models.language.identity import precise_fingerprint
from cinnabar.engine.models.language.tokenizer import Tokenizer, TokenizerFile
from cinnabar.engine.models.language.traits import Traits
from cinnabar.engine.settings import Precision


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
    folder: str | Path, device: str = "auto", precision: Precision | None = None, fields: bool = True
) -> LanguageModel:
    """Returns the language model of a folder in Hugging Face form, on this device.

    fields: with the adapter for filling fields, if its folder has one; chats and code go without. Without a `precision`
    it has the one of language models (engine/settings.py). Raises UsageError if the folder is none, and ModelError if
    something in it is missing, odd or too large; texts are checked before weights are read.
    """
    path = checkpoint_folder(folder).resolve()
    reading = precision or language_precision(path)
    adapter = path / FIELDS if fields and (path / FIELDS).is_dir() else None
    return _load(path, device, reading, precise_fingerprint(path, reading), adapter)


@lru_cache(maxsize=2)
def _load(folder: Path, device: str, precision: Precision, _: str, adapter: Path | None) -> LanguageModel:
    # Files that changed have another fingerprint.
    return fresh_language_model(folder, device, precision, adapter)


def fresh_language_model(folder: Path, device: str, precision: Precision, adapter: Path | None = None) -> LanguageModel:
    """Returns a language model that nobody else has, to train it; see `load_language_model`."""
    on = device_of(device)
    traits, tokenizer, chat = load_texts(folder)
    decoder = load_decoder(folder, traits, on, precision, adapter)
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
