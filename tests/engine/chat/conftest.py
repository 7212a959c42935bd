"""A tiny model for these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.chat_clients import serving, tiny

from cinnabar.engine.chat.language_chat import LanguageChat
from cinnabar.engine.models.language.language_model import LanguageModel


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """A model that reads and writes in blocks of eight tokens."""
    return tiny(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def chat(model: LanguageModel) -> Iterator[LanguageChat]:
    """This model behind a server."""
    with serving(model) as made:
        yield made
