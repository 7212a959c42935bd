"""Defined terms: which name a bracket, dashes, an introduced word or a role names, in several languages."""

from __future__ import annotations

import time

from tests.support.cases import each

from cinnabar.engine.readings.defined_terms import defined_terms, representations


def told(text: str) -> dict[str, str]:
    return {one.words: " ".join(text[slice(*one.name)].split()) for one in defined_terms(text)}


@each(
    "text,names",
    [
        ('Ash Ltd ("Seller") and Elm & Co. Inc. ("Buyer")', {"Seller": "Ash Ltd", "Buyer": "Elm & Co. Inc."}),
        ("Ash plc (the Lessor), Elm plc (the Lessee)", {"Lessor": "Ash plc", "Lessee": "Elm plc"}),
        ('Ash, Inc., a Maine company (the "Issuer" or "Bank")', {"Issuer": "Ash", "Bank": "Ash"}),
        ('Ash, hereinafter referred to as the "Tenant", pays', {"Tenant": "Ash"}),
        ("by Ash Ltd, as Lender, and Elm Ltd, as Borrower, of", {"Lender": "Ash Ltd", "Borrower": "Elm Ltd"}),
        ("Ash Ltd acting as Escrow Agent, with all", {"Escrow Agent": "Ash Ltd"}),
        ("Frau Rita Esch\nUferweg 3\n\n– nachfolgend „Vermieterin“ genannt –\n", {"Vermieterin": "Frau Rita Esch"}),
        ("Die Esch KG (im Folgenden: der Besteller) mit", {"Besteller": "Esch KG"}),
        ("zwischen der Esch eG (Käufer) und Ulm 7 GmbH (Lieferant)", {"Käufer": "Esch eG", "Lieferant": "Ulm 7 GmbH"}),
        ("Entre Frêne SARL, ci-après dénommée « le Cédant »,", {"Cédant": "Frêne SARL"}),
        ("la SCI Frêne, en qualité de bailleur, et Luc Orme, en qualité de preneur, pour",
         {"bailleur": "SCI Frêne", "preneur": "Luc Orme"}),
        ("La Frêne SA (ci-après l’« Assureur »)", {"Assureur": "Frêne SA"}),
        ('tra Frassino S.r.l., di seguito "Locatore"', {"Locatore": "Frassino S.r.l."}),
        ('De una parte, Fresno S.L., en adelante "el Vendedor"', {"Vendedor": "Fresno S.L."}),
        ("The goods are carried by Ida Ash (Carrier)", {"Carrier": "Ida Ash"}),
        ('It was signed yesterday. Ash Ltd ("Owner") owns', {"Owner": "Ash Ltd"}),
        ("Kunz, trading as Elm Works (Consultant)", {"Consultant": "Kunz"}),
        ('on 3 May (the "Effective Date") for a year from the Effective Date (the "Term")', {"Effective Date": "May"}),
        ("see below (in full) and as well as its parts", {}),
        ("the sum of 300 (three hundred) euros", {}),
    ],
)  # fmt: skip
def test_a_term_names_what_stands_before_it(text: str, names: dict[str, str]) -> None:
    assert {term: told(text).get(term) for term in names} == names and len(told(text)) == len(names)


@each(
    "text,name,clause",
    [
        ('Ash Ltd, represented by Ann Low ("Seller")', "Ash Ltd", ", represented by Ann Low "),
        ("Esch AG, vertreten durch den Vorstand Uwe Ulm, im Folgenden „Käufer“", "Esch AG",
         ", vertreten durch den Vorstand Uwe Ulm"),
        ('(« le Bailleur »), représenté par M. Petit, et Léa Orme (« le Preneur »)', "Léa Orme",
         ", représenté par M. Petit"),
    ],
)  # fmt: skip
def test_who_represents_a_party_is_not_its_name(text: str, name: str, clause: str) -> None:
    assert [*told(text).values()][-1] == name
    assert [text[slice(*one)] for one in representations(text)] == [clause]


def test_words_before_a_term_that_repeat_take_no_time() -> None:
    begun = time.process_time()
    defined_terms("X GmbH, hereinafter " + "known as " * 300 + "1 ")
    assert time.process_time() - begun < 2
