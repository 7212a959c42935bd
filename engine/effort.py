"""The levels of effort: the number of denoising steps and the thresholds of commitment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cinnabar.schemas.errors import UsageError


@dataclass(frozen=True, slots=True)
class Effort:
    """The settings of one level of effort."""

    #: Its name, part of the engine's fingerprint.
    name: str
    #: The most denoising steps, 1 to 64.
    steps: int
    #: The least posterior at which a value is committed before its turn. With .9 instead of .5 records
    #: take a third more steps for the same values (docs/model/log.md).
    threshold: float = 0.6
    #: A committed value is re-opened if its posterior falls below this ...
    reopen: float = 0.3
    #: ... and another choice's posterior is higher by at least this.
    margin: float = 0.3
    #: The least share of all values of a field together at which one is given, if the field may be null.
    present: float = 0.55
    #: The least posterior of that value. Half of the F1 that can be reached (see `class_answer`) would be best for F1;
    #: but with .4 a third more of absent fields got a value (docs/model/log.md), and a wrong value costs more.
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
        for field in ("threshold", "reopen", "margin", "present", "answer", "option", "unstated"):
            value = getattr(self, field)
            if not 0.0 <= value <= 1.0:
                raise UsageError(f"effort {self.name}: expected {field} from 0 to 1, got {value}")
        if self.reopenings < 0:
            raise UsageError(f"effort {self.name}: expected reopenings of 0 or more, got {self.reopenings}")


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("instant", steps=1),
        Effort("low", steps=2),
        Effort("medium", steps=3),
        Effort("high", steps=16, threshold=0.97),
    )
}


def effort_of(effort: Effort | str, steps: int | None = None, threshold: float | None = None) -> Effort:
    """Returns the effort of this name, with `steps` and `threshold` replaced if given.

    Raises UsageError for an unknown name.
    """
    if isinstance(effort, str):
        if effort not in EFFORTS:
            raise UsageError(f"effort: expected one of {', '.join(EFFORTS)}, got {effort!r}")
        effort = EFFORTS[effort]
    if steps is not None:
        effort = replace(effort, steps=steps)
    if threshold is not None:
        effort = replace(effort, threshold=threshold)
    return effort
