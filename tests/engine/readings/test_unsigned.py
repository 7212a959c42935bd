"""Descriptions that ask for numbers without their sign."""

from __future__ import annotations

import pytest

from cinnabar.engine.readings.unsigned import asks_unsigned


@pytest.mark.parametrize(
    "description",
    [
        "Fees, always positive; 0 when there are none",
        "Amount of the booking, without sign.",
        "The amount (absolute value)",
        "Withdrawals; drop the minus.",
        "The sign is left out.",
        "Never negative.",
        "Betrag, ohne Vorzeichen",
        "Montant, toujours positif",
        "Importe, siempre positivo",
        "金额的绝对值",
    ],
)
def test_a_description_that_drops_the_sign_is_understood(description: str) -> None:
    assert asks_unsigned(description)


@pytest.mark.parametrize(
    "description",
    [
        "",
        "The balance at the end.",
        "Amount with its sign; negative for debits",
        "Not always positive: refunds have a minus",
        "Positive for credits, negative for debits",
        "May be negative.",
        "Amount without tax",
        "Signed by the director",
        "Nicht immer positiv",
        "Number of positive tests",
    ],
)
def test_a_description_that_does_not_say_so_keeps_the_sign(description: str) -> None:
    assert not asks_unsigned(description)
