"""The result of a check: what was found, whether it works, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """Whether a part works as it is, works but deserves a look, or will not work."""

    OK = "ok"
    ADVICE = "advice"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; `advice` says what to do, "" if nothing."""

    check: str
    state: CheckState
    found: str
    advice: str = ""


def ok(check: str, found: str) -> Finding:
    """A part that works."""
    return Finding(check, CheckState.OK, found)


def advises(check: str, found: str, advice: str) -> Finding:
    """A part that works, with something to know."""
    return Finding(check, CheckState.ADVICE, found, advice)


def fails(check: str, found: str, advice: str) -> Finding:
    """A part that will not work."""
    return Finding(check, CheckState.FAILS, found, advice)


def findings_of(checks: Iterable[tuple[str, Callable[[], Iterable[Finding]]]]) -> list[Finding]:
    """The findings of these checks in order; a check that raises has failed itself, and the others go on."""
    findings: list[Finding] = []
    for name, check in checks:
        try:
            findings += check()
        except Exception as error:  # a diagnosis has to survive what it looks for
            findings.append(fails(name, f"{type(error).__name__}: {error}", "run with CINNABAR_DEBUG=1, and report it"))
    return findings
