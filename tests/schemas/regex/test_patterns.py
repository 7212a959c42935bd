"""Patterns: against Python's `re` where the two languages agree, and by example where they differ."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples

from cinnabar.errors import RegexError, SchemaError, TooLarge
from cinnabar.schemas.automata.operations import literal
from cinnabar.schemas.automata.strings import content_of
from cinnabar.schemas.regex.patterns import fullmatch, pattern_matches, written

SUITE = Path(__file__).parents[3].parent / "shared/suites/json-schema-test-suite/tests/draft2020-12"

# Pairs of the same expression in ECMA-262 and in Python. The languages differ in `.`, `$`, `\s`, digits beyond ASCII
# and `\B` of the empty text.
SPACE = r"[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
leaves = st.sampled_from(
    [
        *((c, re.escape(c)) for c in 'abA1_ -é😀\n"'),
        (r"\\", r"\\"),
        (".", r"[^\n\r\u2028\u2029]"),
        (r"\d", "[0-9]"),
        (r"\D", "[^0-9]"),
        (r"\w", "[A-Za-z0-9_]"),
        (r"\W", "[^A-Za-z0-9_]"),
        (r"\s", SPACE),
        (r"\S", SPACE.replace("[", "[^", 1)),
        ("[a-c1]", "[a-c1]"),
        ("[^a-z]", "[^a-z]"),
        (r"[\d_é-]", "[0-9_é-]"),
        (r"\u00e9", "é"),
        (r"\u{1F600}", "😀"),
        (r"\ud83d\ude00", "😀"),
        (r"\x61", "a"),
        (r"\cJ", r"\n"),
        ("", ""),
    ]
)
places = st.sampled_from([("^", r"\A"), ("$", r"\Z"), (r"\b", r"\b"), (r"\B", r"(?!\b)")])
Pair = tuple[str, str]


def grown(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def both(template: str, *parts: Pair) -> Pair:
        return template.format(*(p[0] for p in parts)), template.format(*(p[1] for p in parts))

    counts = st.sampled_from(["*", "+", "?", "*?", "{{2}}", "{{0,2}}", "{{1,}}"])
    return st.one_of(
        st.builds(lambda a, b: both("{0}{1}", a, b), inner, inner),
        st.builds(lambda a, b: both("{0}{1}", a, b), inner, inner | places),
        st.builds(lambda a, b: both("{0}{1}", a, b), inner | places, inner),
        st.builds(lambda a, b: both("(?:{0}|{1})", a, b), inner, inner | places),
        st.builds(lambda a, c: both("({0})" + c, a), inner, counts),
    )


patterns = st.recursive(leaves, grown, max_leaves=8)
texts = st.lists(st.text('abA1_ -é😀\n\r"\\\u2028٣\ufeff\x00', max_size=6), min_size=5, max_size=12)


@examples(150)
@given(patterns, texts)
def test_patterns_agree_with_those_of_python(pair: Pair, tried: list[str]) -> None:
    python = re.compile(pair[1], re.ASCII)
    found, whole = written(pair[0]), fullmatch(pair[0])
    assert found.exact and found.max_length is None
    for text in tried:
        spelled = content_of(text)
        assert found.content.accepts(spelled) == (python.search(text) is not None), (pair, text)
        assert whole.accepts(spelled) == (re.fullmatch(f"(?:{pair[1]})", text, re.ASCII) is not None), (
            pair,
            text,
        )


@each(
    "pattern, matched, missed",
    [
        ("bc", ["abcd"], ["b"]),
        ("^$", [""], ["\n"]),
        ("^a$", ["a"], ["a\n", "b\na\nb"]),
        (r"^\d$", ["3"], ["٣"]),
        (r"^\w$", ["a", "_"], ["é"]),
        (r"^\s$", ["\ufeff", "\u3000", "\v", "\u2029"], ["\u0085", "\u180e"]),
        ("^.$", ["😀", "\u0085", "\x00"], ["\n", "\r", "\u2028", "\u2029", ""]),
        (r"^\cA$", ["\x01"], ["A"]),
        (r"^[\b]$", ["\x08"], ["b"]),
        (r"^\0$", ["\x00"], ["0"]),
        (r"^[^]$", ["\n", "x"], [""]),
        ("[]", [], ["", "a"]),
        (r"^\-\_\@\/$", ["-_@/"], []),
        (r"^[\w-.]$", ["-", ".", "a"], [","]),
        ("^a]}{$", ["a]}{"], []),
        (r"^\p{Lu}\p{gc=Nd}\P{L}$", ["É٣!"], ["é٣!", "É٣a"]),
        (r"^\p{Letter}+$", ["aβ漢"], ["1"]),
        (r"^[\p{L}\d]$", ["é", "1"], ["-"]),
        (r"^\p{ASCII}\p{White_Space}\p{Uppercase}$", ["a\u0085Ⓐ"], ["é A"]),
        (r"^\p{Script=Greek}\p{sc=Latn}\P{scx=Han}$", ["βaa"], ["aaa", "βa漢"]),
        (r"^\p{Script_Extensions=Deva}$", ["\u0951", "\u0905"], ["a"]),
        (r"^\p{Alphabetic}\p{Emoji_Presentation}\p{IDC}\p{Lower}$", ["é😀_ª"], ["1😀_ª", "é1_ª"]),
        ("^(?:^)*(\\b)?a$", ["a"], ["b"]),
        (r"^(?<year>\d{4})$", ["2024"], ["24"]),
        (r"^(?!.*--)[a-z-]+$", ["a-b"], ["a--b"]),
        (r"^(?=.*\d)(?=.*[a-z]).{3,}$", ["a1!"], ["abc", "a1"]),
        (r"^(?:(?!ab).)*$", ["ba", "aa"], ["aab"]),
        (r"^(?!(?=a)a$)", ["b", "aa"], ["a"]),
        (r"(?<!\d)\d{2}(?!\d)", ["x12y"], ["123"]),
        (r"^a{0}$", [""], ["a"]),
        ("(?<=(?=abc)a)b", ["abc"], ["ab", "abd"]),
        ("(?<=(?!abc)a)b", ["ab", "abd"], ["abc"]),
        ("(?<!(?=abc)a|(?=.?d)b)c?$", ["ab", "bc"], []),
        (r"^(a{0}){3}b", ["b"], ["a"]),
        (r'^["\\]$', ['"', "\\"], ["a"]),
        (r"\ud800", [], ["a"]),
    ],
)
def test_patterns_mean_what_the_standard_says(pattern: str, matched: list[str], missed: list[str]) -> None:
    automaton = written(pattern).content
    assert [t for t in matched if not automaton.accepts(content_of(t))] == []
    assert [t for t in missed if automaton.accepts(content_of(t))] == []


@each(
    "pattern, position, reason",
    [
        ("(a", 0, r"'\(' without"),
        ("ab)", 2, r"'\)' without"),
        ("a[b", 1, r"'\[' without"),
        ("a**", 3, "quantifier after a quantifier"),
        ("a+*", 3, "quantifier after a quantifier"),
        ("^*", 0, "after an assertion"),
        ("(?=a)*", 0, "after an assertion"),
        ("*", 0, "nothing for"),
        ("{2}", 0, "nothing for"),
        ("a{3,2}", 1, "out of order"),
        ("a{99999999999999999999}", 1, "repetition count"),
        ("[z-a]", 1, "out of order"),
        (r"(a)\1", 3, "backreference"),
        (r"(?<n>a)\k<n>", 7, "backreference"),
        ("(?i)a", 2, "inline flags"),
        ("(?P<n>a)", 2, "inline flags"),
        (r"\Z", 0, "not known to ECMA-262"),
        (r"\u12", 0, "4 hexadecimal digits"),
        (r"\u{110000}", 0, "up to 10FFFF"),
        (r"\p{Nonsense}", 0, "not known"),
        (r"\p{Script=latin}", 0, "not known"),
        (r"\p{IsLatin}", 0, "not known"),
        (r"\p{sc=Nonsense}", 0, "not known"),
        (r"(a)\2", 3, "group 2, which is not there"),
        (r"\k<n>", 0, "group n, which is not there"),
        (r"(?<n>a)\k", 7, "after"),
        ("(?<n>a)(?<n>b)", 9, "second group"),
        (r"\pL", 0, "in braces"),
        (r"\07", 0, "octal"),
        (r"\07a", 0, "octal"),
        (r"\c1", 0, "letter after"),
        ("a\\", 2, "end of the pattern"),
        ("(" * 150 + ")" * 150, 100, "nested deeper"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_refused_with_its_place(
    pattern: str, position: int, reason: str
) -> None:
    with pytest.raises(RegexError, match=reason) as caught:
        written(pattern)
    assert caught.value.position == position
    assert isinstance(caught.value, SchemaError)


@pytest.mark.parametrize("pattern", ["[^]*a.{30}b", "(a{1000}){1000}", "(?:a?){3000}b{20000}"])
def test_a_pattern_past_the_caps_is_refused_quickly(pattern: str) -> None:
    start = time.process_time()
    for compiled in (written, fullmatch):
        with pytest.raises(TooLarge):
            compiled(pattern)
    assert time.process_time() - start < 10


def test_a_large_class_costs_states_only_at_its_own_place() -> None:
    assert fullmatch(r"[a-z]{900}\p{L}[0-9]{900}").states < 2_200


@pytest.mark.parametrize(
    ("pattern", "states", "bound", "exact"),
    [
        ("^.{0,20000}$", 20, 20_000, True),
        ("^(?:[A-Z]{3}-){1,2000}$", 10, 8_000, True),
        ("^ab[a-z]{200,1000}[0-9]$", 210, 1_003, True),
        (r"^(?=.{1,254}$)((?!-)[a-zA-Z0-9-]{1,63}(?<!-)\.)+[a-zA-Z]{2,63}$", 200, 254, True),
        ("^https?://.{1,2000}$", 30, 2_007, False),
        ("^([a-z ]{1,3000}\\.){1,9}$", 40, 3_000, False),
        ("^[a-z]{1,200}:[a-z]{1,200}$", 410, None, True),
        ("^.{1,128}$", 2_100, None, True),
        ("(a{1,1000}){1,1000}", 60, 1_000, False),
        ("^((a|b){1,100}){1,100}$", 300, None, False),
        ("^(?=.*a.{10})(?=.*b.{10}).*$", 300, None, True),
    ],
)
def test_long_counts_are_bounds_on_length(pattern: str, states: int, bound: int | None, exact: bool) -> None:
    found = written(pattern)
    assert found.content.states <= states
    assert (found.max_length, found.exact) == (bound, exact)


counted = st.sampled_from(["{0,129}", "{1,130}", "{2,200}", "{129}", "*", "+", "{1,3}"])
counted_patterns = st.builds(
    lambda start, look, items, end: start + look + "".join(items) + end,
    st.sampled_from(["^", "^", ""]),
    st.sampled_from(["", "", "(?=.{0,131}$)", "(?!b{1,140}$)", "(?=a{129,140})"]),
    st.lists(
        st.builds(
            lambda atom, count: atom + count, st.sampled_from(["a", "[ab]", "(?:ab)", "(?:a|bb)"]), counted
        ),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from(["$", "c$", ""]),
)


@examples(25)
@given(counted_patterns, st.lists(st.integers(0, 210), min_size=1, max_size=4), st.text("abc", max_size=2))
def test_texts_written_under_long_counts_match(pattern: str, lengths: list[int], end: str) -> None:
    try:
        found = written(pattern)
    except TooLarge:
        return
    for length in lengths:
        for text in ("a" * length + end, ("ab" * length)[:length] + end, end + "b" * length):
            fits = found.max_length is None or len(text) <= found.max_length
            accepted = fits and found.content.accepts(content_of(text))
            matches = pattern_matches(pattern, text)
            assert accepted == matches if found.exact else accepted <= matches, text


def test_repeating_the_empty_text_ends() -> None:
    assert fullmatch("(?:){999999999}").fingerprint == literal(b"").fingerprint


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        (r"\p{ASCII}", r"[\0-\x7f]"),
        (r"\p{Any}", r"[\0-\U0010ffff]"),
        (r"\s", SPACE),
        (r"\d", "[0-9]"),
        (r"\w", "[A-Za-z0-9_]"),
        (".", r"[^\n\r\u2028\u2029]"),
    ],
)
def test_classes_hold_exactly_the_code_points_of_the_standard(pattern: str, same: str) -> None:
    automaton, known = fullmatch(pattern), re.compile(same)
    for code in (*range(0xD800), *range(0xFE00, 0x10100)):
        assert automaton.accepts(content_of(chr(code))) == bool(known.fullmatch(chr(code))), hex(code)


def test_escapes_stand_for_exactly_one_code_point() -> None:
    escapes = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0, "cA": 1, "cz": 26, "x7e": 0x7E}
    escapes |= {"u00e9": 0xE9, "u{e9}": 0xE9, "u{10FFFF}": 0x10FFFF, "-": 0x2D, "/": 0x2F, "uffff": 0xFFFF}
    for escape, code in escapes.items():
        for spelled in (f"^\\{escape}$", f"^[\\{escape}]$"):
            found = {
                c
                for c in range(max(0, code - 40), code + 40)
                if c < 0x110000 and pattern_matches(spelled, chr(c))
            }
            assert found == {code}, spelled
    assert [code for code in range(128) if pattern_matches(r"^[\b]$", chr(code))] == [8]


def test_general_categories_are_those_of_unicode() -> None:
    letters = fullmatch(r"\p{L}")
    for code in (*range(0xD800), *range(0x1F000, 0x20000)):
        category = unicodedata.category(chr(code))
        # Python's own tables may be older.
        assert category == "Cn" or letters.accepts(content_of(chr(code))) == category.startswith("L")


@pytest.mark.shared
@pytest.mark.skipif(not SUITE.exists(), reason="the suite in ../shared is missing")
@pytest.mark.parametrize(
    "name", ["pattern.json", "optional/ecmascript-regex.json", "optional/non-bmp-regex.json"]
)
def test_patterns_agree_with_the_suite(name: str) -> None:
    groups = json.loads((SUITE / name).read_text())
    wrong, tried = [], 0
    for group in groups:
        pattern = group["schema"].get("pattern")
        if pattern is None:
            continue
        try:
            automaton = written(pattern).content
        except RegexError:
            continue
        for case in group["tests"]:
            if isinstance(case["data"], str):
                tried += 1
                if automaton.accepts(content_of(case["data"])) != case["valid"]:
                    wrong.append((pattern, case))
    assert tried and wrong == []


@pytest.mark.parametrize("pattern", ["^[^]$", "^.$", "^[\\u{10000}-\\u{10ffff}]$"])
def test_no_bytes_past_the_last_code_point_are_text(pattern: str) -> None:
    content = written(pattern).content
    assert content.accepts("\U0010ffff".encode())
    for beyond in (b"\xf4\x90\x80\x80", b"\xf4\xbf\xbf\xbf", b"\xf5\x80\x80\x80"):
        assert not content.accepts(beyond)
