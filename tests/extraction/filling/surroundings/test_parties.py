"""Parties beside the terms that define them, and one name in two roles."""

from __future__ import annotations

from typing import Any

from tests.support.cases import each
from tests.support.surrounded_values import surrounded

from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.request import Leaf
from cinnabar.extraction.documents.ingest.dispatch import parse
from cinnabar.extraction.filling.surroundings.beside import Beside
from cinnabar.extraction.filling.surroundings.parties import PARTIES
from cinnabar.schemas.compiling.compile import compile_schema

NAME = {"type": ["string", "null"]}
PAIR = 'Elm Trading Ltd, represented by Ann Low ("Seller"), and Oak Mills Ltd ("Buyer") agree.'


@each(
    "text,words,told",
    [
        (PAIR, "Elm Trading Ltd", ("Elm Trading Ltd", 0.97)),
        (PAIR, "Oak Mills Ltd", ("Elm Trading Ltd", 0.85)),
        (PAIR, "Elm Trading", ("Elm Trading Ltd", 0.85)),
        (PAIR, "Ann Low", ("Elm Trading Ltd", 0.85)),
        (PAIR, "Seller", ("Elm Trading Ltd", 0.85)),
        ('Elm Ltd ("Seller")', 'Elm Ltd ("Seller")', ("Elm Ltd", 0.85)),
        ('Elm Ltd ("Sellers")', "Elm", ("Elm Ltd", 0.85)),
        ('Now, as told to us ("Seller"), Oak Ltd ("Buyer")', "Oak Ltd", ("Oak Ltd", 0.45)),
        ('Elm Ltd ("Seller"), goods of Elm Ltd ("Goods")', "Elm Ltd", ("Elm Ltd", 0.97)),
        ('Elm Ltd ("Lender"), Oak Ltd ("Borrower")', "Oak Ltd", ("Oak Ltd", 0.97)),
        ('Elm Ltd ("Seller"), Fir Ltd ("Seller"), Oak Ltd ("Buyer")', "Oak Ltd", ("Oak Ltd", 0.97)),
    ],
)
def test_a_party_is_the_name_before_its_term(text: str, words: str, told: tuple[str, float]) -> None:
    assert surrounded({"seller": NAME}, text, {"seller": words}, {"seller": words})["seller"][:2] == told


def test_the_items_of_a_list_of_parties_are_left() -> None:
    fields = {"sellers": {"type": "array", "items": {"type": "string"}}}
    form = compile_schema({"type": "object", "properties": fields}).form
    at = PAIR.index("Oak")
    leaf = Leaf('"Oak Mills Ltd"', 0.97, ((at, at + 13),), "copied", slot=form.slots[0].index)
    one = Beside(form, "/sellers/0", leaf, parse(PAIR.encode(), "a.txt"), Locale(), (0, len(PAIR)), {})
    assert not any(kind(one) for kind in PARTIES)


def test_what_else_is_told_of_a_party_is_doubted_at_the_other_one() -> None:
    read = surrounded({"seller_city": NAME}, PAIR, {"seller_city": "Oak Mills Ltd"}, {"seller_city": "Oak Mills Ltd"})
    assert read["seller_city"] == ("Oak Mills Ltd", 0.45, ("other_party",))


def test_the_term_of_another_field_is_not_that_of_one_that_is_spelled_alike() -> None:
    fields, text = {"pledgor": NAME, "pledgee": NAME}, 'Elm Ltd ("Pledgee"), with Oak Ltd'
    read = surrounded(fields, text, {"pledgor": "Oak Ltd", "pledgee": "Elm Ltd"}, {"pledgor": "Oak Ltd"})
    assert read["pledgor"][:2] == ("Oak Ltd", 0.97)


@each(
    "fields,doubted",
    [
        (("seller", "buyer"), True),
        (("name_of_lessor", "name_of_lessee"), True),
        (("verkäufer", "käufer"), True),
        (("bailleur", "preneur"), True),
        (("sender_name", "receiver_name"), True),
        (("seller", "seller_name"), False),
        (("title", "subject"), False),
        (("name", "signature"), False),
    ],
)
def test_one_name_in_two_roles_is_in_doubt_in_both(fields: tuple[str, str], doubted: bool) -> None:
    one: dict[str, Any] = dict.fromkeys(fields, NAME)
    read = surrounded(one, "Elm Ltd signs.", dict.fromkeys(fields, "Elm Ltd"), dict.fromkeys(fields, "Elm Ltd"))
    assert [sure for _, sure, _ in read.values()] == [0.45 if doubted else 0.97] * 2
