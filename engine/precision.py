"""The precision of a model's matrix products: a setting, and a part of every record's key.

The environment variable `CINNABAR_PRECISION` sets it. `int8`, the default of the reader, computes in integers
(engine/models/int8_matmul.py) where the processor has fast and exact products of these, and in float32 elsewhere.
The two agree to .0002 of the encoder's states, so both have the same records and the same key. bfloat16 is as fast on a
processor with AVX512-BF16 (11 sets, 171 documents, 6 of 2,846 values differ), but on a processor with AMX it was slower
and lost .023 of F1 on data/samples and .04 on unseen kinds of documents. The loss comes from the encoder's states: with
pointers and scores in float32 as many values change. Language models have float32 unless another precision is asked
for, or their folder states one (`"precision"` in config.json). In `int8` their matrices are rounded to 8 bits with a
scale for each output, which changes values, on every machine alike. `w8a16`, `w4a16` and `fp8` are theirs alone: their
weights are whole numbers of 8 or 4 bits, or floats of 8, and all else is in bfloat16.
"""

from __future__ import annotations

import hashlib
import os
from typing import Literal, cast, get_args

from cinnabar.schemas.errors import UsageError

Precision = Literal["int8", "float32", "bfloat16", "w8a16", "w4a16", "fp8"]
#: The precision of the reader without any setting.
DEFAULT: Precision = "int8"
#: The environment variable that sets another one.
VARIABLE = "CINNABAR_PRECISION"


def precision_asked() -> Precision | None:
    """Returns the precision that the environment sets, None if it sets none. Raises UsageError for an unknown one."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if named not in get_args(Precision):
        raise UsageError(f"{VARIABLE}={named}: expected one of {', '.join(get_args(Precision))}")
    return cast(Precision, named)


def reading_precision() -> Precision:
    """Returns the precision of the reader: the one that the environment sets for it, else int8."""
    asked = precision_asked()
    return DEFAULT if asked in (None, "w8a16", "w4a16", "fp8") else asked


def in_precision(model: str, precision: Precision, same: Precision = "int8") -> str:
    """Returns the fingerprint of a model in this precision: its own one for float32, and for the `same` as float32."""
    if precision in (same, "float32"):
        return model
    return hashlib.sha256(f"{model} {precision}".encode()).hexdigest()[:16]
