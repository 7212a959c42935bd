"""Charges, discounts and freight among the rows of a table, and the sums and taxes below them that are none."""

from __future__ import annotations

import pytest

from cinnabar.engine.models.reader.inputs.mentions import MentionReader
from cinnabar.engine.models.reader.tables.charges import add_charges, coded_columns
from cinnabar.engine.tables.heads import words_of
from cinnabar.engine.tables.table import tables_of

#: A table, and the first words of its rows.
TABLES = {
    "freight ends the rows above a subtotal": (
        "Item                 Qty   Price   Amount\nWool blanket           2   40.00    80.00\n"
        "Linen sheet            1   35.00    35.00\nFreight                              9.00\n\n"
        "                        Subtotal   124.00\n                        VAT 20%     24.80\n"
        "                        Total      148.80\n",
        ["Wool blanket", "Linen sheet", "Freight"],
    ),
    "a discount stands between rows": (
        "Item                 Qty   Price   Amount\nWool blanket           2   40.00    80.00\n"
        "Autumn offer                        -8.00\nLinen sheet            1   35.00    35.00\n\n"
        "                        Total      107.00\n",
        ["Wool blanket", "Autumn offer", "Linen sheet"],
    ),
    "sums and tax in the columns of the rows": (
        "Artikel          Menge    Preis   Betrag\nFahrradkorb          1    29,00    29,00\n"
        "Klingel              2     7,50    15,00\nVersand                             4,90\n"
        "Zwischensumme                      48,90\nMwSt. 19 %                          9,29\n"
        "Gesamt                             58,19\n",
        ["Fahrradkorb", "Klingel", "Versand"],
    ),
    "a tax without a net sum above it": (
        "Article          Qté      Prix    Montant\nPanier               1    30,00     30,00\n"
        "Sonnette             2     5,00     10,00\nTVA 20 %                             8,00\n"
        "Total                               48,00\n",
        ["Panier", "Sonnette"],
    ),
    "a surcharge that is taxed with the others": (
        "Article          Qty     Price     Amount\nBasket               1    30.00     30.00\n"
        "Bell                 2     5.00     10.00\nRush 10 %                            4.00\n"
        "Net                                 44.00\nTax 20 %                             8.80\n"
        "Total                               52.80\n",
        ["Basket", "Bell", "Rush 10 %"],
    ),
    "only the total with its tax is printed": (
        "Voce                 Q.ta  Prezzo  Importo\nTenda da sole          2   40,00    80,00\n"
        "Staffa                 4    5,00    20,00\nTrasporto                           11,50\n\n"
        "                        IVA 22%     24,53\n                        Totale     136,03\n",
        ["Tenda da sole", "Staffa", "Trasporto"],
    ),
    "a payment slip below the sums fills the columns": (
        "Item                 Qty   Price   Amount\nWool blanket           2   40.00    80.00\n"
        "Linen sheet            1   35.00    35.00\nPillow                 4    9.00    36.00\n\n"
        "                        Net        151.00\n                        VAT 20%     30.20\n"
        "                        Total      181.20\n\nPayee              GB39    4591    5412\n",
        ["Wool blanket", "Linen sheet", "Pillow"],
    ),
    "a sum of a part stands between rows": (
        "Item                 Qty   Price   Amount\nWool blanket           2   40.00    80.00\n"
        "Linen sheet            1   35.00    35.00\n                        Bedroom    115.00\n"
        "Towel                  4    9.00    36.00\nMat                    1   14.00    14.00\n\n"
        "                        Total      165.00\n",
        ["Wool blanket", "Linen sheet", "Towel", "Mat"],
    ),
    "a line that no sum has": (
        "Item                 Qty   Price   Amount\nWool blanket           2   40.00    80.00\n"
        "Linen sheet            1   35.00    35.00\nYou save                            12.00\n\n"
        "                        Total      115.00\n",
        ["Wool blanket", "Linen sheet"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_a_line_of_few_cells_is_a_row_if_the_sum_has_it(case: str) -> None:
    text, names = TABLES[case]
    (table, *_) = tables_of(text)
    found = add_charges(table, MentionReader(text))
    lead = next(c for c in range(len(found.heads)) if c not in found.figures)
    assert [words_of(row.cells[lead], text) for row in found.rows] == names


def test_the_sums_of_a_receipt_and_what_was_paid_begin_no_rows() -> None:
    text = "Tomatoes      2.40\nCheddar       5.10\nCrackers      1.95\nTOTAL         9.45\nCARD          9.45\n"
    (table,) = tables_of(text)
    found = add_charges(table, MentionReader(text))
    assert found.rows[-1].start < text.index("TOTAL") == found.sums_at


def test_a_table_without_charges_stays_as_it_is() -> None:
    text = "Item      Qty  Amount\nWool        2   80.00\nLinen       1   35.00\nSilk        3   90.00\n"
    (table,) = tables_of(text)
    assert add_charges(table, MentionReader(text)) is table


@pytest.mark.parametrize(
    "amounts", [(1, 1, 2, 3, 7), (10, 20, 30, 40, 55), (-500, 1500, 1000, -50, -60)], ids=["counts", "tens", "bookings"]
)
def test_full_rows_whose_numbers_add_up_by_chance_stay_rows(amounts: tuple[int, ...]) -> None:
    lines = [f"Thing {number}    red    {amount:8.2f}" for number, amount in zip("ABCDE", amounts, strict=True)]
    text = "\n".join(["Item       Colour    Quantity", *lines, ""])
    (table,) = tables_of(text)
    assert add_charges(table, MentionReader(text)) is table


def test_a_column_of_codes_is_told_by_the_rates_behind_the_table() -> None:
    text = (
        "Item       Pieces   Each   Code   Amount\nFlour          10   2.00      1    20.00\n"
        "Soap            4   5.00      2    20.00\nOil             3  10.00      1    30.00\n\n"
        "Code    %     Net     Tax\n1       7   50.00    3.50\n2      20   20.00    4.00\n"
    )
    table, *_ = tables_of(text)
    end = text.index("30.00") + 5
    assert coded_columns(table, end, MentionReader(text)).nonzero()[0].tolist() == [3]
    other = text.replace("3.50", "3.60")
    assert not coded_columns(table, end, MentionReader(other)).any()
