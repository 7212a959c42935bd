"""The token sequence of one request while its answer is denoised: prompt, committed blocks, open block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cinnabar.engine.language.record_graph import RecordGraph
from cinnabar.engine.language.settings import ANSWER_DIVISOR, SETTINGS, DecodingSettings
from cinnabar.engine.models.language.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Task:
    """One request: a prompt, and the graph of the records that may answer it.

    budget: the most tokens of the
    answer, the end token included. judge: whether a record's text fulfils all demands, also those that the graph does
    not know; None if the graph knows all. minimal: the text of a smallest valid record. settings: those of the task,
    None for the denoiser's. ends: whether the answer ends with this beginning of it, as at a text before which it shall
    stop; it is no whole record then. source: lines that
    the answer may well be put together from, the likeliest first, for drafts; without any nothing is drafted. ends_of:
    of paragraphs, with which a long text of a causal model ends, or where it repeats itself (`stretches`); None if the
    model alone ends it.
    """

    prompt: Sequence[int]
    graph: RecordGraph
    budget: int
    judge: Callable[[bytes], bool] | None
    minimal: bytes
    settings: DecodingSettings | None = None
    ends: Callable[[bytes], bool] | None = None
    source: bytes = b""
    ends_of: frozenset[bytes] | None = None

    @property
    def tokens(self) -> int:
        """The tokens that the task is expected to take, for the size of batches; few answers use up their budget."""
        return len(self.prompt) + self.budget // ANSWER_DIVISOR


@dataclass(slots=True)
class Block:
    """A block of the answer: positions `begin` to `end` of the sequence, all absolute, ends exclusive.

    `first` is its first position of the answer (the prompt's tail may lie before), `stop` the end of those that the
    budget allows, and `state` the graph's state at `first`. `passes` counts its passes since it was opened or
    re-masked last, `rounds` how often it was re-masked. `front` is its first open position, `ahead` the state there.
    `log_mass` is that of its first pass, None before it.
    """

    begin: int
    end: int
    first: int
    stop: int
    state: int
    passes: int = 0
    rounds: int = 0
    front: int = 0
    ahead: int = 0
    log_mass: float | None = None

    def __post_init__(self) -> None:
        self.rewind()

    def rewind(self) -> None:
        """Sets the front back to the first position."""
        self.front, self.ahead = self.first, self.state


class OpenSequence:
    """The tokens of a request and the blocks of its answer.

    tokens: [T] int64, -1 where open. chosen: [T] bool, tokens that the model chose; the others are forced. witness: [T]
    int64, of the open block, -1 where it was not scanned. posterior: [T] float32, of each token at its commit, and of
    the witness's tokens where the block is open. `block` is the open block, None if the answer is whole;
    `checked` is a full block whose tokens the next pass scores again. doubts: [T] int64, how often each position was
    masked again while its block was open. bans: positions with a token that they must not have. draft: tokens that may
    well follow from the open block's begin on; only the next pass knows them.
    """

    def __init__(
        self,
        task: Task,
        size: int,
        origin: int,
        end: int,
        settings: DecodingSettings = SETTINGS["medium"],
    ) -> None:
        self.task, self.size, self.end = task, size, end
        self.settings = settings
        self.begin = len(task.prompt)
        self.limit = self.begin + task.budget
        length = self.limit + size
        self.tokens: Ints = np.full(length, -1, np.int64)
        self.tokens[: self.begin] = task.prompt
        self.chosen: Bools = np.zeros(length, np.bool_)
        self.posterior: Floats = np.ones(length, np.float32)
        self.witness: Ints = np.full(length, -1, np.int64)
        self.doubts: Ints = np.zeros(length, np.int64)
        self.bans: list[tuple[int, int]] = []
        self.draft: list[int] = []
        self._blocks: list[Block] = []
        self.passes = self.reopened = 0
        at = origin + (self.begin - origin) // size * size
        self.block: Block | None = self._block(at, self.begin, 0)
        self.checked: Block | None = None

    def _block(self, begin: int, first: int, state: int) -> Block:
        made = Block(begin, begin + self.size, first, min(begin + self.size, self.limit), state)
        self._blocks.append(made)
        return made

    def advance(self) -> None:
        """Moves the open block's front over its committed tokens."""
        block = self.block
        assert block is not None
        graph = self.task.graph
        while block.front < block.stop and (token := int(self.tokens[block.front])) >= 0:
            block.ahead = graph.run([token], block.ahead)
            block.front += 1
            if token == self.end:
                break

    @property
    def log_mass(self) -> float:
        """The log share of the model's mass that the constraint left, summed over the first passes of the blocks."""
        return sum(block.log_mass for block in self._blocks if block.log_mass is not None)

    @property
    def share(self) -> float:
        """The part of an answer of usual length that is written, below 1: few answers use up their budget."""
        front = self.limit if self.block is None else self.block.front
        return min((front - self.begin) / max(self.task.budget // ANSWER_DIVISOR, 1), 0.95)

    @property
    def over(self) -> bool:
        """Whether the answer is whole: its end token, or the last token of its budget, is behind the front."""
        block = self.block
        if block is None:
            return True
        ended = block.front > block.first and self.tokens[block.front - 1] == self.end
        return bool(ended) or block.front == self.limit

    @property
    def done(self) -> bool:
        """Whether no position is left to score."""
        return self.block is None and self.checked is None

    def open_next(self) -> None:
        """Opens the block behind the full one."""
        assert self.block is not None
        self.block = self._block(self.block.end, self.block.end, self.block.ahead)

    def commit(self, at: Ints, tokens: Ints, posterior: Floats, chosen: bool) -> None:
        """Commits tokens at these positions."""
        self.tokens[at], self.posterior[at], self.chosen[at] = tokens, posterior, chosen

    def reopen(self, block: Block, at: Ints) -> None:
        """Masks positions of a block again and drops all that follows the block."""
        ends = np.flatnonzero(self.tokens[block.first : block.stop] == self.end)
        # Behind the first end token there are only end tokens, which fill the block.
        self._drop(block.first + int(ends[0]) + 1 if len(ends) else block.stop)
        self._blocks = [earlier for earlier in self._blocks if earlier.begin <= block.begin]
        self.mask(at)
        block.rounds += 1
        block.passes = 0
        block.rewind()
        self.block, self.checked = block, None

    def mask(self, at: Ints) -> None:
        """Turns committed positions back into masks, and counts them as re-opened."""
        self.tokens[at] = self.witness[at] = -1
        self.chosen[at], self.posterior[at] = False, 1.0
        self.reopened += len(at)

    def repair(self, at: int, token: int) -> int:
        """Goes back to this position, which must not have this token again; returns the begin of its block."""
        self.bans.append((at, token))
        block = next(block for block in reversed(self._blocks) if block.first <= at)
        self._blocks = [earlier for earlier in self._blocks if earlier.begin < block.begin]
        self.reopened += int(self.chosen[at:].sum())
        self._drop(at)
        self.block, self.checked = self._block(block.begin, block.first, block.state), None
        self.block.log_mass = block.log_mass
        return block.begin

    def _drop(self, begin: int) -> None:
        part = slice(begin, None)
        self.tokens[part] = self.witness[part] = -1
        self.chosen[part], self.posterior[part], self.doubts[part] = False, 1.0, 0

    def answer(self) -> Ints:
        """Returns the committed tokens of the answer up to its end token or its first open position."""
        tokens = self.tokens[self.begin : self.limit]
        stop = np.flatnonzero((tokens < 0) | (tokens == self.end))
        return tokens[: stop[0]] if len(stop) else tokens
