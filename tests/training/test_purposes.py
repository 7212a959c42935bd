"""Mails of many purposes, for classes that no mail prints."""

from __future__ import annotations

import random

from training.generator.generator import check
from training.purposes import mail, purposes


def test_a_mail_has_one_of_the_purposes_that_its_schema_asks_for() -> None:
    data, r = purposes(), random.Random(0)
    for _ in range(100):
        made = mail(data, r)
        assert check(made) == []
        ((name, value),) = made.truth.items()
        field = made.schema["properties"][name]
        options = field.get("enum") or [one["const"] for one in field["anyOf"]]
        assert value in options and len(options) == len({*options}) >= 3


def test_every_purpose_is_said_in_german_and_english_without_its_names() -> None:
    for kind, told in purposes().items():
        if kind == "around":
            continue
        assert min(len(told["en"]), len(told["de"])) >= 6 and told["notes"]
        said = " ".join((*told["en"], *told["de"])).lower()
        assert sum(name.lower() in said for name in told["names"]) <= len(told["names"]) / 2, kind
