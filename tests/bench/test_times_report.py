"""Dates, times and lengths as people print them: whole values or none, from the generator of the times report."""

from __future__ import annotations

import random
from typing import Any

import pytest
from bench.times_report import FIELDS, LANGUAGES, SPELLINGS, drawn, meant, records, schema_of

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.schemas import compile_schema
from cinnabar.schemas.form.form import Slot

EVERY = len(LANGUAGES) * SPELLINGS


def slots(language: str) -> dict[str, Slot]:
    return dict(zip(FIELDS, compile_schema(schema_of(language)).form.slots, strict=True))


def slot(name: str) -> Slot:
    return slots("en")[name]


def value(text: str) -> Any:
    return text.strip('"')


@pytest.mark.parametrize("at", range(EVERY))
def test_every_spelling_is_read_whole_or_not_at_all(at: int) -> None:
    one = drawn(at, random.Random(at))
    reader = MentionReader(one.text)
    for name, asked in slots(one.language).items():
        start = one.text.index(f": {one.printed[name]}") + 2
        end = start + len(one.printed[name])
        found = [
            meant(name, value(text.decode()))
            for begin in range(start, end)
            for _, _, text in reader.mentions_at(asked, begin)
            if one.text[begin - 1] in " \t(" and name != "length"
        ] or [meant(name, value(text.decode())) for _, _, text in reader.mentions_at(asked, start)]
        true = meant(name, one.truth[name])
        assert found == [] if true is None else found and set(found) == {true}, (one.printed[name], found)


@pytest.mark.parametrize(
    ("text", "stamps"),
    [
        ("Invoice date 9 June 2026\nPrinted 10:15 by", []),
        ("Date: 9 June 2026\nTime: 16:30", ["2026-06-09T16:30:00Z"]),
        ("9 June 2026\n16:30\n", ["2026-06-09T16:30:00Z"]),
        ("9 June 2026\n16:30 Lunch", []),
        ("Ends 12:00\nDate: 9 June 2026", []),
        ("Printed 08:15   Date 9 June 2026 at 16:30", ["2026-06-09T16:30:00Z"]),
        ("16:30 09.06.2026 - 17:00 10.06.2026", ["2026-06-09T16:30:00Z", "2026-06-10T17:00:00Z"]),
        ("09.06.2026 16.30 EUR", []),
        ("le 9 juin 2026, 2h", []),
        ("le 9 juin 2026 à 8h", ["2026-06-09T08:00:00Z"]),
        ("9 June 2026, half past 4 pm", []),
        ("9 June 2026, 4:30 PM ET", ["2026-06-09T16:30:00-04:00"]),
        ("9 June 2026 16:30 -0500", ["2026-06-09T16:30:00-05:00"]),
        ("9 June 2026 09:00-12:00", ["2026-06-09T09:00:00Z"]),
        ("2026-05-03T18:30:00+02:00", ["2026-05-03T18:30:00+02:00"]),
    ],
)
def test_a_date_time_is_a_date_and_the_time_that_belongs_to_it(text: str, stamps: list[str]) -> None:
    reader = MentionReader(text)
    moments = [at for at in reader.mentions if at.kind == "datetime"]
    assert [value(t.decode()) for at in moments if (t := reader.read(slot("begin"), (at.start, at.end)))] == stamps


