"""The subjects of the two parts, read from `tuning.json` and `held_back.json`, with the formulas of their columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.list_layouts import values
from bench.list_layouts.subjects import Subject
from bench.list_layouts.values import Field, Kind, Row


def _sum(row: Row, *parts: str) -> Any:
    return round(sum(row[part] or 0 for part in parts), 2)


#: Formulas from the row so far and the row before, by the field that they give.
FORMULAS: dict[str, Callable[[Row, Row], Any]] = {
    "cost": lambda row, _: _sum(row, "compensation", "adjusting_costs", "set_aside"),
    "to_pay": lambda row, _: round(row["before_discount"] * (1 - (row["discount"] or 0) / 100), 2),
    "standing": lambda row, before: round(
        before.get("standing", 0.0) + (row["charged"] or 0) - (row["credited"] or 0), 2),
    "difference": lambda row, _: row["seen"] - row["expected"],
    "difference_worth": lambda row, _: round(row["difference"] * row["piece_cost"], 2),
    "points": lambda row, _: row["first_part"] + row["second_part"],
    "share": lambda row, _: round(row["points"] / 1.2, 1),
    "before_deductions": lambda row, _: round(row["time_worked"] * row["hourly"], 2),
    "deducted": lambda row, _: round(-0.22 * row["before_deductions"], 2),
    "received": lambda row, _: round(row["before_deductions"] + row["deducted"], 2),
    "all_together": lambda row, _: _sum(row, "to_rebuild", "movables", "lost_income"),
    "afterwards": lambda row, before: round(
        before.get("afterwards", 900.0) + (row["credit_side"] or 0) - (row["debit_side"] or 0), 2),
    "missing": lambda row, _: round(row["promised"] - (row["arrived"] or 0), 2),
    "last_count": lambda row, _: row["first_count"] + 7 * len(row["device"]) + row["#"] % 83,
    "used": lambda row, _: row["last_count"] - row["first_count"],
    "bill": lambda row, _: round(row["used"] * row["per_unit"], 2),
}  # fmt: skip


@cache
def subjects(part: str) -> dict[str, Subject]:
    """Returns the subjects of a part by name."""
    stored = json.loads((Path(__file__).parent / f"{part}.json").read_text("utf-8"))
    return {name: _subject(one) for name, one in stored.items()}


def _subject(stored: dict[str, Any]) -> Subject:
    fields: dict[str, Any] = {
        name: tuple(Field(**(one | {"kind": _kind(one["kind"])})) for one in stored[name])
        for name in ("columns", "root", "page", "group") if name in stored
    }  # fmt: skip
    fields["absent"] = tuple((name, kind, about) for name, kind, about in stored.get("absent", ()))
    return Subject(**(stored | fields))


def _kind(stored: Sequence[Any]) -> Kind:
    """Returns the kind that a list spells: a function of `values`, what it takes, and perhaps an object of names."""
    name, *given = stored
    named = given.pop() if given and isinstance(given[-1], dict) else {}
    if name == "worked_out":
        return values.worked_out(_kind(given[0]), FORMULAS[given[1]])
    made: Kind = getattr(values, name)(*given, **named)
    return made
