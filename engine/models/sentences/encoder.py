"""The sentence encoder all-MiniLM-L6-v2 as it was published (arXiv 2002.10957, 1908.10084), frozen.

The reader's encoder began with these layers and was trained to point at values; what it knew of the meaning of whole
sentences went. So the published layers are kept beside it, in int8. The word embeddings are those of the reader, which
never changed.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from cinnabar.engine.models.identity import SHIPPED, about
from cinnabar.engine.models.int8_matmul import Int8Linear, supports_int8, use_integer_products
from cinnabar.engine.models.mapped_weights import WithoutDrawing, mapped_module
from cinnabar.engine.models.reader.inputs.wordpieces import CLS_ID, SEP_ID, WordPieces
from cinnabar.engine.models.reader.network.encoder import Encoder
from cinnabar.engine.models.weights import check_files, checked_tensors, restore
from cinnabar.engine.settings import Precision, reading_precision
from cinnabar.engine.work_time import check_time
from cinnabar.errors import ModelError

Vectors = npt.NDArray[np.float32]

FOLDER = Path(__file__).parents[2] / "weights" / "sentences"
#: The sizes of the published model: pieces of a text (the rest is not read), values of a vector.
PIECES, WIDTH = 256, 384
#: Vocabulary, width, layers, heads, inner width and positions of its encoder.
SIZES = (30522, WIDTH, 6, 12, 1536, 512)
#: The weights of `Encoder` that it does not have: the features that word pieces lose.
FEATURES = ("case.", "gap.", "x.", "y.")
#: Places of one batch, padding included; texts of like length share a batch.
_PLACES = 7680
#: With products of integers texts are padded to a multiple of so many pieces, so that few lengths are apart.
_MULTIPLE = 64
#: Texts whose vectors are kept, 30 MB in all.
_KEPT = 20_000


class SentenceEncoder:
    """Turns texts into unit vectors; the cosine of two vectors says how alike the texts are in meaning.

    `fingerprint` is the hash of the weights. In int8 a text has the same vector in every batch; in other precisions
    vectors may differ by 1e-6 between batches.
    """

    def __init__(self, encoder: Encoder, wordpieces: WordPieces, fingerprint: str, precision: Precision) -> None:
        self.fingerprint = fingerprint
        encoder = encoder.eval().requires_grad_(False)
        self._encoder = use_integer_products(encoder) if precision == "int8" else encoder
        self._integers = any(isinstance(module, Int8Linear) for module in self._encoder.modules())
        self._wordpieces = wordpieces
        self._bfloat16 = precision == "bfloat16"
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns the vectors of these texts: [N, 384] float32. Of a long text the first 254 pieces are read."""
        # A server prepares a form in one thread while another reads documents.
        with self._lock:
            known = {text: self._kept[text] for text in dict.fromkeys(texts) if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        known |= zip(missing, self._vectors(missing), strict=True)
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        with self._lock:
            for row, text in enumerate(texts):
                vectors[row] = self._kept[text] = known[text]
                self._kept.move_to_end(text)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return vectors

    @torch.inference_mode()
    def _vectors(self, texts: Sequence[str]) -> list[Vectors]:
        ids = [(CLS_ID, *self._wordpieces.ids(text)[: PIECES - 2], SEP_ID) for text in texts]
        vectors: list[Vectors] = [np.zeros(WIDTH, np.float32)] * len(ids)
        for rows, width in self._batches([len(own) for own in ids]):
            check_time()
            for row, vector in zip(rows, self._batch([ids[row] for row in rows], width), strict=True):
                vectors[row] = vector
        return vectors

    def _batches(self, lengths: Sequence[int]) -> Iterator[tuple[list[int], int]]:
        """Yields the texts that are read together, and the pieces that they are padded to.

        With products of integers that width depends on the text alone, and so does its vector.
        """
        order = sorted(range(len(lengths)), key=lambda at: lengths[at])
        multiple = _MULTIPLE if self._integers else 1
        while order:
            # From the longest down, so that a batch's first text has its width.
            width = -(-lengths[order[-1]] // multiple) * multiple
            rows = order[-max(1, _PLACES // width) :]
            rows = [row for row in rows if not self._integers or lengths[row] > width - multiple]
            del order[-len(rows) :]
            yield rows, width

    def _batch(self, ids: Sequence[tuple[int, ...]], width: int) -> Vectors:
        pieces, held = np.zeros((len(ids), width), np.int64), np.zeros((len(ids), width), bool)
        for row, own in enumerate(ids):
            pieces[row, : len(own)], held[row, : len(own)] = own, True
        padded, mask = torch.from_numpy(pieces), torch.from_numpy(held)
        with torch.autocast("cpu", torch.bfloat16, enabled=self._bfloat16):
            states = self._encoder(padded, mask)
        every = mask.unsqueeze(-1)
        mean = (states.float() * every).sum(1) / every.sum(1)
        vectors: Vectors = torch.nn.functional.normalize(mean, dim=-1).numpy()
        return vectors


def load_sentence_encoder(precision: Precision | None = None) -> SentenceEncoder:
    """Returns the sentence encoder on the CPU; it is loaded once.

    Without a `precision` it has the one for reading (engine/settings.py). Raises ModelError for an altered file.
    """
    return _load(precision or reading_precision())


@lru_cache(maxsize=2)
def _load(precision: Precision) -> SentenceEncoder:
    files = json.loads((FOLDER / "model.json").read_text(encoding="utf-8"))["files"]
    words = {"words.safetensors": about(SHIPPED)["files"]["words.safetensors"]}
    check_files(FOLDER, files)
    check_files(SHIPPED, words)
    integers = precision == "int8" and supports_int8(torch.device("cpu"))
    encoder = mapped_module((files, words), integers, lambda: Encoder(*SIZES), lambda: _encoder(files, words))
    return SentenceEncoder(encoder, WordPieces(SHIPPED / "vocab.txt"), _fingerprint(files), precision)


def _encoder(files: dict[str, str], words: dict[str, str]) -> Encoder:
    held = restore(checked_tensors(FOLDER, files) | checked_tensors(SHIPPED, words))
    with WithoutDrawing():
        encoder = Encoder(*SIZES)
    weights = {k.removeprefix("encoder."): v for k, v in held.items()}
    missing = encoder.load_state_dict(weights, strict=False, assign=True)
    if missing.unexpected_keys or not all(key.startswith(FEATURES) for key in missing.missing_keys):
        raise ModelError(f"{FOLDER}: the weights do not fit this version: {missing}")
    # The features of places on a page are not the published model's, so they are zero.
    for key in missing.missing_keys:
        encoder.get_parameter(key).data.zero_()
    return encoder


def _fingerprint(files: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
