"""Spells what a stretch of a document means in the form that a field's description asks for."""

from __future__ import annotations

from collections.abc import Iterator

from cinnabar.engine.readings.codes import code_kinds
from cinnabar.engine.readings.locale import Locale
from cinnabar.engine.readings.readings import ReadValue, readings
from cinnabar.schemas.form.told_forms import MONTHS, Role, ToldForm


def spelled(form: ToldForm, text: str, locale: Locale, before: str = "", after: str = "") -> tuple[str, ...]:
    """Returns what a text may mean in this form, the likelier first, each once; () if it means nothing of the kind."""
    if form.kind in ("upper", "lower"):
        text = text.strip()
        return (text.upper() if form.kind == "upper" else text.lower(),) if text else ()
    if form.kind == "digits":
        digits = "".join(sign for sign in text if sign.isdecimal())
        return (digits,) if digits else ()
    read = readings(text, locale, before, after)
    found = (told for one in read for told in _spellings(form, one))
    return tuple(dict.fromkeys(told for told in found if form.fits(told)))


def _spellings(form: ToldForm, read: ReadValue) -> Iterator[str]:
    value = str(read.value)
    if form.kind != "moment":
        kinds = {"currency": "currency", "country": f"country {form.length}", "language": f"language {form.length}"}
        if form.kind == "letters" or kinds[form.kind] in code_kinds(value):
            yield from (value, value.upper(), value.lower())
    elif not form.parts:
        # A moment without a zone is read as one of UTC, too.
        yield from () if value.endswith("Z") else (value,)
    elif read.kind in ("date", "datetime", "time") or (read.kind == "text" and _is_month(value)):
        yield from _moment(form, value)


def _is_month(value: str) -> bool:
    return len(value) == 7 and value[4] == "-" and value.replace("-", "").isdecimal()


def _moment(form: ToldForm, value: str) -> Iterator[str]:
    """Yields a date, a time or both of them (ISO 8601) in this form, if it says all that the form asks for."""
    date, _, time = value.partition("T") if "-" in value[:8] else ("", "", value)
    year, month, day, *_ = [*date.split("-"), "", ""]
    hour, minute, second = time[:2], time[3:5], time[6:8] if time[5:6] == ":" else ""
    said: dict[Role, str] = {
        "year": year, "month": month, "day": day, "hour": hour, "minute": minute, "second": second, "half": hour,
    }  # fmt: skip
    is_half = any(role == "half" for role, _ in form.parts)
    if all(said[role] for role, _ in form.parts if role):
        yield "".join(_part(role, run, said[role], is_half) if role else run for role, run in form.parts)


def _part(role: Role, run: str, said: str, is_half: bool) -> str:
    """Returns a part of a moment as this run of letters asks for it."""
    number = int(said)
    if role == "half":
        half = "pm" if number >= 12 else "am"
        return f"{half[0]}.m." if "." in run else half if run.islower() else half.upper()
    if role == "year":
        return said[-len(run) :]
    if role == "month" and len(run) > 2:
        return MONTHS[number - 1] if len(run) == 4 else MONTHS[number - 1][:3]
    if role == "hour" and is_half:
        number = (number - 1) % 12 + 1
    return f"{number:02}" if len(run) > 1 else str(number)