@pytest.mark.parametrize(
    ("printed", "moment"),
    [
        ("31 December 2026, 24:00", "2027-01-01T00:00:00Z"), ("31.12.2026, 24.00 Uhr", "2027-01-01T00:00:00Z"),
        ("24 Uhr am 31. Dezember 2026", "2027-01-01T00:00:00Z"), ("2026-12-31T24:00:00Z", "2027-01-01T00:00:00Z"),
        ("2026-12-31 24:00", "2027-01-01T00:00:00Z"), ("28 February 2028 24:00 CET", "2028-02-29T00:00:00+01:00"),
        ("4 May 2026, 24:30", None), ("2026-05-04T24:00:01", None), ("4 May 2026 24:00:30", None),
        ("4 May 2026 at 12:00 midnight", "2026-05-04T00:00:00Z"), ("4 May 2026 at 12 noon", "2026-05-04T12:00:00Z"),
        ("4 May 2026 at 12 midnight", "2026-05-04T00:00:00Z"), ("4 May 2026, 12:00 (noon)", "2026-05-04T12:00:00Z"),
        ("4 May 2026, 12.00 noon", "2026-05-04T12:00:00Z"), ("12 noon on 4 May 2026", "2026-05-04T12:00:00Z"),
        ("4. Mai 2026, 12 Uhr mittags", "2026-05-04T12:00:00Z"), ("4 mai 2026 à 12 h minuit", "2026-05-04T00:00:00Z"),
        ("4. Mai 2026, 12:00 Mitternacht", "2026-05-04T00:00:00Z"), ("4 May 2026, 10:00 noon", "2026-05-04T10:00:00Z"),
        ("4 de mayo de 2026, 12:00 medianoche", "2026-05-04T00:00:00Z"),
        ("4 maggio 2026, 12:00 mezzogiorno", "2026-05-04T12:00:00Z"), ("2026-05-04 12:15 am", "2026-05-04T00:15:00Z"),
        ("2026-05-04 05:30:00 PM", "2026-05-04T17:30:00Z"),
        ("4 May 2026 11:00 Central European Summer Time", "2026-05-04T11:00:00+02:00"),
        ("4 May 2026 11:00 (Central European Time)", "2026-05-04T11:00:00+01:00"),
        ("4 May 2026 12:15 am (Pacific Daylight Time)", "2026-05-04T00:15:00-07:00"),
        ("4 May 2026 11:00 Eastern Standard Time", "2026-05-04T11:00:00-05:00"),
        ("4 May 2026 11:00 British Summer Time", "2026-05-04T11:00:00+01:00"),
        ("4 May 2026 11:00 Greenwich Mean Time", "2026-05-04T11:00:00Z"),
        ("4 May 2026 11:00 coordinated universal time", "2026-05-04T11:00:00Z"),
        ("4 May 2026 11:00 Indian Standard Time", "2026-05-04T11:00:00+05:30"),
        ("4. Mai 2026, 11 Uhr mitteleuropäischer Sommerzeit", "2026-05-04T11:00:00+02:00"),
        ("4 May 2026 11:00 Berlin time", None), ("4 May 2026 11:00 (Berlin time)", None),
        ("4 May 2026 11:00, New York Time", None), ("4 May 2026 11:00 Eastern Daylight Savings Time", None),
        ("4. Mai 2026, 11 Uhr Berliner Zeit", None), ("4 mai 2026, 11h00 (heure de Paris)", None),
        ("4 de mayo de 2026, 11:00 hora de Madrid", None), ("2026-05-04 11:00 Tokyo time", None),
        ("4 May 2026 11:00 Start Time 12:00", "2026-05-04T11:00:00Z"),
        ("4 May 2026 11:00 Boat time: 12:00", "2026-05-04T11:00:00Z"),
        ("4 May 2026 11:00\nEnd Time", "2026-05-04T11:00:00Z"), ("4 May 2026 11:00 local time", "2026-05-04T11:00:00Z"),
        ("2026-05-04 11:00:00.250+0000", "2026-05-04T11:00:00.250Z"),
        ("4 May 2026 11:00:00.5 CET", "2026-05-04T11:00:00.5+01:00"), ("4 May 2026, 9 to 5 p.m.", None),
    ],
)  # fmt: skip
def test_the_end_of_a_day_and_a_zone_in_words_are_read_or_nothing_is(printed: str, moment: str | None) -> None:
    reader = MentionReader(f"Begins: {printed}\n")
    found = [
        max(reader.mentions_at(slot("begin"), at.start), key=lambda one: one[1])[2]
        for at in reader.mentions
        if reader.mentions_at(slot("begin"), at.start) and at.start <= 8 + len(printed.partition("\n")[0]) - 3
    ]
    assert [value(text.decode()) for text in found[:1]] == ([moment] if moment else [])


@pytest.mark.parametrize(
    ("printed", "first"),
    [("9 to 5 p.m.", "09:00"), ("9-5 pm", "09:00"), ("9:30 to 5 p.m.", "09:30"), ("6 to 8 pm", "18:00"),
     ("10 to 12 pm", "10:00"), ("11 to 1 pm", "11:00"), ("11 to 1 am", "23:00"), ("2 to 3:30 p.m.", "14:00"),
     ("12 to 1 pm", "12:00"), ("9 bis 17 Uhr", "09:00"), ("12:00 midnight", "00:00"), ("12 noon", "12:00"),
     ("24:00", "00:00"), ("11:00 Berlin time", None)],
)  # fmt: skip
def test_the_first_hour_of_a_range_is_before_the_second(printed: str, first: str | None) -> None:
    found = MentionReader(f"Begins: {printed}\n").mentions_at(slot("doors"), 8)
    assert [value(text.decode())[:5] for _, _, text in found] == ([first] if first else [])


@pytest.mark.parametrize("text", ["9 June 2026", "09.06.2026", "2026-06-09", "June 9", "3 May 2026 to 5 May 2026"])
def test_a_date_alone_is_no_date_time(text: str) -> None:
    assert MentionReader(text).typed_mentions(slot("begin")) == []


@pytest.mark.parametrize("text", ["5 m", "2-3 hours", "1.5 months", "Room 3", "12.50"])
def test_no_length_is_made_of_other_numbers(text: str) -> None:
    assert MentionReader(text).typed_mentions(slot("length")) == []


@pytest.mark.slow
def test_the_reader_finds_the_values_and_makes_up_no_hour() -> None:
    documents = [drawn(at * 7, random.Random(at)) for at in range(15)]
    right = 0
    for one in documents:
        (record,) = records([one], schema_of(one.language), "default")
        assert meant("begin", record["begin"]) in (None, meant("begin", one.truth["begin"]))
        right += sum(meant(name, record[name]) == meant(name, one.truth[name]) for name in FIELDS)
    assert right >= 0.95 * len(documents) * len(FIELDS)
