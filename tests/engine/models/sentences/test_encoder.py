"""The frozen sentence encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.effort import examples

from cinnabar.engine.models.sentences import encoder as encoding
from cinnabar.engine.models.sentences.encoder import WIDTH, load_sentence_encoder
from cinnabar.errors import ModelError

TEXTS = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "I would like to cancel my hotel booking.",
    "cancel_reservation: the guest wants to cancel a room",
]
#: Cosines of these texts by the published weights in float32 (transformers 5.23, 22 November 2026).
PUBLISHED = np.array([[1.0, 0.755, -0.105, 0.002, 0.096], [0.002, 0.006, -0.055, 1.0, 0.637]])


def test_vectors_are_near_to_those_of_the_published_model() -> None:
    vectors = load_sentence_encoder("float32").embed(TEXTS)
    np.testing.assert_allclose(vectors[[0, 3]] @ vectors.T, PUBLISHED, atol=0.01)


@examples(20)
@given(st.lists(st.text(max_size=400), max_size=8), st.integers(1, 5))
def test_a_text_has_the_same_unit_vector_alone_and_among_others(texts: list[str], places: int) -> None:
    encoder = load_sentence_encoder("float32")
    encoder._kept.clear()
    together = encoder.embed(texts)
    assert together.shape == (len(texts), WIDTH)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        encoder._kept.clear()
        np.testing.assert_allclose(encoder.embed([text])[0], vector, atol=1e-4)
        np.testing.assert_array_equal(encoder.embed([text] * places)[-1], encoder.embed([text])[0])


def test_a_long_text_is_read_to_its_limit() -> None:
    encoder = load_sentence_encoder("float32")
    one, other = encoder.embed(["word " * 300, "word " * 300 + "something else"])
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_an_altered_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.json").write_bytes((encoding.FOLDER / "model.json").read_bytes())
    (tmp_path / "layers.safetensors").write_bytes(b"0")
    monkeypatch.setattr(encoding, "FOLDER", tmp_path)
    with pytest.raises(ModelError, match=r"layers\.safetensors: expected SHA-256"):
        encoding._load.__wrapped__("float32")


def test_in_integers_a_text_has_the_same_vector_to_the_bit_in_every_batch() -> None:
    encoder = load_sentence_encoder("int8")
    texts = [*TEXTS, "word " * 70, "word " * 90 + "something else", "", "a " * 300]
    encoder._kept.clear()
    together = encoder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        encoder._kept.clear()
        # Processors without exact products of integers read in floats (engine/models/int8_matmul.py).
        np.testing.assert_allclose(encoder.embed([text])[0], vector, rtol=0, atol=0 if encoder._integers else 1e-6)
