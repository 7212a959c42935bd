"""Account numbers (IBAN) are whole by their length and check digits, also over the end of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tiny_network import form_of

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.scoring.spans import Pointed, candidates_of
from cinnabar.engine.readings.codes import account_at
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import readings

LENGTHS = {"DE": 22, "AT": 20, "NO": 15, "FR": 27, "GB": 22, "MT": 31, "CH": 21}
KINDS = ["groups", "plain", "hyphen", "column"]
BASES = st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=30, max_size=30)


def account(country: str, base: str) -> str:
    """Returns the account number of a country with right check digits."""
    rest = base[: LENGTHS[country] - 4]
    digits = int("".join(str(int(sign, 36)) for sign in f"{rest}{country}00"))
    return f"{country}{98 - digits % 97:02}{rest}"


@given(st.sampled_from(sorted(LENGTHS)), BASES, st.integers(4, 26), st.sampled_from(KINDS))
def test_an_account_number_is_found_whole_wherever_its_line_ends(country: str, base: str, cut: int, kind: str) -> None:
    whole = account(country, base)
    cut = min(cut, len(whole) - 1)
    if kind == "groups":
        groups = [whole[at : at + 4] for at in range(0, len(whole), 4)]
        cut = min(max(cut // 4, 1), len(groups) - 1)
        text = f"{' '.join(groups[:cut])}\n{' '.join(groups[cut:])}"
    elif kind == "plain":
        text = f"{whole[:cut]}\n{whole[cut:]}"
    elif kind == "hyphen":
        text = f"{whole[:cut]}-\n{whole[cut:]}"
    else:
        text = f"{whole[:cut]}      Amount   12.50\n     {whole[cut:]}"
    found = account_at(f"IBAN: {text}\nBIC COBADEFFXXX", 6)
    assert found == (6 + len(text), whole)
    assert whole in [one.value for one in readings(text, Locale())]
    # One character more, less or another one makes it none.
    assert account_at(f"{text}7") is None and account_at(text[:-1]) is None
    other = text[:-1] + ("8" if text[-1] == "7" else "7")
    assert account_at(other) is None or whole[-1].isalpha()


@pytest.mark.parametrize(
    "text", ["DE89 3704 0044\n0532 0130 00", "DE89370400440532-\n013000", "DE89370400440532\n013000"]
)
def test_a_span_that_is_cut_within_an_account_number_takes_all_of_it(text: str) -> None:
    slot = form_of(iban={"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$"}).slots[0]
    text = f"IBAN: {text}\nBIC: COBADEFFXXX"
    for end in range(10, text.index("\nBIC")):
        pointed = [Pointed(((6, end),), -0.1)]
        (found,), _ = candidates_of(slot, False, pointed, MentionReader(text))
        assert (found.text, found.spans) == (b'"DE89370400440532013000"', ((6, text.index("\nBIC")),))
