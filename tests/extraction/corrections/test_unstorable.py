"""Values that a schema allows and a column does not hold: refused before anything is durable, and no one is stopped."""

from __future__ import annotations

import json

import orjson
import pytest
from tests.support.corrected_folder import commit_waiting_of, digest_of, outcome_of, run
from tests.support.store_fixtures import compact

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector, Refused, corrections
from cinnabar.extraction.corrections.journal import unread_corrections
from cinnabar.extraction.maintenance.forgetting import forget
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store

A, B = digest_of("a.txt"), digest_of("b.txt")
WIDE = {
    "title": "bill",
    "type": "object",
    "required": ["number"],
    "properties": {
        "number": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "price": {"type": "number", "multipleOf": 0.01},
        "due": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "lines": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": False, "properties": {"n": {"type": "integer"}}},
        },
        "any": {},
    },
    "additionalProperties": False,
}
PLAIN = {"number": "N", "lines": []}
BIG = str(2**63)


def wide(out):
    run(out, schema=WIDE, outcomes=[outcome_of(p, "e1", PLAIN, schema=WIDE) for p in ("a.txt", "b.txt", "c.txt")])


def correct(out, pointer, text, document=A):
    return Corrector(out).correct(document, "bill", [Change(Action.VALUE, pointer, text)], "eva")


def works(out):
    """Every later command does its work, and another document's correction is in its view."""
    correct(out, "/number", '"later"', B)
    run(out, "e9", schema=WIDE, outcomes=[outcome_of("d.txt", "e9", PLAIN, schema=WIDE)], paths=("d.txt",))
    compact(out)
    assert verify(out, clean=True).problems == []
    assert query(out, f"SELECT number FROM bill WHERE document = '{B}'").rows == [("later",)]
    for view in ("bill", "fields", "history", "records", "corrections", "lists", "outcomes"):
        query(out, f"SELECT * FROM {view}")


REFUSED = [
    ("/count", BIG),
    ("/count", str(-(2**63) - 1)),
    ("/count", "1" + "0" * 5000),
    ("/count", "1e30"),
    ("/share", "1e390"),
    ("/share", "1e9999"),
    ("/price", "1" + "0" * 40),
    ("/price", "1e50"),
    ("/due", '"0000-01-01"'),
    ("/at", '"0001-01-01T00:00:00+23:00"'),
    ("/at", '"9999-12-31T23:59:59-23:00"'),
    ("/at", '"2016-12-31T23:59:60Z"'),
    ("/rows", f"[[1],[{BIG}]]"),
    ("/lines", f'[{{"n":1}},{{"n":{BIG}}}]'),
    ("/any", "1e9999"),
    ("/number", '"\\ud800"'),
]


def test_a_value_that_its_column_does_not_hold_is_refused_with_its_place_and_nothing_is_durable(out):
    wide(out)
    for pointer, text in REFUSED:
        with pytest.raises(UsageError, match=pointer) as caught:
            correct(out, pointer, text)
        assert not isinstance(caught.value, Refused) or "nothing was changed" in str(caught.value)
        assert list((out / "waiting").glob("*.json")) == [] and corrections(out) == [], text[:80]
    with pytest.raises(Refused, match="/rows/1/0: expected an integer of 64 bits"):
        correct(out, "/rows", f"[[1],[{BIG}]]")
    with pytest.raises(Refused, match="cannot be stored at /lines/1/n"):
        correct(out, "/lines", f'[{{"n":1}},{{"n":{BIG}}}]')
    with pytest.raises(Refused, match="surrogate"):
        Corrector(out).correct(A, "bill", [Change(Action.VALUE, "/number", '"x"')], "eva\ud800")
    works(out)


@pytest.mark.slow
def test_a_value_at_the_edge_of_its_column_is_stored_and_readable(out):
    wide(out)
    for pointer, text in (
        ("/count", str(2**63 - 1)),
        ("/share", "1e308"),
        ("/price", "123456789012345678901234567890.25"),
        ("/due", '"0001-01-01"'),
        ("/number", '"a\\u0000b"'),
        ("/number", json.dumps("x" * (1 << 20))),
        ("/any", BIG),
        ("/any", "1e399"),
        ("/any", '"\\u202e\\u0000"'),
    ):
        correct(out, pointer, text)
        stored = json.loads(query(out, f"SELECT record_json FROM bill WHERE document = '{A}'").rows[0][0])
        assert stored[pointer[1:]] in (json.loads(text), 10**308, 10**399), text[:80]
    works(out)


