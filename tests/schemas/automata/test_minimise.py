"""Minimisation passes over tables, each against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.schemas.automata.minimise import (
    bfs_order,
    farthest,
    join_classes,
    merge_columns,
    nearest,
    refine,
    reverse_edges,
)

KINDS = 3


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[int]], list[bool]]:
    states = draw(st.integers(1, 7))
    row = st.lists(st.integers(-1, states - 1), min_size=KINDS, max_size=KINDS)
    return (
        draw(st.lists(row, min_size=states, max_size=states)),
        draw(st.lists(st.booleans(), min_size=states, max_size=states)),
    )


def lengths(table: list[list[int]], accepting: list[bool], state: int, most: int) -> set[int]:
    """The lengths of the texts from a state, among those of at most `most` bytes."""
    found, here = set(), {state}
    for length in range(most + 1):
        if any(accepting[s] for s in here):
            found.add(length)
        here = {t for s in here for t in table[s] if t >= 0}
    return found


@given(tables(), st.data())
def test_states_are_numbered_as_they_are_reached(
    drawn: tuple[list[list[int]], list[bool]], data: st.DataObject
) -> None:
    table, _ = drawn
    start = data.draw(st.integers(0, len(table) - 1))
    order = [start]
    for state in order:
        order += [t for t in dict.fromkeys(table[state]) if t >= 0 and t not in order]
    assert bfs_order(np.array(table, np.int32), start).tolist() == order


@given(tables())
def test_edges_are_reversed_and_distances_are_those_of_the_shortest_and_longest_texts(
    drawn: tuple[list[list[int]], list[bool]],
) -> None:
    table, accepting = drawn
    raw, final = np.array(table, np.int32), np.array(accepting)
    offsets, sources = back = reverse_edges(raw)
    for state in range(len(table)):
        wanted = sorted(s for s, row in enumerate(table) for t in row if t == state)
        assert sorted(sources[offsets[state] : offsets[state + 1]]) == wanted
    size = len(table)
    every = [lengths(table, accepting, state, 2 * size) for state in range(size)]
    assert nearest(final, back).tolist() == [min(found, default=-1) for found in every]
    if all(every):
        # A text longer than the number of states contains a loop.
        longest = [-1 if max(found) >= size else max(found) for found in every]
        assert farthest(raw, back).tolist() == longest


@given(tables())
def test_states_are_equivalent_where_no_text_tells_them_apart(drawn: tuple[list[list[int]], list[bool]]) -> None:
    table, accepting = drawn
    size = len(table)
    if not all(lengths(table, accepting, state, size) for state in range(size)):
        return
    raw, final = np.array(table, np.int32), np.array(accepting)
    back = reverse_edges(raw)
    label, count = refine(raw, final, nearest(final, back), farthest(raw, back))
    kind: list[tuple[object, ...]] = [(flag,) for flag in accepting]
    for _ in range(size):
        kind = [(accepting[s], *(kind[t] if t >= 0 else None for t in row)) for s, row in enumerate(table)]
        names = {one: at for at, one in enumerate(dict.fromkeys(kind))}
        kind = [(names[one],) for one in kind]
    assert count == len(set(kind)) and sorted(set(label.tolist())) == list(range(count))
    pairs = {(one, int(number)) for one, number in zip(kind, label, strict=True)}
    assert len(pairs) == count


classes = st.lists(st.integers(0, 4), min_size=256, max_size=256)


@given(classes, st.lists(st.lists(st.integers(-1, 2), min_size=5, max_size=5), min_size=1, max_size=4))
def test_bytes_of_equal_columns_are_one_class_and_the_smallest_byte_numbers_it(
    byte_class: list[int], table: list[list[int]]
) -> None:
    merged, found = merge_columns(np.array(table, np.int32), np.array(byte_class))
    columns = [tuple(row[kind] for row in table) for kind in byte_class]
    numbers = {column: at for at, column in enumerate(dict.fromkeys(columns))}
    assert found.tolist() == [numbers[column] for column in columns]
    assert [tuple(column) for column in merged.T.tolist()] == list(numbers)


@given(classes, classes)
def test_joined_classes_tell_apart_all_that_either_one_does(a: list[int], b: list[int]) -> None:
    joined, in_a, in_b = join_classes(np.array(a, np.int32), np.array(b, np.int32))
    assert [(int(in_a[k]), int(in_b[k])) for k in joined] == list(zip(a, b, strict=True))
    assert sorted(set(joined.tolist())) == list(range(len(set(zip(a, b, strict=True)))))
