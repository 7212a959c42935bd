"""Reads the syntax tree of a check's expression: the fields that it names, and that it does nothing but compute."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cinnabar.schemas.pointers import escape

#: Lambdas within one another: a schema with lists in lists in lists.
DEEPEST_LAMBDAS = 3

# The functions and operators of DuckDB that a check may use.
#
# They compute from their arguments alone, so a check has the same result on any day and any machine. DuckDB tells by
# `stability` which do, but not which make long texts or lists from short ones: repeat, lpad, range, list_reduce, ….
# Within one function it heeds no limit: at 512 MB and 5 s repeat('x', 1000000000) took 5.8 GB and 41 s.


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

FUNCTIONS = frozenset(" ".join((_OPERATORS, _NUMBERS, _TEXTS, _DATES, _LISTS, _OTHERS)).split())
#: The functions that take a lambda.
WITH_LAMBDA = frozenset(
    ("list_transform", "list_apply", "array_transform", "array_apply", "apply", "list_filter", "array_filter", "filter")
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
    """The columns that an expression names, and the places in the record by pointer; a field in a list is the list."""

    columns: tuple[str, ...]
    places: tuple[str, ...]


def named_in(syntax: str, columns: Mapping[str, str], types: pa.Schema) -> NamedFields:
    """Returns the columns and places that a syntax tree names.

    `columns` maps the table's columns to the pointers of the record; `types` has their types. Raises NoCheck if the
    expression does not parse, names no column or an unknown one, or does more than compute.
    """
    spelled = {name.casefold(): name for name in columns}
    named, places = dict[str, None](), dict[str, None]()
    some = f"the fields are {', '.join([*columns][:12])}{', …' if len(columns) > 12 else ''}"
    for first, *steps in _names(_expression(syntax)):
        if (column := spelled.get(first.casefold())) is None:
            near = difflib.get_close_matches(first, [*columns], 3)
            joined = "; records of several documents are joined in SQL (docs/recipes.md)" * bool(steps)
            advice = (f"near it: {', '.join(near)}" if near else some) + joined
            raise NoCheck(f"expected the names of fields, got {'.'.join([first, *steps])}", advice)
        named[column] = None
        places[columns[column] + _below(types.field(column).type, steps)] = None
    if not named:
        raise NoCheck("expected an expression over fields of the record, got one that names no field", some)
    return NamedFields(tuple(named), tuple(places))


def _below(kind: pa.DataType, steps: Sequence[str]) -> str:
    """Returns the pointer that these names lead to from a value of this type, as far as objects go."""
    if not steps or not pa.types.is_struct(kind):
        return ""
    fields = (kind.field(at) for at in range(kind.num_fields))
    found = next((one for one in fields if one.name.casefold() == steps[0].casefold()), None)
    return "" if found is None else f"/{escape(found.name)}{_below(found.type, steps[1:])}"


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


def _names(node: Any, scopes: Sequence[frozenset[str]] = (), takes_lambda: bool = False) -> Iterator[list[str]]:
    """Yields the names in an expression, step by step, but for the parameters of its lambdas.

    `scopes` are the parameters of the lambdas around it; `takes_lambda` if it is an argument of a function that has
    one. Raises NoCheck for a part that does more than compute.
    """
    if isinstance(node, list):
        for part in node:
            yield from _names(part, scopes, takes_lambda)
    if not isinstance(node, dict):
        return
    kind = node.get("class", "")
    if kind and (kind not in _COMPUTING or (kind == "LAMBDA" and not takes_lambda)):
        raise NoCheck(
            f"expected an expression that only computes, got a part of the kind {str(kind).lower()}",
            "a check sees one record: no subqueries, windows, stars or parameters, lambdas in functions on lists",
        )
    if kind == "COLUMN_REF":
        if not any(node["column_names"][0].casefold() in scope for scope in scopes):
            yield node["column_names"]
    elif kind == "LAMBDA":
        if len(scopes) == DEEPEST_LAMBDAS:
            raise NoCheck(f"expected at most {DEEPEST_LAMBDAS} lambdas within one another, got more")
        parameters = frozenset(names[0].casefold() for names in _names(node["lhs"]))
        yield from _names(node["expr"], (*scopes, parameters))
    else:
        if kind == "FUNCTION":
            _check_function(node)
        within = (not kind and takes_lambda) or node.get("function_name", "").casefold() in WITH_LAMBDA
        yield from _names([*node.values()], scopes, within)


def _check_function(node: Mapping[str, Any]) -> None:
    """Raises NoCheck for a function that is not in FUNCTIONS."""
    name = node["function_name"]
    path = node.get("qualified_name", {}).get("path", [name])
    if len(path) > 1 or node.get("schema") or name.casefold() not in FUNCTIONS:
        near = difflib.get_close_matches(name.casefold(), sorted(FUNCTIONS), 3)
        raise NoCheck(
            f"expected functions that only compute from their arguments, got {'.'.join(path)}",
            f"near it: {', '.join(near)}" if near else "docs/schemas.md tells what they may do",
        )
