"""The precision in which a model computes: a setting, and a part of every record's key.

`CINNABAR_PRECISION` names it. The default is float32 on every machine, so that the same documents give the same
records everywhere. bfloat16 reads 1.7 times as fast on a processor with AVX512-BF16 (11 sets, 171 documents, 6 of
2,846 values differ), but on a processor with AMX it was slower and lost .023 of F1 on data/samples and .04 on kinds
never seen. The encoder's states carry that loss: pointers and scores in float32 beside them change as many values.
"""

from __future__ import annotations

import hashlib
import os
from typing import Literal, cast, get_args

from cinnabar.schemas.errors import UsageError

Precision = Literal["float32", "bfloat16"]
#: The precision of a model for which nothing else was asked.
DEFAULT: Precision = "float32"
#: The environment variable that names another one.
VARIABLE = "CINNABAR_PRECISION"


def precision_asked() -> Precision | None:
    """The precision that the environment names, None where it names none. Raises UsageError for an unknown one."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if named not in get_args(Precision):
        raise UsageError(f"{VARIABLE}={named}: expected one of {', '.join(get_args(Precision))}")
    return cast(Precision, named)


def reading_precision() -> Precision:
    """The precision in which models of our own read: the one that is asked for, else float32."""
    return precision_asked() or DEFAULT


def in_precision(model: str, precision: Precision) -> str:
    """The fingerprint of a model that computes in this precision: its own one in the default precision."""
    if precision == DEFAULT:
        return model
    return hashlib.sha256(f"{model} {precision}".encode()).hexdigest()[:16]
