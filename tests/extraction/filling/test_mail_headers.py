"""Headers of a mail count for fields that ask for them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tests.support.cases import each

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.inputs.header_questions import asks_for_headers
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.extraction.documents.ingest import parse
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.filling.pipeline import Job, OpenedInput, run_batch
from cinnabar.extraction.store.records import Outcome
from cinnabar.schemas import compile_schema, load_schema


def text_field(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": ["string", "null"], "description": description, **more}


SCHEMAS = {
    "event": {
        "place": text_field("Place where it happens."), "reference": text_field("Reference number."),
        "contact": text_field("Person to ask."),
    },
    "order": {
        "city": text_field("City of delivery."), "order_number": text_field("Number of the order."),
        "delivered_on": text_field("Day of the delivery.", format="date"),
    },
    "termin": {
        "ort": text_field("Ort des Termins."), "aktenzeichen": text_field("Aktenzeichen des Vorgangs."),
        "tag": text_field("Datum des Termins.", format="date"),
    },
    "rendez_vous": {
        "lieu": text_field("Lieu du rendez-vous."), "dossier": text_field("Numéro de dossier."),
        "interlocuteur": text_field("Personne à contacter."),
    },
}  # fmt: skip
NAMES = ("Anna Berg", "José Martín", "Claire Dubois", "Info Desk London", "Praxis Hamburg", "Orders", "Paris Office")
EMPTY = {
    "en": ("Thanks for your call.", "Sounds good, let us do that.", "Could you please send it again?"),
    "de": ("Vielen Dank für Ihre Nachricht.", "Das klingt gut, so machen wir es."),
    "fr": ("Merci pour votre message.", "C'est noté, à bientôt."),
    "es": ("Gracias por su mensaje.",),
}


def mail(chance: random.Random, body: str) -> bytes:
    sender, receiver = chance.sample(NAMES, 2)
    domain = chance.choice(("london-office.example", "mx.kurier.example", "mairie-lyon.example"))
    number = chance.randrange(10**5, 10**6)
    heads = [
        f"From: {sender} <{sender.split()[0].lower()}@{domain}>",
        f"To: {receiver} <{receiver.split()[0].lower()}@hamburg.example>",
        f"Date: Tue, {chance.randrange(1, 28)} May 2026 09:31:00 +0200",
        "Subject: Re: hello",
        f"Message-ID: <RE-{number}.{chance.randrange(99)}@{domain}>",
        f"In-Reply-To: <REF{number + 7}@{domain}>",
    ]
    chance.shuffle(heads)
    return ("\r\n".join([*heads, "Content-Type: text/plain; charset=utf-8"]) + f"\r\n\r\n{body}\r\n").encode()


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(load_model("default", "cpu"))


def outcomes(engine: Engine, properties: dict[str, Any], mails: list[bytes]) -> list[Outcome]:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    job = Job(compile_schema(schema), engine, Validator(load_schema(schema)))
    documents = [parse(data, f"{at}.eml") for at, data in enumerate(mails)]
    return run_batch([OpenedInput(one.path, one.digest, one) for one in documents], job).outcomes


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_mail_whose_text_says_nothing_of_the_fields_is_empty(engine: Engine, kind: str) -> None:
    chance = random.Random(kind)
    mails = [mail(chance, body) for bodies in EMPTY.values() for body in bodies]
    for found in outcomes(engine, SCHEMAS[kind], mails):
        assert found.record is not None
        values = json.loads(found.record.text)
        assert values == dict.fromkeys(SCHEMAS[kind]) and "empty" in found.record.flags


def test_the_text_of_a_mail_fills_its_fields(engine: Engine) -> None:
    body = "We meet at the Town Hall in Leeds. Your reference is RX-4471."
    for found in outcomes(engine, SCHEMAS["event"], [mail(random.Random(seed), body) for seed in range(4)]):
        assert found.record is not None
        values = json.loads(found.record.text)
        assert values["reference"] == "RX-4471" and values["place"] in ("Leeds", "Town Hall", "Town Hall in Leeds")


def test_fields_that_ask_for_headers_get_them(engine: Engine) -> None:
    asking = {
        "sender": text_field("Who wrote the mail."), "to": text_field("To whom it goes."),
        "sent": text_field(format="date"), "message_id": text_field("Id of the message."),
        "email": text_field("E-mail address of the customer."),
    }  # fmt: skip
    for found in outcomes(engine, asking, [mail(random.Random(seed), EMPTY["en"][seed]) for seed in range(3)]):
        assert found.record is not None and None not in json.loads(found.record.text).values()


@each(
    "name, field, asks",
    [
        ("sender", {}, True), ("fromName", {}, True), ("to", {}, True), ("sent_at", {}, True), ("date", {}, True),
        ("message_id", {}, True), ("customer", {"description": "Name of the sender."}, True),
        ("contact_email", {}, True), ("absender", {}, True), ("who", {"format": "email"}, True),
        ("x", {"title": "Empfänger"}, True), ("auteur", {"description": "L'expéditeur du courriel"}, True),
        ("place", {"description": "Place that the mail names."}, False), ("from_station", {}, False),
        ("delivery_date", {}, False), ("message", {"description": "What the customer says."}, True),
        ("reference_id", {}, False), ("ort", {}, False), ("numero", {}, False), ("to_city", {}, False),
        ("name", {}, False), ("id", {}, False),
    ],
)  # fmt: skip
def test_what_asks_for_headers(name: str, field: dict[str, Any], asks: bool) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string", **field}}}
    (slot,) = compile_schema(schema).form.slots
    assert asks_for_headers(slot) == asks


def test_a_passage_knows_its_headers_but_for_the_subject() -> None:
    document = parse(mail(random.Random(1), "From: here\nTo: there"), "a.eml")
    for start in (0, 20):
        passage = passage_of(document, start)
        heads = [passage.text[first:last] for first, last in passage.headers]
        assert all(one.split(":")[0] in ("From", "To", "Date", "Message-ID", "In-Reply-To") for one in heads)
        assert len(heads) == (5 if not start else 4) and not any("here" in one for one in heads)
