"""Conversion of long counts within a pattern, such as `^.{0,20000}$`, to bounds on the length of the whole text.

As states, a count costs up to 16 for each repetition of `.`; as a bound, none.
"""

from __future__ import annotations

from dataclasses import replace

from cinnabar.schemas.regex.ecma import Chars, Choice, Edge, Look, Repeat, Sequence, Tree

# Counts above this become bounds on length.
MAX_COUNTED = 128


def conjuncts(tree: Tree) -> list[Tree]:
    """Trees that all match somewhere in a text exactly when this tree does.

    Lookaheads at the start of the text become trees of their own: `^(?=a)(?=b)c` is `^a`, `^b` and `^c`.
    """
    first, *rest = parts(tree) or (Sequence(()),)
    if first != Edge("^"):
        return [tree]
    conditions: list[Tree] = []
    while rest and isinstance(look := rest[0], Look) and look.ahead and not look.negative:
        conditions += conjuncts(Sequence((first, *parts(look.body))))
        rest.pop(0)
    return [*conditions, Sequence((first, *rest))] if conditions else [tree]


def loosened(tree: Tree) -> tuple[Tree, int | None, bool]:
    """The tree without its long counts, the most code points of a text, and whether the two are exact.

    If the first result matches a text of at most that many code points, the tree itself matches it. If, and only if,
    the last result is True, the tree matches no longer text. Counts within a negative lookaround stay.
    """
    counted = _long(tree)
    if not counted:
        return tree, None, True
    free = _with_counts(tree, None)
    items = parts(tree)
    if items[0] == Edge("^") and items[-1] == Edge("$"):
        for at, item in enumerate(items):
            if isinstance(item, Repeat) and counted == [item] and item.most is not None:
                low, high = _length(item.body)
                others = [_length(other) for other in (*items[:at], *items[at + 1 :])]
                least = sum(length[0] for length in others)
                exact = low == high and all(length[0] == length[1] for length in others)
                return free, item.most * max(low, 1) + least, exact
    return free, min(most for repeat in counted if (most := repeat.most) is not None), False


def clipped(tree: Tree, most: int) -> Tree:
    """The tree with no count above `most` unless a minimum demands it; the tree matches all that the result matches."""
    return _with_counts(tree, most)


def parts(tree: Tree) -> tuple[Tree, ...]:
    """The parts of the tree as one flat sequence."""
    return tuple(p for part in tree.parts for p in parts(part)) if isinstance(tree, Sequence) else (tree,)


def _long(tree: Tree) -> list[Repeat]:
    """The repeats with long counts, without those in negative lookarounds."""
    match tree:
        case Sequence(inner) | Choice(inner):
            return [repeat for part in inner for repeat in _long(part)]
        case Look(body, _, negative):
            return [] if negative else _long(body)
        case Repeat(body, _, most):
            return ([tree] if most is not None and most > MAX_COUNTED else []) + _long(body)
    return []


def _with_counts(tree: Tree, limit: int | None) -> Tree:
    """The tree with counts cut to the limit; if the limit is None, with long counts removed."""
    match tree:
        case Sequence(inner):
            return Sequence(tuple(_with_counts(part, limit) for part in inner))
        case Choice(inner):
            return Choice(tuple(_with_counts(part, limit) for part in inner))
        case Look(body, _, False):
            return replace(tree, body=_with_counts(body, limit))
        case Repeat(body, least, most):
            if limit is None:
                most = None if most is not None and most > MAX_COUNTED else most
            elif most is not None:
                most = max(least, min(most, limit))
            return Repeat(_with_counts(body, limit), least, most)
    return tree


def _length(tree: Tree) -> tuple[int, int | None]:
    """The fewest and the most code points that the tree matches; None for no bound."""
    match tree:
        case Chars():
            return 1, 1
        case Sequence(inner):
            lengths = [_length(part) for part in inner]
            highs = [high for _, high in lengths if high is not None]
            return sum(low for low, _ in lengths), sum(highs) if len(highs) == len(lengths) else None
        case Choice(inner):
            lengths = [_length(part) for part in inner]
            highs = [high for _, high in lengths if high is not None]
            return min(low for low, _ in lengths), max(highs) if len(highs) == len(lengths) else None
        case Repeat(body, least, most):
            low, high = _length(body)
            return least * low, None if most is None or high is None else most * high
    return 0, 0
