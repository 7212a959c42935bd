"""The kinds of answers: what their languages hold, and what their texts say."""

from __future__ import annotations

import json

import pytest
from tests.support.chat_clients import NOTE, TOOLS, accepts

from cinnabar.engine.chat.answer_kinds import AnswerKind, Call, CallOr, ClientAnswer, FencedText, FreeText, RecordText
from cinnabar.engine.chat.meeting import meeting_of

RECORD = '{"number": "A-1", "day": null, "kinds": ["ab"]}'
CALL = '{"name": "weather", "arguments": {"city": "Oslo"}}'
KINDS: dict[str, AnswerKind] = {
    "text": FreeText(),
    "record": RecordText(NOTE.form),
    "region": FencedText(),
    "call": Call(TOOLS),
    "call or text": CallOr(Call(TOOLS), FreeText(but_first=b"{")),
    "call or record": CallOr(Call(TOOLS), RecordText(NOTE.form)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_text_of_each_kind_is_one_of_its_language(kind: str) -> None:
    answer = KINDS[kind]
    assert answer.language().accepts(answer.minimal) and answer.accepts(answer.minimal)
    answer.read(answer.minimal)


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        ("text", "Hello\n\tworld – ß", ClientAnswer("Hello\n\tworld – ß")),
        ("record", RECORD, ClientAnswer('{"number":"A-1","day":null,"kinds":["ab"]}')),
        ("region", "```\na\n\nb\n```", ClientAnswer("a\n\nb")),
        ("call", CALL, ClientAnswer("", ("weather", '{"city":"Oslo"}'))),
        ("call", '{"name": "now", "arguments": {}}', ClientAnswer("", ("now", "{}"))),
        ("call or text", CALL, ClientAnswer("", ("weather", '{"city":"Oslo"}'))),
        ("call or text", "It rains.", ClientAnswer("It rains.")),
        ("call or record", CALL, ClientAnswer("", ("weather", '{"city":"Oslo"}'))),
        ("call or record", RECORD, ClientAnswer('{"number":"A-1","day":null,"kinds":["ab"]}')),
    ],
)
def test_texts_are_read_back(kind: str, text: str, read: ClientAnswer) -> None:
    answer = KINDS[kind]
    assert answer.language().accepts(text.encode()) and answer.accepts(text.encode())
    assert answer.read(text.encode()) == read


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", b"a\x00b"),
        ("text", b"\xff"),
        ("region", b"a"),
        ("region", b"```\na\n```\nb\n```"),
        ("call", b'{"name": "other", "arguments": {}}'),
        ("call", b'{"name": "weather", "arguments": {}}'),
        ("call", b'{"name": "now", "arguments": {"city": "Oslo"}}'),
        ("call or text", b'{"a": 1}'),
    ],
)
def test_other_texts_are_not_in_the_language(kind: str, text: bytes) -> None:
    assert not KINDS[kind].language().accepts(text)


def test_the_judge_refuses_what_no_automaton_knows() -> None:
    twice = b'{"number": "A-1", "day": null, "kinds": ["ab", "ab"]}'
    assert not KINDS["record"].accepts(twice) and not KINDS["call or record"].accepts(twice)
    assert not KINDS["call"].accepts(b"nothing")


def test_a_text_ends_before_the_first_of_its_stops() -> None:
    answer = FreeText((b"END", "€".encode()))
    assert not answer.ends(b"no E") and answer.ends(b"one END") and answer.ends("2 € or".encode())
    assert answer.read("2 € or END".encode()) == ClientAnswer("2 ")
    assert answer.read(b"cut \xe2\x82") == ClientAnswer("cut ")


def test_a_region_with_fences_of_its_own_is_shown_between_three_backticks() -> None:
    region = FencedText(b"````", b"<|cursor|>")
    assert region.language().accepts(b"````\na\n```\nb\n````")
    assert region.read(b"````\na\n```\nb\n````") == ClientAnswer("```\na\n```\nb\n```")


def test_an_edit_is_without_the_cursor_and_ends_where_the_file_goes_on() -> None:
    region = FencedText(b"```", b"<|cursor|>", meeting_of("a\n", "\n    the_rest_of_the_file()\n"))
    begun = b"```\nb <|cursor|>= 1\n    the_rest_of_the_file()\n"
    assert region.ends(begun) and region.read(begun) == ClientAnswer("```\nb = 1\n```")
    assert not region.ends(b"```\nb = 1\n") and region.settled_length(begun) == 0


@pytest.mark.parametrize(
    ("kind", "text", "settled"),
    [
        (FencedText(), "```\na\n``", 1),
        (FencedText(), "```\na\n``b", 5),
        (FreeText((b"abab",)), "xxab", 2),
        (FreeText((b"abab",)), "xxabab", 2),
        (FreeText((b"abab",)), "xxabb", 5),
        (FreeText(), "xxab", 4),
        (CallOr(Call(TOOLS), FreeText((b"b",), b"{")), "aab", 2),
        (Call(TOOLS), '{"name"', 0),
        (RecordText(NOTE.form), RECORD, 0),
    ],
)
def test_what_may_yet_end_an_answer_is_not_settled(kind: AnswerKind, text: str, settled: int) -> None:
    assert kind.settled_length(text.encode()) == settled


def test_arguments_are_canonical_under_their_schema() -> None:
    read = Call(TOOLS).read(CALL.encode())
    assert read.call is not None
    assert accepts(TOOLS[0].parameters, read.call[1]) and json.loads(read.call[1]) == {"city": "Oslo"}
