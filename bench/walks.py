"""Counts the walks of three calls through the modules of the product, all branches followed.

    python -m bench walks

A walk is the way of a reader who follows each function that a call calls or names, in the order of the text and at any
depth, the first time that it is met (`bench/static_calls.py` says what is followed). A stay is a run of functions of
one module, a return is a stay in a module where the reader was before, and a climb is a call from a folder to one on a
higher floor: that has more folders below it, one upon the other, by what they import. The report also counts what is
met within five calls, and names the calls that bring the most stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

from tests.support.import_graph import floors, folder_of, folders

from bench.reporting import table
from bench.static_calls import Class, Function, calls, member, named

#: The first calls, each by its module, class and name.
STARTS = {
    "a batch into the store": ("cinnabar.extraction.run.stored_run", "Run", "commit_batch"),
    "a correction": ("cinnabar.extraction.corrections.corrector", "Corrector", "correct"),
    "a request": ("cinnabar.engine.fill.engine", "Engine", "fill"),
}
NEAR = 5
#: A call is named if it brings this share of a walk's stays, and no more than that share of those of the call above.
NAMED, APART = 0.05, 0.9


@dataclass(slots=True)
class Walk:
    """The functions of a walk in the order in which they are met, each with the calls between it and the first."""

    met: dict[Function, int] = field(default_factory=dict)
    climbs: dict[tuple[Function, Function], None] = field(default_factory=dict)

    def stays(self) -> list[int]:
        """Returns the places in `met` at which stays begin."""
        modules = [one.module for one in self.met]
        return [at for at, module in enumerate(modules) if not at or modules[at - 1] != module]

    def counts(self) -> tuple[int, int, int, int]:
        """Returns the stays, the modules, the returns and the climbs."""
        stays, modules = len(self.stays()), len({one.module for one in self.met})
        return stays, modules, stays - modules, len(self.climbs)


def walk_of(start: Function, depth: float = inf) -> Walk:
    """Returns the walk of a call, at most this many calls deep."""
    walk, floor = Walk(), floors(folders())
    waiting = [(start, 0)]
    while waiting:
        function, at = waiting.pop()
        # Within a bound, more is met below a function that is met again with fewer calls above it.
        if at > depth or (function in walk.met and (depth == inf or at >= walk.met[function])):
            continue
        walk.met[function] = at
        called = calls(function) if at < depth else ()
        waiting += [(one, at + 1) for one in reversed(called)]
        above = floor[folder_of(function.module)]
        walk.climbs |= {(function, one): None for one in called if floor[folder_of(one.module)] > above}
    return walk


def heavy_calls(walk: Walk) -> Iterator[tuple[int, Function]]:
    """Yields the functions at which many stays hang, with their number, in the order of the walk."""
    starts, depths = set(walk.stays()), [*walk.met.values(), 0]
    above: list[int] = []
    for at, function in enumerate(walk.met):
        end = next(later for later in range(at + 1, len(depths)) if depths[later] <= depths[at])
        own = 1 + sum(one in starts for one in range(at + 1, end))
        above[depths[at] :] = [own]
        if own >= NAMED * len(starts) and own <= APART * above[max(depths[at] - 1, 0)]:
            yield own, function


def measured() -> dict[str, tuple[Walk, Walk]]:
    """Returns the walks by their names, each whole and within `NEAR` calls."""
    found = {}
    for name, (module, owner, called) in STARTS.items():
        first = next(one for one in named(module, owner) if isinstance(one, Class))
        start = next(one for one in member(first, called) if isinstance(one, Function))
        found[name] = walk_of(start), walk_of(start, NEAR)
    return found


def main() -> None:
    """Prints the walks, their climbs, and the calls that bring the most stays."""
    walks = measured()
    rows = [(name, *map(str, whole.counts()), *map(str, near.counts())) for name, (whole, near) in walks.items()]
    head = ("stays", "modules", "returns", "climbs")
    print(table(("walk of", *head, *(f"{one} within {NEAR} calls" for one in head)), rows))
    for name, (whole, _) in walks.items():
        print(f"\n{name}: stays that hang at a call")
        for stays, one in heavy_calls(whole):
            print(f"{stays:5} {'  ' * whole.met[one]}{one.name}")
        print(*(f"      climb: {low.name} -> {high.name}" for low, high in whole.climbs), sep="\n")


if __name__ == "__main__":
    main()
