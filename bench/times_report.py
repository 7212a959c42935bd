"""Measures how many printed date-times, times of day and durations are read right, and how many hours are made up.

    python -m bench.times_report

Short documents in five languages print each of the three in twelve spellings, beside other dates, times and lengths.
Every sixth document prints a date without a time: its date-time is null, and any other answer is a made-up hour. So is
an hour other than the printed one. Moments without a zone count as UTC, and equal moments and lengths are equal.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.reporting import machine, table
from cinnabar import extract
from cinnabar.engine.models.reader.loading import load_model

FIELDS = ("begin", "doors", "length")
FORMATS = dict(zip(FIELDS, ("date-time", "time", "duration"), strict=True))


@dataclass(frozen=True, slots=True)
class Language:
    """The words of a language: months, weekdays, how a day and a time are written, labels and lines around them.

    In the spellings `{d}` is the day, `{mo}` the month's name, `{n}` the day in digits as the language writes it, `{t}`
    a time such as 16:30, and `{w}` the weekday.
    """

    title: str
    labels: tuple[str, str, str]
    months: str
    weekdays: str
    stamps: tuple[str, ...]
    times: tuple[str, ...]
    lengths: tuple[tuple[str, str], ...]
    around: tuple[str, ...]


_ISO = (
    "{y}-{m:02}-{d:02}T{h:02}:{i:02}:00Z",
    "{y}-{m:02}-{d:02}T{h:02}:{i:02}:00+02:00",
    "{y}-{m:02}-{d:02} {h:02}:{i:02}",
)
LANGUAGES = {
    "en": Language(
        "Event",
        ("Begins", "Doors open", "Running time"),
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        (
            *_ISO,
            "{d} {mo} {y}, {c}:{i:02} {ap}m",
            "{mo} {d}, {y} at {c}:{i:02} {ap}.m.",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}",
            "{c}:{i:02}{ap}m on {d} {mo} {y}",
            "{w}, {d} {mo} {y}, {h:02}:{i:02}",
            "{d} {mo} {y} {h:02}:{i:02} UTC",
            "{d} {mo} {y} {h:02}:{i:02} (UTC+2)",
            "{d} {mo} {y}\t{h:02}:{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}:00",
        ),
        (
            "{h:02}:{i:02}",
            "{c}:{i:02} pm",
            "{c}:{i:02} p.m.",
            "{c}.{i:02}pm",
            "{h:02}:{i:02}:00",
            "{h:02}:{i:02} UTC",
            "{h:02}{i:02} hrs",
            "{c}:{i:02}PM",
            "{h:02}:{i:02} hrs",
            "{h:02}:{i:02}Z",
            "at {c}:{i:02} P.M.",
            "{c}:{i:02} in the afternoon",
        ),
        (
            ("2 hours 30 minutes", "PT2H30M"),
            ("90 min", "PT90M"),
            ("1h30", "PT90M"),
            ("2h 15m", "PT2H15M"),
            ("1.5 hours", "PT90M"),
            ("three days", "P3D"),
            ("2 weeks", "P2W"),
            ("45 minutes", "PT45M"),
            ("2 hrs", "PT2H"),
            ("1 year and 6 months", "P1Y6M"),
            ("2:30 h", "PT2H30M"),
            ("two and a half hours", "PT2H30M"),
        ),
        (
            "Printed 02 March 2026 at 08:15",
            "Tickets until 31 December 2025",
            "Box office 9:00 - 11:45",
            "From the station: 25 minutes",
        ),
    ),
    "de": Language(
        "Veranstaltung",
        ("Beginn", "Einlass", "Dauer"),
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
        (
            *_ISO,
            "{d}. {mo} {y}, {h}:{i:02} Uhr",
            "{d}. {mo} {y} um {h}.{i:02} Uhr",
            "{d:02}.{m:02}.{y} {h:02}:{i:02}",
            "{h}:{i:02} Uhr am {d}. {mo} {y}",
            "{w}, {d}. {mo} {y}, {h}:{i:02} Uhr",
            "{d:02}.{m:02}.{y} {h:02}:{i:02} Uhr MESZ",
            "{d:02}.{m:02}.{y}, {h:02}:{i:02} (UTC+2)",
            "{d:02}.{m:02}.{y}\t{h:02}:{i:02} Uhr",
            "{d:02}.{m:02}.{y} {h:02}:{i:02}:00",
        ),
        (
            "{h}:{i:02}",
            "{h}:{i:02} Uhr",
            "{h}.{i:02} Uhr",
            "um {h}:{i:02} Uhr",
            "{h:02}:{i:02}:00",
            "{h:02}:{i:02} UTC",
            "{h:02}:{i:02} h",
            "ab {h}:{i:02}",
            "{h:02}:{i:02} Uhr MEZ",
            "{h:02}:{i:02}Z",
            "ab {h}.{i:02} Uhr",
            "{c}:{i:02} Uhr nachmittags",
        ),
        (
            ("2 Stunden 30 Minuten", "PT2H30M"),
            ("90 Min.", "PT90M"),
            ("1h30", "PT90M"),
            ("2 Std. 15 Min.", "PT2H15M"),
            ("1,5 Stunden", "PT90M"),
            ("drei Tage", "P3D"),
            ("2 Wochen", "P2W"),
            ("45 Minuten", "PT45M"),
            ("2 Std.", "PT2H"),
            ("1 Jahr und 6 Monate", "P1Y6M"),
            ("2:30 h", "PT2H30M"),
            ("zweieinhalb Stunden", "PT2H30M"),
        ),
        (
            "Gedruckt am 2. März 2026 um 08:15 Uhr",
            "Karten bis 31.12.2025",
            "Kasse 9:00 - 11:45 Uhr",
            "Vom Bahnhof: 25 Minuten",
        ),
    ),
    "fr": Language(
        "Événement",
        ("Début", "Ouverture des portes", "Durée"),
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        (
            *_ISO,
            "{d} {mo} {y}, {h}h{i:02}",
            "{d} {mo} {y} à {h}h{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}",
            "{h}h{i:02} le {d} {mo} {y}",
            "{w} {d} {mo} {y}, {h} h {i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02} CEST",
            "{d:02}/{m:02}/{y} {h:02}:{i:02} (UTC+2)",
            "{d} {mo} {y}\t{h}h{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}:00",
        ),
        (
            "{h:02}:{i:02}",
            "{h}h{i:02}",
            "{h} h {i:02}",
            "à {h}h{i:02}",
            "{h:02}:{i:02}:00",
            "{h:02}:{i:02} UTC",
            "{h}H{i:02}",
            "dès {h}h{i:02}",
            "{h}:{i:02}",
            "{h:02}:{i:02}Z",
            "à {h} heures {i:02}",
            "{c}h{i:02} de l'après-midi",
        ),
        (
            ("2 heures 30 minutes", "PT2H30M"),
            ("90 min", "PT90M"),
            ("1h30", "PT90M"),
            ("2 h 15 min", "PT2H15M"),
            ("1,5 heure", "PT90M"),
            ("trois jours", "P3D"),
            ("2 semaines", "P2W"),
            ("45 minutes", "PT45M"),
            ("2 heures", "PT2H"),
            ("1 an et 6 mois", "P1Y6M"),
            ("2 h 30", "PT2H30M"),
            ("deux heures et demie", "PT2H30M"),
        ),
        (
            "Imprimé le 2 mars 2026 à 8h15",
            "Billets jusqu'au 31 décembre 2025",
            "Guichet 9:00 - 11:45",
            "Depuis la gare : 25 minutes",
        ),
    ),
    "es": Language(
        "Evento",
        ("Inicio", "Apertura de puertas", "Duración"),
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
        (
            *_ISO,
            "{d} de {mo} de {y}, {h}:{i:02} h",
            "{d} de {mo} de {y} a las {h}:{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}",
            "a las {h}:{i:02} del {d} de {mo} de {y}",
            "{w}, {d} de {mo} de {y}, {h}:{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02} CEST",
            "{d:02}/{m:02}/{y} {h:02}:{i:02} (UTC+2)",
            "{d:02}/{m:02}/{y}\t{h:02}:{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}:00",
        ),
        (
            "{h:02}:{i:02}",
            "{h}:{i:02} h",
            "{c}:{i:02} p. m.",
            "a las {h}:{i:02}",
            "{h:02}:{i:02}:00",
            "{h:02}:{i:02} UTC",
            "{h}:{i:02} horas",
            "desde las {h}:{i:02}",
            "{c}:{i:02} pm",
            "{h:02}:{i:02}Z",
            "a las {h}.{i:02} h",
            "{c}:{i:02} de la tarde",
        ),
        (
            ("2 horas 30 minutos", "PT2H30M"),
            ("90 min", "PT90M"),
            ("1h30", "PT90M"),
            ("2 h 15 min", "PT2H15M"),
            ("1,5 horas", "PT90M"),
            ("tres días", "P3D"),
            ("2 semanas", "P2W"),
            ("45 minutos", "PT45M"),
            ("2 horas", "PT2H"),
            ("1 año y 6 meses", "P1Y6M"),
            ("2:30 h", "PT2H30M"),
            ("dos horas y media", "PT2H30M"),
        ),
        (
            "Impreso el 2 de marzo de 2026 a las 8:15",
            "Entradas hasta el 31 de diciembre de 2025",
            "Taquilla 9:00 - 11:45",
            "Desde la estación: 25 minutos",
        ),
    ),
    "it": Language(
        "Evento",
        ("Inizio", "Apertura porte", "Durata"),
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        (
            *_ISO,
            "{d} {mo} {y}, ore {h}:{i:02}",
            "{d} {mo} {y} alle {h}.{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}",
            "alle {h}:{i:02} del {d} {mo} {y}",
            "{w} {d} {mo} {y}, ore {h}.{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02} CEST",
            "{d:02}/{m:02}/{y} {h:02}:{i:02} (UTC+2)",
            "{d} {mo} {y}\t{h:02}:{i:02}",
            "{d:02}/{m:02}/{y} {h:02}:{i:02}:00",
        ),
        (
            "{h:02}:{i:02}",
            "ore {h}:{i:02}",
            "ore {h}.{i:02}",
            "alle {h}:{i:02}",
            "{h:02}:{i:02}:00",
            "{h:02}:{i:02} UTC",
            "h {h}:{i:02}",
            "dalle {h}:{i:02}",
            "{h}:{i:02}",
            "{h:02}:{i:02}Z",
            "dalle ore {h}.{i:02}",
            "{c}:{i:02} del pomeriggio",
        ),
        (
            ("2 ore 30 minuti", "PT2H30M"),
            ("90 min", "PT90M"),
            ("1h30", "PT90M"),
            ("2 h 15 min", "PT2H15M"),
            ("1,5 ore", "PT90M"),
            ("tre giorni", "P3D"),
            ("2 settimane", "P2W"),
            ("45 minuti", "PT45M"),
            ("2 ore", "PT2H"),
            ("1 anno e 6 mesi", "P1Y6M"),
            ("2:30 h", "PT2H30M"),
            ("due ore e mezza", "PT2H30M"),
        ),
        (
            "Stampato il 2 marzo 2026 alle 8:15",
            "Biglietti fino al 31 dicembre 2025",
            "Cassa 9:00 - 11:45",
            "Dalla stazione: 25 minuti",
        ),
    ),
}
SPELLINGS = 12


@dataclass(frozen=True, slots=True)
class Drawn:
    """A document with its language, what it prints for each field, and the true values; None if there is none."""

    language: str
    text: str
    printed: dict[str, str]
    truth: dict[str, str | None]


def drawn(at: int, rng: random.Random) -> Drawn:
    """Returns the document of this number: its language and its spellings follow from the number."""
    language = [*LANGUAGES][at % len(LANGUAGES)]
    words = LANGUAGES[language]
    spelling = at // len(LANGUAGES) % SPELLINGS
    day = datetime(2026, rng.randrange(1, 13), rng.randrange(13, 29), rng.randrange(13, 22), rng.choice((15, 30, 45)))
    doors = day - timedelta(hours=1)
    stamp = words.stamps[spelling]
    length, true_length = words.lengths[spelling]
    begins = _written(stamp, day, words)
    truth: dict[str, str | None] = {
        "begin": f"{day:%Y-%m-%dT%H:%M:00}{_zone(begins)}",
        "doors": f"{doors:%H:%M:00}{_zone(words.times[spelling])}",
        "length": true_length,
    }
    if at % 6 == 5:
        begins, truth["begin"] = _written(words.stamps[3].split(",")[0], day, words), None
    printed = dict(zip(FIELDS, (begins, _written(words.times[spelling], doors, words), length), strict=True))
    lines = [f"{label}: {printed[name]}" for label, name in zip(words.labels, FIELDS, strict=True)]
    around = rng.sample(words.around, 2)
    return Drawn(language, "\n".join([words.title, around[0], *lines, around[1]]) + "\n", printed, truth)


def _written(spelling: str, when: datetime, words: Language) -> str:
    month, weekday = words.months.split()[when.month - 1], words.weekdays.split()[when.weekday()]
    return spelling.format(
        y=when.year,
        m=when.month,
        d=when.day,
        h=when.hour,
        i=when.minute,
        c=(when.hour - 1) % 12 + 1,
        ap="p",
        mo=month,
        w=weekday,
    )


def _zone(printed: str) -> str:
    return "+02:00" if re.search(r"\+|CEST|MESZ", printed) else "+01:00" if "MEZ" in printed else "Z"


def schema_of(language: str) -> dict[str, Any]:
    """Returns the schema of the three fields, labelled in this language."""
    labels = dict(zip(FIELDS, LANGUAGES[language].labels, strict=True))
    fields = {
        name: {"type": ["string", "null"], "format": FORMATS[name], "title": label} for name, label in labels.items()
    }
    return {"type": "object", "title": LANGUAGES[language].title, "properties": fields, "required": [*FIELDS]}


def meant(name: str, value: str | None) -> object:
    """Returns what a value means, so that spellings of one moment or of one length are equal."""
    if value is None:
        return None
    if FORMATS[name] != "duration":
        moment = datetime.fromisoformat(value if "T" in value else f"2026-01-15T{value}").astimezone(UTC)
        return moment if "T" in value else moment.time()
    day, _, clock = value[1:].partition("T")
    months = sum(int(n) * {"Y": 12, "M": 1}.get(unit, 0) for n, unit in re.findall(r"(\d+)(\w)", day))
    seconds = sum(int(n) * {"W": 604800, "D": 86400}.get(unit, 0) for n, unit in re.findall(r"(\d+)(\w)", day))
    return months, seconds + sum(
        int(n) * {"H": 3600, "M": 60, "S": 1}[unit] for n, unit in re.findall(r"(\d+)(\w)", clock)
    )


def main() -> None:
    """Prints the share of right values by format and by language, and the hours that no document prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default")
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--wrong", action="store_true", help="print what was read wrongly")
    args = parser.parse_args()
    rng = random.Random(47)
    documents = [drawn(at, rng) for at in range(args.documents)]
    right, all_of, made_up = Counter[str](), Counter[str](), 0
    for language in LANGUAGES:
        own = [one for one in documents if one.language == language]
        for one, record in zip(own, records(own, schema_of(language), args.model), strict=True):
            for name in FIELDS:
                value, true = record[name], one.truth[name]
                is_right = meant(name, value) == meant(name, true)
                # A moment of another hour than the printed one is made up, and so is any hour where none is printed.
                made_up += not is_right and value is not None and FORMATS[name] != "duration"
                for key in (FORMATS[name], language, "all"):
                    right[key] += is_right
                    all_of[key] += 1
                if args.wrong and not is_right:
                    print(language, repr(one.printed[name]), "expected", true, "got", value)
    print(machine(load_model(args.model)))
    print(
        table(
            ("values", "right", "share"),
            [(k, f"{right[k]} of {all_of[k]}", f"{right[k] / all_of[k]:.3f}") for k in all_of],
        )
    )
    print(f"made-up hours: {made_up}")


def records(documents: Sequence[Drawn], schema: dict[str, Any], model: str) -> list[dict[str, Any]]:
    """Returns the records that the model reads in the documents, in their order."""
    named = [(f"{at:03}.txt", one.text.encode()) for at, one in enumerate(documents)]
    return [one.record for one in extract(named, schema, model=model, on_empty="write")]


if __name__ == "__main__":
    main()
