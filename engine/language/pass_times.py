"""The seconds that passes take on this machine now, learnt from the latest ones: what the next ones will take."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

#: A pass of so many tokens tells what a token of a prompt takes; a shorter one what a step of an answer takes.
PROMPT_PASS = 32
#: The passes of each kind that count: another program may begin or end at any time.
_LATEST = 4
#: The tokens of a prompt that take as long as a step (0.5B and 1.5B, int8, one thread: 18 to 26).
_STEP = 24
#: The steps without which an answer has hardly a value.
_FIRST_STEPS = 8


def _latest() -> deque[float]:
    return deque(maxlen=_LATEST)


@dataclass(slots=True)
class PassTimes:
    """The seconds of a token of a prompt, and of a step of an answer, of the latest passes."""

    token: deque[float] = field(default_factory=_latest)
    step: deque[float] = field(default_factory=_latest)

    def note(self, tokens: int, seconds: float) -> None:
        """Learns from a pass of so many tokens."""
        if tokens >= PROMPT_PASS:
            self.token.append(seconds / tokens)
        elif tokens:
            self.step.append(seconds)

    def forget(self) -> None:
        """Forgets the earliest of the latest passes, so that what was too slow once is not so for ever."""
        for kept in filter(None, (self.token, self.step)):
            kept.popleft()

    def needed(self, unread: int, stretch: int, begun: bool) -> float:
        """Returns the seconds to an answer, or to the next state of one that has `begun`; 0 if nothing is known.

        unread: the tokens that are read before that, in stretches of so many. The next pass takes as long as the
        latest ones; those behind it may be as fast as the fastest of these.
        """
        tokens = self.token or [0.0]
        steps = self.step or [_STEP * one for one in tokens]
        if begun or unread < PROMPT_PASS:
            return sum(steps) / len(steps)
        next_pass = min(unread, stretch) * sum(tokens) / len(tokens)
        return max(next_pass, unread * min(tokens) + _FIRST_STEPS * min(steps))
