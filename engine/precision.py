"""The precision of a model's matrix products: a setting, and a part of every record's key.

The environment variable `CINNABAR_PRECISION` sets it. The default is float32 on every machine, so that the same
documents give the same records everywhere. bfloat16 reads 1.7 times as fast on a processor with AVX512-BF16 (11 sets,
171 documents, 6 of 2,846 values differ), but on a processor with AMX it was slower and lost .023 of F1 on data/samples
and .04 on unseen kinds of documents. The loss comes from the encoder's states: with pointers and scores in float32 as
many values change.
"""

from __future__ import annotations

import hashlib
import os
from typing import Literal, cast, get_args

from cinnabar.schemas.errors import UsageError

#: With `int8` and `int4` the weights of a language model are whole numbers, and all else is in bfloat16.
Precision = Literal["float32", "bfloat16", "int8", "int4"]
#: The precision without any setting.
DEFAULT: Precision = "float32"
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


def language_precision() -> Precision:
    """Returns the precision of language models: the one that the environment sets, else float32."""
    return precision_asked() or DEFAULT


def reading_precision() -> Precision:
    """Returns the precision of the reader: the one that the environment sets, else float32.

    It is small, so its weights are never whole numbers, and beside a language model of these it stays as it is.
    """
    asked = language_precision()
    return DEFAULT if asked in ("int8", "int4") else asked


def in_precision(model: str, precision: Precision) -> str:
    """Returns the fingerprint of a model in this precision: its own one for the default precision."""
    if precision == DEFAULT:
        return model
    return hashlib.sha256(f"{model} {precision}".encode()).hexdigest()[:16]
