"""Boolean operations on languages, against those on sets of texts."""

from __future__ import annotations

from hypothesis import given
from tests.support.effort import examples
from tests.support.small_automata import ANYTHING, OTHERS, WORDS, automata, language

from cinnabar.schemas.automata.automaton import Automaton, empty
from cinnabar.schemas.automata.operations import difference, intersect, literal, union


@examples(40)
@given(automata, automata)
def test_the_boolean_operations_agree_with_those_of_sets(a: Automaton, b: Automaton) -> None:
    in_a, in_b = language(a), language(b)
    everything = frozenset([*WORDS, *OTHERS])
    assert language(intersect(a, b)) == in_a & in_b
    assert language(union(a, b)) == in_a | in_b
    assert language(difference(a, b)) == in_a - in_b
    assert language(difference(ANYTHING, a)) == everything - in_a


@examples(40)
@given(automata, automata, automata)
def test_the_laws_of_boolean_algebra_hold(a: Automaton, b: Automaton, c: Automaton) -> None:
    not_a, not_b = difference(ANYTHING, a), difference(ANYTHING, b)
    assert difference(ANYTHING, intersect(a, b)).fingerprint == union(not_a, not_b).fingerprint
    assert difference(ANYTHING, union(a, b)).fingerprint == intersect(not_a, not_b).fingerprint
    assert difference(ANYTHING, not_a).fingerprint == a.fingerprint
    spread = union(intersect(a, b), intersect(a, c))
    assert intersect(a, union(b, c)).fingerprint == spread.fingerprint
    assert difference(a, b).fingerprint == intersect(a, not_b).fingerprint
    assert union(a, not_a).fingerprint == ANYTHING.fingerprint
    assert intersect(a, not_a).is_empty


def test_the_edge_cases_of_the_boolean_operations() -> None:
    a = literal(b"a")
    assert union().is_empty
    assert union(a, empty()).fingerprint == a.fingerprint == difference(a, empty()).fingerprint
    assert intersect(a, empty()).is_empty and difference(empty(), a).is_empty
    assert difference(ANYTHING, empty()).fingerprint == ANYTHING.fingerprint
    assert difference(ANYTHING, ANYTHING).is_empty
