"""Reads the syntax tree of a check's expression: the fields that it names, and that it does nothing but compute."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from cinnabar.extraction.filling.checks.thresholds import DEEPEST_LAMBDAS
from cinnabar.schemas.pointers import escape

# The functions and operators of DuckDB that a check may use.
#
# They compute from their arguments alone, so a check has the same result on any day and any machine. Functions that
# make long texts or lists from short ones are left out, because an expression could then fill the memory: repeat,
# lpad, replace, range, list_reduce, ….


def _names(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


_OPERATORS = "+ - * / // % ^ ** || ~~ !~~ ~~* !~~* ~~~ <@ @> & |"
_NUMBERS = (
    "abs ceil ceiling even exp floor ln log log10 log2 mod pow power round round_even sign sqrt trunc"
    " greatest least fdiv fmod isfinite isinf isnan gcd lcm add subtract multiply divide"
)
_TEXTS = (
    "concat concat_ws contains starts_with ends_with prefix suffix instr strpos position length len char_length"
    " character_length strlen lower lcase upper ucase trim ltrim rtrim left right substr substring reverse split_part"
    " string_split str_split split translate strip_accents nfc_normalize ascii unicode ord chr"
    " regexp_matches regexp_full_match regexp_extract regexp_extract_all"
    " levenshtein editdist3 damerau_levenshtein hamming mismatches jaccard jaro_similarity jaro_winkler_similarity"
)
_DATES = (
    "date_part datepart date_diff datediff date_sub datesub date_trunc datetrunc date_add age make_date make_timestamp"
    " year month day quarter week weekday weekofyear dayofweek isodow dayofmonth dayofyear isoyear yearweek dayname"
    " monthname last_day days_in_month hour minute second epoch strftime strptime try_strptime timezone"
    " to_years to_months to_weeks to_days to_hours to_minutes to_seconds"
)
_LISTS = (
    "list_sum list_min list_max list_avg list_count list_product list_median list_mode list_first list_last"
    " list_any_value list_bool_and list_bool_or list_string_agg array_to_string"
    " list_transform list_apply array_transform array_apply apply list_filter array_filter filter"
    " list_contains list_has list_has_any list_has_all array_contains array_has array_has_any array_has_all"
    " list_distinct list_unique array_distinct array_unique list_sort list_reverse_sort list_reverse array_sort"
    " array_reverse list_position list_indexof array_position array_length list_extract list_element array_extract"
    " list_slice array_slice list_concat list_cat list_append list_prepend list_zip list_intersect list_where"
    " flatten list_value list_pack cardinality"
)
_OTHERS = "struct_extract struct_pack row struct_keys nullif if typeof map map_keys map_values"

FUNCTIONS = _names(_OPERATORS, _NUMBERS, _TEXTS, _DATES, _LISTS, _OTHERS)
#: The functions that take a lambda.
WITH_LAMBDA = _names(
    "list_transform list_apply array_transform array_apply apply list_filter array_filter filter"
)
#: The functions with items of their first argument as result.
KEEPING_ITEMS = _names(
    "list_filter array_filter filter list_distinct array_distinct list_sort list_reverse_sort list_reverse array_sort"
    " array_reverse list_slice array_slice list_where"
)


# The rest of DuckDB's classes: subqueries, windows, stars, parameters, positions, defaults, collations.
_COMPUTING = {
    "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE", "BETWEEN", "CAST", "COLUMN_REF", "CONSTANT", "FUNCTION", "LAMBDA",
    "TYPE",
}  # fmt: skip


class NoCheck(ValueError):
    """An expression that is no check: `reason`, and `advice` on it."""

    def __init__(self, reason: str, advice: str = "") -> None:
        self.reason, self.advice = reason, advice
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The columns that an expression names, and the places in the record: pointers with `*` for an index."""

    columns: tuple[str, ...]
    places: tuple[str, ...]


def named_in(syntax: str, columns: Mapping[str, str], types: pa.Schema) -> NamedFields:
    """Returns the columns and places that a syntax tree names.

    `columns` maps the table's columns to the properties of the record, "" to the record itself; `types` has their
    types. Raises NoCheck if the expression does not parse, names no column or an unknown one, or does more than
    compute.
    """
    walk = _FieldWalk(columns, types)
    walk.visit(_expression(syntax), {}, 0)
    if not walk.places:
        raise NoCheck("expected an expression over fields of the record, got one that names no field", walk.fields())
    return NamedFields(tuple(walk.columns), tuple(walk.places))


def _expression(syntax: str) -> Any:
    """Returns the one expression of a syntax tree. Raises NoCheck for another text."""
    tree = json.loads(syntax)
    if tree["error"]:
        reason = f"expected an expression in DuckDB's SQL, got {tree.get('error_message', 'something else')}"
        raise NoCheck(reason, 'a name that is a word of SQL too stands in double quotes, such as "from"')
    (statement, *others) = tree["statements"]
    selected = statement["node"].get("select_list", [])
    if others or len(selected) != 1:
        raise NoCheck("expected one expression, got several")
    return selected[0]


@dataclass(slots=True)
class _Place:
    """A place that an expression names; `type` is None if it is not known."""

    pointer: str
    type: pa.DataType | None


# The parameters of the lambdas around an expression, in lower case; None for those that are no items of a known list.
_Scope = Mapping[str, "_Place | None"]


