"""Random corrections that a schema allows: each is stored and readable, or refused with nothing durable."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.support.corrected_folder import commit_waiting_of, digest_of, outcome_of, run
from tests.support.effort import QUICK
from tests.support.store_fixtures import compact

from cinnabar.errors import UsageError
from cinnabar.extraction.corrections import Action, Change, Corrector
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store
from cinnabar.schemas.automata.strings import parse

A, B = digest_of("a.txt"), digest_of("b.txt")
# Values at and beyond the edges of columns, as JSON texts.
EDGES = [2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**37, 10**38, 10**39, 10**399, 10**400]
integers = st.one_of(st.sampled_from(EDGES), st.integers(), st.integers(-5, 5)).map(str)
numbers = st.one_of(
    integers,
    st.sampled_from(["1e308", "1.8e308", "1e309", "-1e400", "1e-400", "1e9999", "0.1", "-0", "1.25", "1E+5", "NaN"]),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(str),
)
texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "\0", "\u202e", "\U0001f600", "a" * 70_000, "=1+1", "\x7f", "\ufffe", "\r\n"]),
).map(json.dumps) | st.sampled_from(['"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"'])
DATES = ["0000-01-01", "0001-01-01", "9999-12-31", "2024-02-29", "2023-02-29", "+10000-01-01"]
ZONES = ["Z", "+23:59", "-23:59", "+00:00", "z"]
dates = (st.sampled_from(DATES) | st.dates().map(str)).map(json.dumps)
times = st.sampled_from(["00:00:00", "23:59:59", "23:59:60", "12:00:00.1234567890123", "24:00:00"])
moments = st.builds(lambda *parts: json.dumps("{}T{}{}".format(*parts)), st.sampled_from(DATES), times,
                    st.sampled_from(ZONES))  # fmt: skip
scalar = st.one_of(
    st.sampled_from([{}, {"minimum": -(2**70)}, {"maximum": 2**70}, {"minimum": 0, "maximum": 10**18}]).map(
        lambda more: ({"type": "integer"} | more, integers)
    ),
    st.sampled_from([{}, {"multipleOf": 0.01}, {"multipleOf": 1e-9}, {"x-cinnabar-decimals": 4}, {"minimum": 0}]).map(
        lambda more: ({"type": "number"} | more, numbers)
    ),
    st.sampled_from([{}, {"maxLength": 5}, {"minLength": 1}]).map(lambda more: ({"type": "string"} | more, texts)),
    st.just(({"type": "string", "format": "date"}, dates)),
    st.just(({"type": "string", "format": "date-time"}, moments)),
    st.just(({"type": ["integer", "string"]}, integers | texts)),
    st.just(({"anyOf": [{"type": "number"}, {"type": "boolean"}]}, numbers)),
    st.just(({}, texts | numbers)),
    st.just(({"enum": [2**63, 1, -(2**64)]}, st.sampled_from([str(2**63), "1", str(-(2**64))]))),
    st.just(({"enum": [1e308, 0.5, 10**39]}, st.sampled_from(["1e308", "0.5", str(10**39)]))),
)


def listed(pair):
    schema, values = pair
    rows = st.lists(values, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
    return {"type": "array", "items": schema}, rows


def held(pair):
    schema, values = pair
    whole = {"type": "object", "properties": {"v": schema}, "required": ["v"], "additionalProperties": False}
    return whole, values.map(lambda part: f'{{"v":{part}}}')


wide = st.one_of(scalar, scalar, scalar.map(listed), scalar.map(held), scalar.map(listed).map(listed),
                 scalar.map(held).map(listed), scalar.map(listed).map(held))  # fmt: skip


@st.composite
def cases(draw):
    """A schema of some wide fields, and corrections: each a field and a JSON text of about its kind."""
    fields = draw(st.lists(wide, min_size=4, max_size=6))
    properties = {f"f{at}": schema for at, (schema, _) in enumerate(fields)}
    asked = [
        (f"/f{at}", draw(fields[at][1]))
        for at in (draw(st.integers(0, len(fields) - 1)) for _ in range(int(os.environ.get("WIDE_CORRECTIONS", "20"))))
    ]
    return {"title": "bill", "type": "object", "properties": {"n": {"type": "string"}} | properties}, asked


@pytest.mark.slow
@given(cases())
@settings(max_examples=int(os.environ.get("WIDE_EXAMPLES", "1" if QUICK else "50")), phases=[Phase.generate])
def test_a_correction_that_the_schema_allows_is_stored_and_readable_or_refused_with_nothing_durable(case):
    schema, asked = case
    schema = {**schema, "additionalProperties": False, "required": ["n"]}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        run(out, schema=schema, outcomes=[made(path, schema) for path in ("a.txt", "b.txt")], paths=("a.txt", "b.txt"))
        stored: dict[str, str] = {}
        corrector = Corrector(out)
        # Whoever holds the folder commits them all at once; the first is committed by its own call.
        for hold, some in ((nullcontext, asked[:1]), (lambda: Store.open(out), asked[1:])):
            with hold():
                for pointer, text in some:
                    before = tree(out)
                    try:
                        corrector.correct(A, "bill", [Change(Action.VALUE, pointer, text)], "eva")
                    except UsageError:
                        assert tree(out) == before, (pointer, text)
                    else:
                        stored[pointer] = text
        commit_waiting_of(out)
        assert not list((out / "waiting").glob("*.json")) and not (out / "aside").exists()
        shown = parse(query(out, f"SELECT record_json FROM bill WHERE document = '{A}'").rows[0][0])
        for pointer, text in stored.items():
            assert shown[pointer[1:]] == parse(text), pointer
        corrector.correct(B, "bill", [Change(Action.VALUE, "/n", '"other"')], "eva")
        run(out, "e2", schema, outcomes=[made(path, schema) for path in ("c.txt",)], paths=("c.txt",))
        compact(out)
        assert verify(out, clean=True).problems == []
        for view in ("bill", "fields", "history", "records", "lists", "corrections", "quarantine"):
            query(out, f"SELECT * FROM {view}")
        rows = dict(query(out, "SELECT path, n FROM bill").rows)
        assert rows == {"a.txt": "N", "b.txt": "other", "c.txt": "N"}


def made(path, schema):
    """The outcome of a run that found the one required value."""
    outcome = outcome_of(path, "e1", {"n": "N"}, schema=schema)
    return replace(outcome, record=replace(outcome.record, lists={}))


def tree(out):
    """The names and sizes of the files that hold results."""
    return {
        path: path.stat().st_size
        for folder in ("manifest", "data", "fields", "corrections", "outcomes", "waiting")
        for path in (out / folder).rglob("*")
        if path.is_file() and path.name not in (".lock", "readers")
    }
