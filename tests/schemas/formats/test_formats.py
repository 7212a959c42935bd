"""Formats: dates against the calendar, written texts against a validator, and checks against the standards."""

from __future__ import annotations

import json
import time
from datetime import date, timedelta
from pathlib import Path
from random import Random

import jsonschema_rs
import pytest
from tests.support.cases import each

from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.strings import content_of
from cinnabar.schemas.formats.formats import FORMATS, format_content, is_format

SUITE = (
    Path(__file__).parents[3].parent
    / "shared/suites/json-schema-test-suite/tests/draft2020-12/optional/format"
)


def content(name: str) -> Automaton:
    found = format_content(name)
    assert found is not None
    return found


def accepts(name: str, text: str) -> bool:
    return content(name).accepts(content_of(text))


def walk(automaton: Automaton, random: Random) -> bytes:
    """A text of the language: random steps for a while, then the nearest end."""
    members: dict[int, list[int]] = {}
    for byte, kind in enumerate(automaton.byte_class.tolist()):
        members.setdefault(kind, []).append(byte)
    rows, distance = automaton.transitions.tolist(), automaton.distance.tolist()
    left, stop = random.choice([3, 10, 40, 120]), random.choice([0.02, 0.1, 0.5])
    state, text = 0, bytearray()
    while not (automaton.accepting[state] and (left <= 0 or random.random() < stop)):
        nearer = [
            k for k, t in enumerate(rows[state]) if t >= 0 and (left > 0 or distance[t] < distance[state])
        ]
        if not nearer:
            break
        kind = random.choice(nearer)
        text.append(random.choice(members[kind]))
        state, left = rows[state][kind], left - 1
    return bytes(text)


@each("name", FORMATS)
def test_written_texts_have_their_format_and_a_validator_accepts_them(name: str) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string", "format": name}
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    automaton, random = content(name), Random(name)
    shortest = automaton.shortest()
    assert shortest is not None
    for text in [shortest, *(walk(automaton, random) for _ in range(400))]:
        assert automaton.accepts(text)
        value = json.loads(b'"' + text + b'"')
        assert is_format(name, value), value
        assert validator.is_valid(value), value
        assert content_of(value) == text


@each("year", [1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9996, 9999])
def test_dates_are_those_of_the_calendar(year: int) -> None:
    day, days = date(year, 1, 1), set()
    while day.year == year and len(days) < 366:
        days.add(day.isoformat())
        if day == date.max:
            break
        day += timedelta(days=1)
    every = [f"{year:04}-{month:02}-{d:02}" for month in range(14) for d in range(33)]
    assert {text for text in every if accepts("date", text)} == days


@pytest.mark.parametrize(
    "text", ["0000-01-01", "10000-01-01", "2024-1-1", "2024-01-01 ", "20240101", "٢٠٢٤-01-01", ""]
)
def test_impossible_dates_are_refused(text: str) -> None:
    assert not accepts("date", text)


