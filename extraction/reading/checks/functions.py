"""The functions and operators of DuckDB that a check may use.

They compute from their arguments alone, so a check has the same result on any day and any machine. Functions that make
long texts or lists from short ones are left out, because an expression could then fill the memory: repeat, lpad,
replace, range, list_reduce, ….
"""

from __future__ import annotations


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
