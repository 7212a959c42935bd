"""Generators of people and companies, with addresses, contacts and accounts."""

from __future__ import annotations

import re
from collections.abc import Callable

from training.generator.codes import draw_code
from training.generator.locale import Scope, Value, common, split
from training.generator.printing import ascii_fold


def _text(value: str, kind: str = "string") -> Value:
    return Value(kind, value)


def _syllables(s: Scope, n: int) -> str:
    parts = split(common()["syllables"])
    return "".join(s.rng.choice(parts) for _ in range(n)).capitalize()


def _last(s: Scope, _: str = "") -> Value:
    if s.rng.random() < 0.12:
        return _text(_syllables(s, s.rng.choice((2, 2, 3))))
    return _text(s.rng.choice(s.pool("last")))


def _first(s: Scope, _: str = "") -> Value:
    return _text(s.rng.choice(s.pool("first")))


def _person(s: Scope, arg: str) -> Value:
    r = s.rng
    first, last = r.choice(s.pool("first")), _last(s).raw
    x = r.random()
    if x < 0.08:
        first = f"{first} {r.choice('ABCDEFGHJKLMNPRSTW')}."
    elif x < 0.12:
        last = f"{last}-{r.choice(s.pool('last'))}"
    elif x < 0.15:
        first = f"{first} {r.choice(s.pool('first'))}"
    if arg == "title" and r.random() < 0.5:
        first = f"{r.choice(s.pool('academic'))} {first}"
    return _text(f"{last}, {first}" if arg == "inverted" else f"{first} {last}")


def _company(s: Scope, _: str) -> Value:
    r = s.rng
    x = r.random()
    if x < 0.3:
        stem = _syllables(s, r.choice((2, 2, 3)))
        if r.random() < 0.5:
            stem += " " + r.choice(s.pool("trade"))
    elif x < 0.6:
        stem = f"{r.choice(s.pool('last'))} {r.choice(s.pool('trade'))}"
    elif x < 0.75:
        stem = f"{r.choice(s.pool('last'))} & {r.choice(s.pool('last'))}"
    elif x < 0.85:
        stem = f"{r.choice(s.pool('trade'))} {r.choice(s.pool('city'))}"
    else:
        stem = "".join(r.choice("ABCDEFGHKLMNPRSTVW") for _ in range(3)) + " " + r.choice(s.pool("trade"))
    return _text(f"{stem} {r.choice(s.pool('legal'))}" if r.random() < 0.85 else stem)


def _street(s: Scope, _: str) -> Value:
    r = s.rng
    number = str(r.randint(1, 240)) + (r.choice("abc") if r.random() < 0.1 else "")
    name = r.choice(s.pool("street")).replace("~", r.choice(s.pool("last")))
    return _text(name.replace("#", number))


def _zip(s: Scope, _: str) -> Value:
    return _text(draw_code(s.rng, s.rng.choice(split(common()["locales"][s.locale.name]["zip"]))))


def _city(s: Scope, _: str) -> Value:
    return _text(s.rng.choice(s.pool("city")))


def _town(s: Scope, zip_code: str, city: str) -> str:
    form: str = common()["locales"][s.locale.name]["town"]
    return form.replace("Z", "\0").replace("C", city).replace("\0", zip_code)


def _address(s: Scope, arg: str) -> Value:
    town = _town(s, _zip(s, "").raw, s.rng.choice(s.pool("city")))
    return _text(f"{_street(s, '').raw}{chr(10) if arg == 'lines' else ', '}{town}")


def _email(s: Scope, arg: str) -> Value:
    r = s.rng
    name = s.value(arg).raw if arg else _person(s, "").raw
    words = [w for w in re.split(r"[^a-z0-9]+", ascii_fold(name.lower())) if w] or ["info"]
    domain = r.choice(split(common()["domains"])).replace("~", ascii_fold(_syllables(s, 2).lower()))
    local = r.choice((".".join(words[:2]), words[0][0] + words[-1], words[0], words[-1], "_".join(words[:2])))
    return _text(f"{local}@{domain}", "email")


def _iban(s: Scope, _: str) -> Value:
    c = s.locale.country_code if s.locale.country_code not in ("US", "GB") else "GB"
    digits = draw_code(s.rng, "## #### #### #### #### ##")
    return _text(f"{c}{digits}" if s.rng.random() < 0.7 else f"{c}{digits}".replace(" ", ""), "compact")


def _vat_id(s: Scope, _: str) -> Value:
    code = s.locale.country_code
    return _text(f"{code}{draw_code(s.rng, s.rng.choice(('#########', '###########', 'B##########')))}")


def _phone(s: Scope, _: str) -> Value:
    return _text(draw_code(s.rng, s.rng.choice(split(common()["locales"][s.locale.name]["phone"]))))


def _country(s: Scope, _: str) -> Value:
    return _text(s.rng.choice(s.pool("country")))


def _url(s: Scope, _: str) -> Value:
    return _text("www." + s.rng.choice(split(common()["domains"])).replace("~", _syllables(s, 2).lower()))


#: Generators by name; each receives the text after its name.
PARTIES: dict[str, Callable[[Scope, str], Value]] = {
    "person": _person,
    "first": _first,
    "last": _last,
    "company": _company,
    "street": _street,
    "zip": _zip,
    "city": _city,
    "town": lambda s, _: _text(_town(s, _zip(s, "").raw, s.rng.choice(s.pool("city")))),
    "address": _address,
    "country": _country,
    "email": _email,
    "phone": _phone,
    "url": _url,
    "iban": _iban,
    "vat_id": _vat_id,
}
