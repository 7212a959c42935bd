"""The levels of effort (denoising steps, thresholds of commitment), and the precision of matrix products.

The precision is a part of every record's key. The environment variable `CINNABAR_PRECISION` sets it. `int8`, the
default of the reader, computes in integers (engine/models/int8_matmul.py) where the processor has fast and exact
products of these, and in float32 elsewhere. The two agree to .0002 of the encoder's states, so both have the same
records and the same key. bfloat16 is as fast on a processor with AVX512-BF16 (11 sets, 171 documents, 6 of 2,846 values
differ), but on a processor with AMX it was slower and lost .023 of F1 on data/samples and .04 on unseen kinds of
documents. The loss comes from the encoder's states: with pointers and scores in float32 as many values change. Language
models have float32 unless another precision is asked for, or their folder states one (`"precision"` in config.json). In
`int8` their matrices are rounded to 8 bits with a scale for each output, which changes values, on every machine alike.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from cinnabar.errors import UsageError


@dataclass(frozen=True, slots=True)
class Effort:
    """The settings of one level of effort."""

    #: Its name, part of the engine's fingerprint.
    name: str
    #: The most denoising steps, 1 to 64.
    steps: int
    #: The least posterior at which a value is committed before its turn. With .9 instead of .5 records
    #: take a third more steps for the same values (training/log.md).
    threshold: float = 0.6
    #: A committed value is re-opened if its posterior falls below this ...
    reopen: float = 0.3
    #: ... and another choice's posterior is higher by at least this.
    margin: float = 0.3
    #: The least share of all values of a field together at which one is given, if the field may be null.
    present: float = 0.55
    #: The least posterior of that value. Half of the F1 that can be reached (see `class_answer`) would be best for F1;
    #: but with .4 a third more of absent fields got a value (training/log.md), and a wrong value costs more.
    #: This is the model's own posterior: calibrated confidence does no better here.
    answer: float = 0.5
    #: The least posterior of the likeliest class, if its field may be null. For F1 it is half of the F1 that
    #: can be reached (Lipton et al. 2014, "Optimal Thresholding of Classifiers to Maximize F1 Measure").
    #: Of 207 mails with six kinds, 25% of the answers below were right, and 73% of those above.
    class_answer: float = 0.25
    #: Nothing states a choice that no words and no passage show, unless its likeliest option has this posterior or
    #: absence has at most `unstated`. So of the answers of six sets with choices two are not given, one of them right.
    option: float = 0.8
    unstated: float = 0.06
    #: How often one slot may be re-opened.
    reopenings: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= 64:
            raise UsageError(f"effort {self.name}: expected 1 to 64 steps, got {self.steps}")


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("instant", steps=1),
        Effort("low", steps=2),
        Effort("medium", steps=3),
        Effort("high", steps=16, threshold=0.97),
    )
}


def effort_of(effort: Effort | str, steps: int | None = None) -> Effort:
    """Returns the effort of this name, with `steps` replaced if given. Raises UsageError for an unknown name."""
    if isinstance(effort, str):
        if effort not in EFFORTS:
            raise UsageError(f"effort: expected one of {', '.join(EFFORTS)}, got {effort!r}")
        effort = EFFORTS[effort]
    return effort if steps is None else replace(effort, steps=steps)


Precision = Literal["int8", "float32", "bfloat16"]
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
    return precision_asked() or DEFAULT


def in_precision(model: str, precision: Precision, same: Precision = "int8") -> str:
    """Returns the fingerprint of a model in this precision: its own one for float32, and for the `same` as float32."""
    if precision in (same, "float32"):
        return model
    return hashlib.sha256(f"{model} {precision}".encode()).hexdigest()[:16]
