"""The words around a list: sums, edges of pages, counts and notes, by part and language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """The printed words of a language.

    page: {number} of {pages}. `subtotal`, `continued`: {the group's line}. `count`: {things} {number}.
    """

    page: str
    total: str
    subtotal: str
    carried: str
    brought: str
    continued: str
    count: str
    legend: str
    notes: tuple[str, ...]


_ENGLISH = Wording(
    "Page {} of {}", "Total", "Subtotal {}", "Carried forward", "Brought forward", "{} (continued)", "{}: {}", "Codes",
    ("This listing was prepared from our records and may change without notice.",
     "Please report any differences within 30 days of receipt.",
     "Figures were rounded; 12 lines of the prior report were corrected on 3 March."),
)  # fmt: skip
_GERMAN = Wording(
    "Seite {} von {}", "Gesamt", "Zwischensumme {}", "Übertrag", "Übertrag", "{} (Fortsetzung)", "{}: {}", "Schlüssel",
    ("Irrtum und Zwischenverkauf vorbehalten.", "Es gelten unsere Bedingungen in der Fassung vom 1. Januar."),
)  # fmt: skip
_FRENCH = Wording(
    "Page {} / {}", "Total général", "Sous-total {}", "À reporter", "Report", "{} (suite)", "{} : {}", "Codes",
    ("Document établi sans rature ni surcharge.", "À conserver sans limitation de durée."),
)  # fmt: skip
_OTHER_ENGLISH = Wording(
    "{}/{}", "Grand Total", "{} Sum", "To next sheet", "From last sheet", "{} - cont'd", "Total number of {} {}", "Key",
    ("End of list. Nothing below this line belongs to it.",
     "Compiled by hand from 3 registers; see the office for details.",
     "Entries marked in an earlier issue as void were taken out."),
)  # fmt: skip
_OTHER_GERMAN = Wording(
    "Blatt {} ({})", "Endsumme", "Summe {}", "zu übertragen", "von Vorblatt", "noch: {}", "Anzahl {}: {}", "Zeichen",
    ("Ende der Aufstellung.", "Aufgenommen durch die Verwaltung; Nachträge siehe Heft 4."),
)  # fmt: skip
_OTHER_FRENCH = Wording(
    "Feuillet {} sur {}", "Ensemble", "{} : total", "Total à reporter", "Total reporté", "Suite de {}", "Nombre, {} {}",
    "Signes", ("Fin de l'état.", "Les réclamations sont reçues en mairie dans les deux mois."),
)  # fmt: skip
#: The words of each part by the locale of a subject.
WORDINGS = {
    "tuning": {"us": _ENGLISH, "gb": _ENGLISH, "de": _GERMAN, "fr": _FRENCH},
    "held_back": {"us": _OTHER_ENGLISH, "gb": _OTHER_ENGLISH, "de": _OTHER_GERMAN, "fr": _OTHER_FRENCH},
}