def planted(out, document=A, value=BIG):
    """An entry as an older version made it: the column was not asked."""
    from unittest import mock

    from cinnabar.extraction.corrections import revising

    with Store.open(out), mock.patch.object(revising, "check_stored", lambda *_: None):
        correct(out, "/count", value, document)
    (path,) = (out / "waiting").glob("*.json")
    return path


def test_an_entry_that_cannot_be_stored_is_set_aside_with_its_documents_name_and_stops_nobody(out):
    wide(out)
    path = planted(out)
    correct(out, "/number", '"mine"', B)
    assert not path.exists() and (out / "aside" / "corrections" / path.name).is_file()
    (told,) = unread_corrections(out).values()
    assert "a.txt" in told and "/count" in told
    problems = verify(out).problems
    assert len(problems) == 1 and "a.txt" in problems[0].detail
    assert query(out, f"SELECT number FROM bill WHERE document = '{B}'").rows == [("mine",)]
    run(out, "e2", schema=WIDE, outcomes=[outcome_of("d.txt", "e2", PLAIN, schema=WIDE)], paths=("d.txt",))
    # The document itself can be corrected, and forgotten with what was set aside.
    correct(out, "/count", "7")
    assert query(out, f"SELECT count FROM bill WHERE document = '{A}'").rows == [(7,)]
    forget(out, "a.txt")
    assert list((out / "aside" / "corrections").iterdir()) == []


def test_while_a_run_goes_an_entry_that_cannot_be_stored_stops_no_correction_of_its_document(out):
    wide(out)
    path = planted(out)
    with Store.open(out, trusting=False):
        correct(out, "/number", '"mine"')
        assert path.exists()
    commit_waiting_of(out)
    assert query(out, f"SELECT number, count FROM bill WHERE document = '{A}'").rows == [("mine", None)]


DAMAGED = [
    {"document": "../../victim"},
    {"document": 5},
    {"identity": "../victim"},
    {"identity": "20200101T000000000000Z-00000000"},
    {"schema_name": ["x"]},
    {"format": 2},
    {"corrections": [{"identity": 1}]},
    {"undone": [7]},
    {"undone": [{"identity": "x", "undoes": "y", "who": "z", "made": "yesterday"}]},
    {"corrections": "abc"},
    [],
    5,
    None,
]
PARTS = ("units", "pointer", "after", "schema_fingerprint", "who", "evidence", "identity", "made", "action")
VALUES: list[object] = [5, [{"pointer": "/x"}], "\x00", "/number/x/y", None, {}]


def test_damaged_entries_stop_nobody_and_are_told(out):
    wide(out)
    path = planted(out, value="5")
    said = orjson.loads(path.read_bytes())
    path.unlink()
    found = [said | change if isinstance(change, dict) else change for change in DAMAGED]
    for part in PARTS:
        for value in VALUES:
            found.append(said | {"corrections": [said["corrections"][0] | {part: value}]})
    for number, content in enumerate(found):
        identity = f"20260101T000000000000Z-{number:08x}"
        if isinstance(content, dict) and content["identity"] == said["identity"]:
            content = orjson.loads(orjson.dumps(content).replace(said["identity"].encode(), identity.encode()))
        (out / "waiting" / f"{identity}.json").write_bytes(orjson.dumps(content))
    correct(out, "/number", '"mine"', B)
    run(out, "e2", schema=WIDE, outcomes=[outcome_of("d.txt", "e2", PLAIN, schema=WIDE)], paths=("d.txt",))
    compact(out)
    told = unread_corrections(out)
    assert len(verify(out).problems) == len(told) >= len(DAMAGED) + 30
    assert query(out, f"SELECT number FROM bill WHERE document = '{B}'").rows == [("mine",)]
    correct(out, "/count", "7")
    assert query(out, f"SELECT count FROM bill WHERE document = '{A}'").rows == [(7,)]


@pytest.mark.slow
def test_a_correction_that_a_new_column_does_not_hold_puts_that_record_alone_into_quarantine(out):
    text = {**WIDE, "properties": {**WIDE["properties"], "count": {"type": ["integer", "string"]}}}
    made = [outcome_of(p, "e1", PLAIN, schema=text) for p in ("a.txt", "b.txt", "c.txt")]
    run(out, schema=text, outcomes=made)
    correct(out, "/count", BIG)
    again = {**WIDE, "title": "bill"}
    made = [outcome_of(p, "e2", PLAIN, schema=again) for p in ("a.txt", "b.txt", "c.txt")]
    run(out, "e2", schema=again, outcomes=made)
    assert query(out, "SELECT path, code FROM quarantine").rows in ([("a.txt", "unstorable")], [])
    works(out)