@dataclass(slots=True)
class _FieldWalk:
    properties: Mapping[str, str]
    types: pa.Schema
    columns: dict[str, None] = field(default_factory=dict)
    places: dict[str, None] = field(default_factory=dict)

    def visit(self, node: Any, scope: _Scope, deep: int) -> None:
        """Notes the places below this node. Raises NoCheck for a part that does more than compute."""
        if isinstance(node, list):
            for part in node:
                self.visit(part, scope, deep)
            return
        if not isinstance(node, dict):
            return
        kind = node.get("class")
        if kind is not None and kind not in _COMPUTING:
            raise NoCheck(
                f"expected an expression that only computes, got a part of the kind {str(kind).lower()}",
                "a check sees one record: no subqueries, windows, stars or parameters",
            )
        if kind == "COLUMN_REF":
            place = self._place(node["column_names"], scope)
            if place is not None:
                self.places[place.pointer] = None
        elif kind == "FUNCTION":
            self._function(node, scope, deep)
        elif kind == "LAMBDA":
            raise NoCheck("expected a lambda as an argument of a function on lists only", "such as list_transform")
        else:
            self.visit(list(node.values()), scope, deep)

    def _function(self, node: dict[str, Any], scope: _Scope, deep: int) -> None:
        name = node["function_name"]
        path = node.get("qualified_name", {}).get("path", [name])
        if len(path) > 1 or node.get("schema") or name.casefold() not in FUNCTIONS:
            called = ".".join(path) if len(path) > 1 else name
            near = difflib.get_close_matches(name.casefold(), sorted(FUNCTIONS), 3)
            raise NoCheck(
                f"expected functions that only compute from their arguments, got {called}",
                f"near it: {', '.join(near)}" if near else "docs/schemas.md lists the functions",
            )
        arguments = [one["expression"] for one in node["arguments"]]
        lambdas = [one for one in arguments if one["class"] == "LAMBDA"]
        if lambdas and name.casefold() not in WITH_LAMBDA:
            raise NoCheck(f"expected no lambda in {name}", f"one of {', '.join(sorted(WITH_LAMBDA))} takes a lambda")
        if not lambdas:
            self.visit([value for key, value in node.items() if key != "arguments"], scope, deep)
            self.visit(arguments, scope, deep)
            return
        if deep == DEEPEST_LAMBDAS:
            raise NoCheck(f"expected at most {DEEPEST_LAMBDAS} lambdas within one another, got more")
        before = len(self.places)
        items = self._items(arguments[0], scope, deep)
        for one in lambdas:
            first, *rest = [name.casefold() for name in _parameters(one["lhs"])]
            self.visit(one["expr"], {**scope, **dict.fromkeys(rest), first: items}, deep + 1)
        if items is not None and len(self.places) == before:
            self.places[items.pointer] = None

    def _items(self, node: dict[str, Any], scope: _Scope, deep: int) -> _Place | None:
        """Returns the place of the items of a list; notes all places below it if they are not the record's own."""
        if node["class"] == "COLUMN_REF":
            place = self._place(node["column_names"], scope)
            if place is not None and place.type is not None and pa.types.is_list(place.type):
                return _Place(f"{place.pointer}/*", place.type.value_type)
            return place
        if node["class"] == "FUNCTION" and node["function_name"].casefold() in KEEPING_ITEMS:
            self._function(node, scope, deep)
            return self._items(node["arguments"][0]["expression"], scope, deep)
        self.visit(node, scope, deep)
        return None

    def _place(self, names: list[str], scope: _Scope) -> _Place | None:
        """Returns the place of a name; None for a lambda's parameter of unknown origin. Raises NoCheck if unknown."""
        first, *steps = names
        if first.casefold() in scope:
            start = scope[first.casefold()]
            return None if start is None else self._below(start, steps, first)
        column = next((name for name in self.properties if name.casefold() == first.casefold()), None)
        if column is None:
            joined = "; records of several documents are joined in SQL (docs/recipes.md)" * bool(steps)
            raise NoCheck(f"expected the names of fields, got {'.'.join(names)}", self.fields(first) + joined)
        self.columns[column] = None
        start = _Place(self.properties[column], self.types.field(column).type)
        return self._below(start, steps, column)

    def _below(self, start: _Place, steps: list[str], named: str) -> _Place:
        place = start
        for step in steps:
            if place.type is None or not pa.types.is_struct(place.type):
                break
            inner = [place.type.field(at) for at in range(place.type.num_fields)]
            part = next((one for one in inner if one.name.casefold() == step.casefold()), None)
            if part is None:
                near = difflib.get_close_matches(step, [one.name for one in inner], 3)
                known = near or [one.name for one in inner]
                raise NoCheck(f"expected fields of {named}, got {step}", f"it has {', '.join(known[:8])}")
            place = _Place(f"{place.pointer}/{escape(part.name)}", part.type)
        return place

    def fields(self, near: str = "") -> str:
        """Returns advice: the columns near a name, or the first ones."""
        names = list(self.properties)
        close = difflib.get_close_matches(near, names, 3) if near else []
        if close:
            return f"near it: {', '.join(close)}"
        return f"the fields are {', '.join(names[:12])}{', …' if len(names) > 12 else ''}"


def _parameters(node: dict[str, Any]) -> Iterator[str]:
    """Yields the names of a lambda's parameters."""
    if node["class"] == "COLUMN_REF" and len(node["column_names"]) == 1:
        yield node["column_names"][0]
    elif node["class"] == "FUNCTION" and node["function_name"] == "row":
        for one in node["arguments"]:
            yield from _parameters(one["expression"])
    else:
        raise NoCheck("expected names as the parameters of a lambda, got something else")