@each(
    "name, good, bad",
    [
        (
            "time",
            ["00:00:00Z", "23:59:59.123+05:30"],
            ["24:00:00Z", "12:00Z", "12:00:00", "23:59:60Z", "12:00:00+24:00"],
        ),
        (
            "date-time",
            ["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.5-08:00"],
            ["2023-02-29T12:00:00Z", "2024-02-29"],
        ),
        (
            "duration",
            ["P1W", "PT1H", "P1Y2M3DT4H5M6S", "P0D"],
            ["P", "PT", "P1YT", "P1W1D", "P1Y1D", "1D", "P1D2M"],
        ),
        (
            "email",
            ["a.b+c@example.co.uk", "x@localhost"],
            ["a..b@c.de", ".a@b", "a@", "@b", "a@-b", "a b@c.de", "a@b@c"],
        ),
        ("idn-email", ["grüße@münchen.de"], ["ü@"]),
        ("hostname", ["a", "www.example.com", "3com.net"], ["", "-a", "a-", "a..b", "a_b", "a.", "x" * 64]),
        ("idn-hostname", ["münchen.de", "日本.jp", "a.de"], ["-ü", "ü..de"]),
        ("ipv4", ["0.0.0.0", "255.255.255.255"], ["256.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.4.5"]),
        (
            "ipv6",
            ["::", "::1", "2001:db8::ff00:42:8329", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::"],
            ["1::2::3", ":", "12345::", "1:2:3:4:5:6:7:8:9"],
        ),
        (
            "uri",
            ["https://a.de:80/b?c=d#e", "mailto:a@b.c", "urn:x"],
            ["/a", "//a", "http://a b", "http://a/%zz", "1a:b"],
        ),
        ("uri-reference", ["", "a/b", "//h/p", "#x", "?q", "http://x"], ["\\a", "a b", "é"]),
        ("iri", ["http://é.de/ü"], ["ü"]),
        ("iri-reference", ["ü", "/é"], ["\\"]),
        ("uuid", ["123e4567-E89B-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000", "g" * 36]),
        ("json-pointer", ["", "/a~0b/~1/0", '/"é\n'], ["a", "/~", "/~2"]),
        ("relative-json-pointer", ["0", "1#", "10/a"], ["/a", "01", "-1", "0##"]),
        ("uri-template", ["http://a/{b}{?c,d*,e:3}", ""], ["{", "{}", "a b", "{a"]),
        ("regex", ["^[az]+$", r"\d\.\w*"], ["(", "[", "*", r"\Z"]),
    ],
)
def test_formats_by_example(name: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not accepts(name, text)] == []
    assert [text for text in bad if accepts(name, text)] == []


def test_the_longest_names_are_still_accepted_by_the_validator() -> None:
    def validator(name: str) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for({"type": "string", "format": name}, validate_formats=True)

    for name, longest in (("email", "a" * 64 + "@" + "b" * 63), ("hostname", "b" * 63)):
        assert accepts(name, longest) and validator(name).is_valid(longest)
        assert not accepts(name, "a" + longest)
    random = Random(0)
    scripts = (("aäßøαωжя", 24), ("aぁゖ一丁龥京語", 14))
    for letters, length in scripts:
        for _ in range(200):
            name = "".join(random.choices(letters, k=length - 1)) + letters[-1]
            assert accepts("idn-hostname", name) and not accepts("idn-hostname", name + letters[-1])
            assert validator("idn-hostname").is_valid(name), name


def test_an_unknown_format_is_an_annotation() -> None:
    assert format_content("colour") is None


@each(
    "name, good, bad",
    [
        # These the independent validator decides: what is right and never written.
        ("date", ["0000-02-29"], ["2023-02-29", "2024-2-01"]),
        ("time", ["22:59:60.25-01:00"], ["22:59:60Z", "12:00:00+0000"]),
        ("date-time", ["2015-06-30t15:59:60.5-08:00"], ["1998-12-31T22:59:60Z", "2016-01-01 00:00:00Z", ""]),
        ("email", ['"a b"@c.d', "a@[IPv6:1::2]"], ["é@a", "a@b@c", "a@[1.2.3]", "a@-b"]),
        ("idn-email", ["é@a", "a@é.de"], ["a@é_.de"]),
        ("hostname", ["xn--nxasmq6b.com", "a--b"], ["xn--a", "ab--cd", "a."]),
        ("idn-hostname", ["straße.de", "אב.גד", "a。b"], ["a_ü", "1a.אב", ""]),
        ("ipv4", ["1.2.3.4"], ["1.2.3.04", "1.2.3.4\n", "١.2.3.4"]),
        ("ipv6", ["1::", "::1.2.3.4"], ["fe80::1%eth0", "::1.2.3.04", "1:2:3:4:5:6:7::8:9"]),
        (
            "uri",
            ["http://[::1]:123456/", "a://[v1.b:c]", "a:"],
            ["http://[::1%25eth0]/", "http://a@b@c", "http://[::1]a", "http://é", "a:[", "http://\ud800"],
        ),
        ("uri-reference", ["//[::1]", "./a:b"], ["a[b", "1:b", "%", "é", "//é", "/é", "?é", "#é", "a:é"]),
        ("iri-reference", ["é", "//é", "/é", "?é", "#é", "a:é"], ["a[b", "1:é", "%"]),
        (
            "iri",
            ["http://\U00010300/", "http://a?\ue000"],
            ["http://a/\ue000", "http://a/\ufffe", "http://a/\U000e0001"],
        ),
        (
            "uri-template",
            ["{a}{+b,c*}{?d:9999}", "é'", "{=a}"],
            ["{a b}", "{a:10000}", "{a*:3}", "{a.}", "<", "\\"],
        ),
        ("json-pointer", ["/", "/\U0001f600", "/~0~1"], ["#/a", "/~", "a/b"]),
        (
            "regex",
            [r"(a)\1", "(?<n>a)\\k<n>", "(?<!a{2})b", "a]", r"\p{Script=Greek}"],
            [r"(a)\2", "(?i)a", r"\a", "a{2,1}", "["],
        ),
        ("colour", ["anything"], []),
    ],
)
def test_the_check_of_a_format_follows_its_standard(name: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not is_format(name, text)] == []
    assert [text for text in bad if is_format(name, text)] == []


@each("name", FORMATS)
def test_a_lone_surrogate_has_no_format_except_regex(name: str) -> None:
    assert is_format(name, "\ud800") == (name == "regex")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "regex" else name for name in FORMATS]
)
def test_hostile_texts_are_judged_quickly(name: str) -> None:
    start = time.thread_time()
    for part in ("a", "1", ".", ":", "ü", "א", "xn--", "\u200d", '"', "((", "{a,", "/~0", "%41", "\\"):
        is_format(name, part * 20_000)
        is_format(name, "a" + part * 20_000 + "@[")
    # 28 texts of up to 80,000 characters take 5 seconds on a slow machine; backtracking takes minutes.
    assert time.thread_time() - start < 60


@pytest.mark.shared
@pytest.mark.skipif(not SUITE.exists(), reason="the suite in ../shared is missing")
@pytest.mark.parametrize("name", FORMATS)
def test_formats_agree_with_the_suite(name: str) -> None:
    path = SUITE / f"{name}.json"
    if not path.exists():
        pytest.skip(f"the suite has no cases for {name}")
    cases = [
        t for group in json.loads(path.read_text()) for t in group["tests"] if isinstance(t["data"], str)
    ]
    unsound = [t["data"] for t in cases if not t["valid"] and accepts(name, t["data"])]
    wrong = [t["data"] for t in cases if t["valid"] != is_format(name, t["data"])]
    assert cases and unsound == [] and wrong == []
