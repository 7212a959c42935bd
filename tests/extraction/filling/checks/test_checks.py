"""The checks of a schema: what an expression may say, and when it holds."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import each
from tests.support.effort import examples

from cinnabar.errors import UnsupportedSchema
from cinnabar.extraction.filling.checks.checks import Checks
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.automata.strings import parse

NUMBER = {"type": ["number", "null"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "net": NUMBER,
        "tax": NUMBER,
        "gross": {"type": ["number", "null"], "multipleOf": 0.01},
        "count": {"type": "integer"},
        "issued": {"type": ["string", "null"], "format": "date"},
        "path": {"type": ["string", "null"]},
        "seller": {"type": "object", "properties": {"name": {"type": "string"}, "city": {"type": "string"}}},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"amount": NUMBER, "kind": {"type": "string"}}},
        },
    },
}


def checks(*expressions: Any, schema: dict[str, Any] = SCHEMA, **named: Any) -> Checks:
    stated = {f"c{at}": one for at, one in enumerate(expressions)} | named
    source = load_schema(schema | {"x-cinnabar-checks": stated})
    return Checks(source, compile_schema(source.schema))


def verdict(expression: str, record: Any, schema: dict[str, Any] = SCHEMA) -> bool | None:
    value = parse(record if isinstance(record, str) else json.dumps(record))
    return checks(expression, schema=schema).evaluate([value])[0]["c0"]


def refusal(expression: Any, name: str = "adds_up") -> UnsupportedSchema:
    with pytest.raises(UnsupportedSchema) as caught:
        checks(**{name: expression})
    assert caught.value.pointer == f"/x-cinnabar-checks/{name}"
    return caught.value


def test_a_schema_without_the_keyword_has_no_checks() -> None:
    source = load_schema(SCHEMA)
    none = Checks(source, compile_schema(source.schema))
    assert not none and none.evaluate([{}]) == [{}]


@pytest.mark.parametrize(
    ("record", "holds"),
    [
        ('{"net": 0.1, "tax": 0.2, "gross": 0.3}', True),
        ('{"net": 80.91, "tax": 15.37, "gross": 96.28}', True),
        ('{"net": 80.91, "tax": 15.37, "gross": 96.29}', False),
        ('{"net": 80.91, "tax": null, "gross": 96.28}', None),
        ('{"net": 80.91, "gross": 96.28}', None),
        ('{"net": 1e25, "tax": 0.01, "gross": 10000000000000000000000000.01}', True),
    ],
)
def test_decimals_are_added_exactly_and_a_missing_one_leaves_it_open(record: str, holds: bool | None) -> None:
    assert verdict("net + tax = gross", record) is holds


@pytest.mark.parametrize("number", ["1e30", "0.12345678901", "12345678901234567890123456789012345678901"])
def test_a_number_that_no_decimal_holds_leaves_the_check_open_alone(number: str) -> None:
    both = checks("net > 0", "tax > 0").evaluate([{"net": parse(number), "tax": 1}, {"net": 1, "tax": 1}])
    assert both == [{"c0": None, "c1": True}, {"c0": True, "c1": True}]


def test_a_result_that_overflows_leaves_the_check_open_and_others_as_they_are() -> None:
    rows = checks("net * net * net * net > 0").evaluate([{"net": Decimal("12345678.5")}, {"net": 2}])
    assert rows == [{"c0": None}, {"c0": True}]


@pytest.mark.parametrize(
    "expression",
    [
        "list_sum(list_transform(lines, x -> x.amount)) = net",
        "list_sum(list_transform(lines, lambda x: x.amount)) = net",
        "list_sum([x.amount for x in lines]) = net",
        "LIST_SUM(list_transform(list_filter(Lines, x -> x.kind <> 'note'), x -> x.amount)) = Net",
        "list_bool_and(list_transform(lines, x -> x.amount <= net))",
        "issued between date '2024-01-01' and date '2024-12-31' and month(issued) = 2",
        "path_ like '%.pdf' and seller.name <> seller.city",
        "case when count > 1 then len(lines) = count else true end",
        "abs(net * 1.19 - gross) <= 0.01",
    ],
)
def test_lists_structs_dates_and_texts_can_be_checked(expression: str) -> None:
    record = {
        "net": 0.3,
        "gross": 0.36,
        "count": 2,
        "issued": "2024-02-29",
        "path": "a.pdf",
        "seller": {"name": "A", "city": "B"},
        "lines": [{"amount": 0.1, "kind": "x"}, {"amount": 0.2, "kind": "y"}],
    }
    assert verdict(expression, record) is True


def test_a_check_names_its_fields_and_a_list_for_those_within_it() -> None:
    (one, two, three) = checks(
        "list_sum(list_transform(lines, x -> x.amount)) = net", "seller.name = 'A'", "len(lines) > 0"
    ).each
    assert (one.pointers, two.pointers, three.pointers) == (("/lines", "/net"), ("/seller/name",), ("/lines",))


def test_a_record_that_is_no_object_is_the_column_value() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    assert verdict("list_sum(value) = 3", [1, 2], schema) is True
    assert verdict("list_sum(value) = 3", [1, 1], schema) is False


@pytest.mark.parametrize("record", ["[]", "3", '{"lines": [3]}', '{"net": "x"}', '{"seller": [], "net": {}}'])
def test_a_record_that_its_schema_refuses_leaves_checks_open(record: str) -> None:
    assert verdict("net > 0 and len(lines) > 0 and seller.name = 'A'", record) is None


@each(
    "expression, message",
    [
        ("nett + tax = gross", "near it: net"),
        ("seller.nmae = 'A'", '"name"'),
        ("list_transform(lines, x -> x.amuont)[1] = net", '"amount"'),
        ("net + tax", "DECIMAL"),
        ("net +", "SQL"),
        ("from = 1", "double quotes"),
        ("1 = 1", "names no field"),
        ("net > 'abc'", "abc"),
        ("list_summ([net]) = 1", "list_sum"),
        ("sum(net) = 1", "got sum"),
        ("net = tax, tax = gross", "TUPLE"),
        ("document = 'x'", "got document"),
        ("", "1 to 4,000 characters"),
        (7, "got a number"),
        ("net = 1 or " * 500 + "net = 2", "got 5,507 characters"),
    ],
)
def test_an_expression_that_is_no_check_is_refused_with_its_pointer(expression: Any, message: str) -> None:
    assert message in str(refusal(expression))


HOSTILE = [
    "net = (select 1)",
    "net in (select net from record)",
    "exists (select 1 from read_text('/etc/passwd'))",
    "read_text('/etc/passwd') = path_",
    "getenv('HOME') = path_",
    "current_setting('threads') = path_",
    "current_date > issued",
    "random() > net",
    "nextval('s') = net",
    "pg_sleep(9) = net",
    "sleep_ms(9000) = net",
    "write_log('x') = net",
    "error('x') = path_",
    "net = 1; drop table record",
    "net = 1) from record; select (1",
    "net = 1) , (1",
    "net = $1",
    "net = ?",
    "* = 1",
    "columns('n.*') = 1",
    "net = #1",
    "sum(net) over () = 1",
    "unnest([net]) = 1",
    "repeat('x', 1000000000) = path_",
    "lpad('x', 1000000000, 'y') = path_",
    "len(range(1000000000)) = net",
    "list_reduce([path_], (a, b) -> a || b) = 'x'",
    "replace(path_, 'a', path_) = 'x'",
    "lambda x: net = x",
    "main.abs(net) = 1",
    "net.abs() = 1",
    "record.net = 1",
    '"?".net = 1',
    "len(list_transform(lines, current_date -> current_date)) = 1 and current_date > issued",
    "list_transform(lines, x.y -> 1) is null",
    "list_transform(lines, (x -> x) -> 1) is null",
    "net = 1 -- \n union select true",
    "('x'::json -> 'a') = net",
    "net = any(select 1)",
    "(" * 1500 + "net = 1" + ")" * 1500,
    "not " * 990 + "net = 1",
    "list_transform(lines, a -> list_transform(lines, b -> list_transform(lines, c -> list_transform(lines,"
    " d -> net)))) is null",
    "net = 1\x00",
]


@each("expression", HOSTILE)
def test_an_expression_that_does_more_than_compute_is_refused(expression: str) -> None:
    refusal(expression)


@pytest.mark.slow
@examples(40)
@given(st.text(max_size=40) | st.text("netax+-=()*,;'\" 10.<>[]$:|", max_size=40))
def test_any_text_is_a_check_or_is_refused(expression: str) -> None:
    try:
        made = checks(expression)
    except UnsupportedSchema:
        return
    assert made.evaluate([{"net": 1}])[0]["c0"] in (True, False, None)


@pytest.mark.parametrize("name", ["", "two words", "a:b", "a/b", "x" * 65])
def test_a_name_that_is_no_word_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedSchema, match="expected a name of 1 to 64"):
        checks(**{name: "net = 1"})


@pytest.mark.parametrize("stated", [[], "net = 1", 3, None])
def test_checks_that_are_no_object_are_refused(stated: Any) -> None:
    source = load_schema(SCHEMA | {"x-cinnabar-checks": stated})
    with pytest.raises(UnsupportedSchema, match="expected an object such as"):
        Checks(source, compile_schema(source.schema))


@pytest.mark.parametrize("place", ["properties/lines/items", "$defs/a", "allOf/0"])
def test_checks_below_the_root_are_refused_with_their_pointer(place: str) -> None:
    schema: Any = {"x-cinnabar-checks": {"a": "net = 1"}}
    for step in reversed(place.split("/")):
        schema = [schema] if step == "0" else {step: schema}
    source = load_schema({"type": "object"} | schema)
    with pytest.raises(UnsupportedSchema) as caught:
        Checks(source, compile_schema(source.schema))
    assert caught.value.pointer == f"/{place}/x-cinnabar-checks"


def test_a_property_or_a_value_with_the_name_of_the_keyword_is_no_check() -> None:
    schema = {"type": "object", "properties": {"x-cinnabar-checks": NUMBER}, "default": {"x-cinnabar-checks": 1}}
    assert not Checks(load_schema(schema), compile_schema(schema))


def test_a_check_that_takes_too_long_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cinnabar.extraction.filling.checks.checks.QUERY_SECONDS", 0.3)
    inner = "list_sum(list_transform(lines, z -> z.amount + x.amount + y.amount))"
    slow = checks(f"list_sum(list_transform(lines, x -> list_sum(list_transform(lines, y -> {inner})))) = 1", "net > 0")
    record = {"net": 1, "lines": [{"amount": at} for at in range(2000)]}
    began = time.monotonic()
    assert slow.evaluate([record]) == [{"c0": None, "c1": True}]
    assert time.monotonic() - began < 30


@examples(30)
@given(st.lists(st.tuples(*[st.decimals(-(10**9), 10**9, places=2)] * 3), min_size=1, max_size=8))
def test_sums_are_judged_as_python_judges_decimals(rows: list[tuple[Decimal, Decimal, Decimal]]) -> None:
    found = _SUM.evaluate([{"net": net, "tax": tax, "gross": gross} for net, tax, gross in rows])
    assert [one["c0"] for one in found] == [net + tax == gross for net, tax, gross in rows]
    assert [one["c1"] for one in found] == [net + tax != gross for net, tax, gross in rows]
    right = [{"net": net, "tax": tax, "gross": net + tax} for net, tax, _ in rows]
    assert all(one["c0"] for one in _SUM.evaluate(right))


_SUM = checks("net + tax = gross", "net + tax <> gross")
