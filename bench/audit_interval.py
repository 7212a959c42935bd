"""Measures how often the interval of an audit covers the truth, over simulated runs.

    python -m bench.audit_interval --runs 200

A run has documents of even or of very different sizes, whose values are right with a rate of each document's own (a
beta distribution; `together` is the correlation of two values of one document). Some of its documents are audited. The
truth is the share of right values in all documents of the run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt

from bench.reporting import table
from cinnabar.extraction.run.report.audit import share_right

_RATES = (0.6, 0.8, 0.9, 0.95, 0.98, 0.995)
_AUDITED = (30, 60, 200)
_TOGETHER = (0.0, 0.1, 0.3, 0.6)
_SIZES = ("even", "skewed")
# Documents of a run: so many times the audited ones, and of the largest audits fewer.
_TIMES = {30: 20, 60: 20, 200: 5}

Counts = npt.NDArray[np.int64]


def sizes_of(kind: str, count: int, dice: np.random.Generator) -> Counts:
    """Returns the numbers of values of so many documents."""
    if kind == "even":
        return dice.integers(5, 10, count)
    sizes: Counts = np.minimum(1 + dice.geometric(1 / 8, count) * dice.choice([1, 1, 1, 4], count), 120)
    return sizes


def run_of(
    rate: float, together: float, kind: str, count: int, dice: np.random.Generator
) -> tuple[Counts, Counts]:
    """Returns right and all values of each document of a run."""
    values = sizes_of(kind, count, dice)
    spread = 1 / together - 1 if together else 0.0
    own = dice.beta(rate * spread, (1 - rate) * spread, count) if together else np.full(count, rate)
    return dice.binomial(values, own), values


def covered(
    rate: float, together: float, kind: str, audited: int, runs: int, dice: np.random.Generator
) -> tuple[float, float]:
    """Returns the share of runs whose interval covers the truth, and the mean width of the intervals."""
    hits, width = 0, 0.0
    for _ in range(runs):
        right, values = run_of(rate, together, kind, audited * _TIMES[audited], dice)
        drawn = dice.choice(len(values), audited, replace=False)
        low, high = share_right(right[drawn].tolist(), values[drawn].tolist(), len(values))
        hits += low <= right.sum() / values.sum() <= high
        width += high - low
    return hits / runs, width / runs


def results(runs: int) -> Iterator[tuple[str, float, float, int, float, float]]:
    """Yields size, correlation, rate, audited documents, coverage and width of each kind of runs."""
    dice = np.random.default_rng(39)
    for kind, together, rate, audited in product(_SIZES, _TOGETHER, _RATES, _AUDITED):
        yield kind, together, rate, audited, *covered(rate, together, kind, audited, runs, dice)


def main() -> None:
    """Prints the coverage by what a run is like, of all, and of the worst kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs of each of the 144 kinds")
    rows = list(results(parser.parse_args().runs))
    shown = []
    for place, name in enumerate(("documents", "together", "rate", "audited")):
        for value in dict.fromkeys(row[place] for row in rows):
            some = [row for row in rows if row[place] == value]
            means = (f"{np.mean([row[at] for row in some]):.3f}" for at in (4, 5))
            shown.append((name, str(value), *means))
    print(table(("what", "value", "covered", "mean width"), shown))
    worst = sorted(rows, key=lambda row: row[4])[:5]
    print("\nThe worst kinds:\n")
    print(table(("documents", "together", "rate", "audited", "covered", "mean width"), [
        (*map(str, row[:4]), f"{row[4]:.3f}", f"{row[5]:.3f}") for row in worst
    ]))  # fmt: skip
    all_, width = float(np.mean([row[4] for row in rows])), float(np.mean([row[5] for row in rows]))
    below = sum(row[4] < 0.93 for row in rows)
    print(f"\nall: covered {all_:.3f}, mean width {width:.3f}; kinds below .93: {below} of {len(rows)}")
    raise SystemExit(all_ < 0.93)


if __name__ == "__main__":
    main()
