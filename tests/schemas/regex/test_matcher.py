"""The pattern matcher: it agrees with Python's `re` and with the automata on one text, at any size."""

from __future__ import annotations

import re
import time
from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples

from cinnabar.errors import TooLarge
from cinnabar.schemas.automata.strings import content_of
from cinnabar.schemas.regex.ecma import parse
from cinnabar.schemas.regex.matcher import matches_somewhere
from cinnabar.schemas.regex.patterns import pattern_matches, written

# ECMA-262 and Python read these alike over the texts below.
leaves = st.sampled_from(["a", "b", "c", "[ab]", "[^a]", ".", r"\w", "", "ab", r"\b", r"\B", "^"])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    counts = st.sampled_from(["*", "+", "?", "*?", "{2}", "{0,2}", "{1,}", "{2,}", "{1,3}", "{3,17}"])
    looks = st.sampled_from(["(?={0})", "(?!{0})"])
    behind = st.sampled_from(["(?<=a)", "(?<!b)", "(?<=ab)", "(?<!c.)"])
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("(?:{}){}".format, inner, counts),
        st.builds(lambda look, a: look.format(a), looks, inner),
        st.builds("{}{}".format, behind, inner),
    )


patterns = st.recursive(leaves, grown, max_leaves=8)
texts = st.lists(st.text("abc ", max_size=9), min_size=4, max_size=8)


@examples(400)
@given(patterns, texts)
def test_a_text_is_matched_as_python_matches_it(pattern: str, tried: list[str]) -> None:
    # Python before 3.14 says that \B does not match the empty text.
    python = re.compile(pattern.replace(r"\B", r"(?!\b)"), re.ASCII)
    tree, whole = parse(pattern), parse(f"^(?:{pattern})$")
    for text in tried:
        assert matches_somewhere(tree, text) == (python.search(text) is not None), text
        assert matches_somewhere(whole, text) == (python.fullmatch(text) is not None), text


def check_against_automaton(pattern: str, tried: list[str]) -> None:
    try:
        found = written(pattern)
    except TooLarge:
        return
    for text in tried:
        accepted, matches = found.content.accepts(content_of(text)), pattern_matches(pattern, text)
        assert accepted == matches if found.exact else accepted <= matches, text


@examples(100)
@given(patterns, texts)
def test_a_text_is_matched_as_its_automaton_says(pattern: str, tried: list[str]) -> None:
    check_against_automaton(pattern, tried)


behind_patterns = st.builds(
    "{}{}(?<{}(?:{}{}|{}))c?{}".format,
    st.sampled_from(["", "a", "^.?"]),
    st.sampled_from(["", "b", "[ab]*"]),
    st.sampled_from("=!"),
    patterns,
    st.sampled_from(["a", "b", "", "(?<!(?=.c)a)b?"]),
    st.sampled_from(["(?=abc)a", "(?!.?b)c", "(?=.?c)(?!.c)b", "a(?=b|$)"]),
    patterns,
)


@examples(200)
@given(behind_patterns, texts)
def test_lookaheads_within_lookbehinds_agree_with_the_automaton(pattern: str, tried: list[str]) -> None:
    check_against_automaton(pattern, tried)


def test_counted_classes_match_exactly_their_counts() -> None:
    for least, more, before, text in product(range(6), range(6), ("", "b"), ("", "b")):
        for length in range(12):
            found = pattern_matches(f"^b?a{{{least},{least + more}}}b?$", before + "a" * length + text)
            assert found == (least <= length <= least + more)
            found = pattern_matches(f"(?<=^b?a{{{least},{least + more}}}b?)$", before + "a" * length + text)
            assert found == (least <= length <= least + more)


@each(
    "pattern, text, expected",
    [
        ("^(a*)*b", "a" * 20_000, False),
        ("^(a|aa)+$", "a" * 3_000, True),
        ("^(a|aa)+$", "a" * 3_000 + "b", False),
        ("^((.*x|c)*y|c)*$", "c" * 1_000 + "!", False),
        ("^((a{1,100}){1,100}){1,100}$", "a" * 1_000, True),
        ("^((a{1,100}){1,100}){1,100}$", "a" * 1_000 + "b", False),
        ("^.{1,5000}$", "é" * 5_000, True),
        ("^.{1,5000}$", "é" * 5_001, False),
        ("^.{0,20000}$", "x" * 20_000, True),
        ("^.{0,20000}$", "x" * 20_001, False),
        ("^(?:a?){999999999}$", "a" * 50, True),
        ("^(?:ab){1,999999999}$", "ab" * 500, True),
        ("^" + "(?=.*a" * 20 + ")" * 20 + "b", "ba" * 20, True),
        ("^" + "(?=.*a)" * 20 + "b", "b" * 20, False),
        ("^" + "(" * 90 + "a" + "+)" * 90 + "$", "a" * 100, True),
        ("^" + "(" * 90 + "a" + "{1,2})" * 90 + "$", "a" * 100, True),
        ("^" + "(" * 90 + "(?:a?)" + "{2,})" * 90 + "$", "a" * 100, True),
    ],
)
def test_hostile_patterns_are_matched_in_time(pattern: str, text: str, expected: bool) -> None:
    start = time.process_time()
    assert pattern_matches(pattern, text) == expected
    assert time.process_time() - start < 2


def test_a_lone_surrogate_is_one_code_point() -> None:
    assert pattern_matches("^.$", "\ud800")
    assert pattern_matches(r"^\ud800$", "\ud800")


def test_two_escapes_are_one_code_point_where_they_are_a_pair() -> None:
    for pattern, text in (
        (r"^\ud800\udc00$", "\U00010000"),
        (r"^\ud83d\ude00$", "\U0001f600"),
        (r"^\udbff\udfff$", "\U0010ffff"),
        (r"^\udc00\udc00$", "\udc00\udc00"),
        (r"^\ud800\ud800$", "\ud800\ud800"),
        (r"^\ud7ff\udc00$", "\ud7ff\udc00"),
    ):
        assert pattern_matches(pattern, text), pattern
        assert not pattern_matches(pattern, text[0] * 3), pattern


@each("turns", ["{1,2}", "{0,2}", "{2,3}", "{1,}", "{0,1}", "+", "*", "?"])
@each(
    "pattern", ["(?:(?:ab)%s)*", "(?:(?:ab)%sc?)*", "(?:(?:ab)%s){2,3}", "(?:a|(?:ab)%sb)+"]
)
def test_nested_repeats_continue_at_the_end_of_earlier_ones(pattern: str, turns: str) -> None:
    pattern %= turns
    tree, python = parse(f"^(?:{pattern})$"), re.compile(pattern)
    for number in range(8):
        for text in ("ab" * number, "ab" * number + "c" + "ab" * number, "a" + "ab" * number + "b"):
            assert matches_somewhere(tree, text) == (python.fullmatch(text) is not None), text
