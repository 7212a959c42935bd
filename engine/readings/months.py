"""Month and weekday names in seven languages."""

from __future__ import annotations

import re

_NAMES = """
1 january jan januar jänner jaenner jän janvier janv enero ene gennaio gen janeiro januari
2 february feb februar febr feber février fevrier févr fevr fév fev febrero febbraio fevereiro februari
3 march mar märz maerz mrz mär mars marzo março marco maart mrt
4 april apr avril avr abril abr aprile
5 may mai mayo maggio mag maio mei
6 june jun juni juin junio giugno giu junho
7 july jul juli juillet juil julio luglio lug julho
8 august aug août aout agosto ago augustus
9 september sep sept septembre septiembre setiembre settembre setembro set
10 october oct oktober okt octobre octubre ottobre ott outubro out
11 november nov novembre noviembre novembro
12 december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro
"""
_ENGLISH = """january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec"""

MONTHS: dict[str, int] = {
    name: int(number) for number, *names in map(str.split, _NAMES.strip().splitlines()) for name in names
}
_ENGLISH_MONTHS = frozenset(_ENGLISH.split())

# Longest first, so that "mars" is not read as "mar" and a stray "s".
MONTH_PATTERN = "|".join(sorted(map(re.escape, MONTHS), key=lambda name: (-len(name), name)))

_WEEKDAYS = """monday tuesday wednesday thursday friday saturday sunday
mon tue tues wed thu thur thurs fri sat sun
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
lundi mardi mercredi jeudi vendredi samedi dimanche lun mer jeu ven sam dim
lunes martes miércoles miercoles jueves viernes sábado sabado domingo
lunedì martedì mercoledì giovedì venerdì
segunda-feira terça-feira quarta-feira quinta-feira sexta-feira segunda terça quarta quinta sexta
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"""
WEEKDAY_PATTERN = "|".join(sorted(map(re.escape, _WEEKDAYS.split()), key=lambda name: (-len(name), name)))


def is_english_month(name: str) -> bool:
    """Whether a month name, in any case, is one that English uses too."""
    return name.lower().rstrip(".") in _ENGLISH_MONTHS
