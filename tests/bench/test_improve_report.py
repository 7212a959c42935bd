"""The report of improve: corrections that make a record its truth."""

from __future__ import annotations

from bench.improve_report import changes_to

from cinnabar.extraction.corrections import Action, Change


def test_a_record_is_changed_where_it_differs_and_then_accepted_as_a_whole() -> None:
    record = {"a": 1, "b": {"c": "x", "d": None}, "lines": [1, 2], "e/f": "y", "same": 3}
    truth = {"a": 2, "b": {"c": "x", "d": "z"}, "lines": [1], "e/f": None, "same": 3}
    assert changes_to(record, truth) == [
        Change(Action.VALUE, "/a", "2"),
        Change(Action.VALUE, "/b/d", '"z"'),
        Change(Action.LIST, "/lines", "[1]"),
        Change(Action.ABSENT, "/e~1f"),
        Change(Action.ACCEPT, ""),
    ]
    assert changes_to(truth, truth) == [Change(Action.ACCEPT, "")]
