"""Matching: equality of values, and evidence for a value."""

from __future__ import annotations

from tests.support.cases import each

from cinnabar.extraction.learning.pairing import evidence_holds, is_same


@each(
    "truth, predicted, same",
    [
        ("ACME GmbH & Co. KG", "acme gmbh co kg", True),
        ("ﬁrst ＡＢＣ", "FIRST abc", True),
        ("1,234.5", "1.234,5", True),
        ("12.50", "1250", False),
        ("50%", "50", False),
        ("€ 5", "5", False),
        (7, "7.0", True),
        (7, 7.0000001, False),
        (0.1, 0.10000000001, True),
        (0.1, "1e-1", True),
        (0.1, 0.11, False),
        # A language model may write a number that no float holds.
        (0.1, 10**400, False),
        (5, "5 EUR", False),
        (True, 1, False),
        (1, True, False),
        (None, "", False),
        (False, None, False),
        ("2024-01-02", "2024-1-2", True),
        ("2024-01-02", "2024-01-02T10:00:00", False),
        ("2024-01-02T10:00:00Z", "2024-01-02 10:00", True),
        ("2024-13-02", "2024-13-02.", True),
    ],
)
def test_values_are_equal_as_defined(truth, predicted, same):
    assert is_same(truth, predicted) is same


@each(
    "value, text, holds",
    [
        (1234.5, "Total 1.234,50 EUR", True),
        (1234.5, "Total 1,234.50", True),
        (1234.5, "1 234.5", True),
        (-5, "5-", True),
        (1234.5, "12345", False),
        ("2024-03-01", "1. März 2024", True),
        ("2024-03-01", "01/03/24", True),
        ("2024-03-01", "20240301", True),
        ("2024-03-01", "March 2024", False),
        ("ACME", "to: Acme, Inc.", True),
        ("...", "...", False),
        ("ACME", "", False),
    ],
)
def test_evidence_holds_a_value_in_any_usual_print(value, text, holds):
    assert evidence_holds(value, text) is holds
