"""Reads times of day and date-times as people write them into HH:MM and RFC 3339."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cinnabar.engine.readings.cldr import WEEKDAY_PATTERN, mark_names
from cinnabar.engine.readings.dates import dates_in
from cinnabar.engine.readings.locale import Locale

_WORDS = {"noon": "12:00", "midday": "12:00", "midnight": "00:00", "mittag": "12:00", "mitternacht": "00:00",
          "midi": "12:00", "minuit": "00:00", "mediodía": "12:00", "medianoche": "00:00", "mezzogiorno": "12:00",
          "mezzanotte": "00:00", "meio-dia": "12:00", "meia-noite": "00:00", "middernacht": "00:00"}  # fmt: skip
_TWELVE = rf"(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})s?\b"

# Hours east of UTC of the abbreviations with one meaning, or nearly one.
ZONES = {
    "Z": 0.0, "UTC": 0.0, "GMT": 0.0, "UT": 0.0, "WET": 0.0, "EST": -5.0, "EDT": -4.0,
    "CST": -6.0, "CDT": -5.0, "MST": -7.0,
    "MDT": -6.0, "PST": -8.0, "PDT": -7.0, "AKST": -9.0, "AKDT": -8.0, "HST": -10.0, "AST": -4.0, "ADT": -3.0,
    "NST": -3.5, "NDT": -2.5, "CET": 1.0, "CEST": 2.0, "MEZ": 1.0, "MESZ": 2.0, "BST": 1.0,
    "WEST": 1.0, "EET": 2.0, "EEST": 3.0, "MSK": 3.0, "IST": 5.5, "JST": 9.0, "KST": 9.0, "SGT": 8.0,
    "HKT": 8.0, "AEST": 10.0, "AEDT": 11.0, "AWST": 8.0, "NZST": 12.0, "NZDT": 13.0, "SST": -11.0,
    "CHST": 10.0,
}  # fmt: skip

# The same in words.
_SPELLED = {
    "COORDINATED UNIVERSAL": "UTC", "UNIVERSAL": "UTC", "GREENWICH MEAN": "GMT", "BRITISH SUMMER": "BST",
    "INDIA STANDARD": "IST", "INDIAN STANDARD": "IST", "JAPAN STANDARD": "JST", "KOREA STANDARD": "KST",
    "SINGAPORE": "SGT", "HONG KONG": "HKT", "MOSCOW": "MSK", "AUSTRALIAN EASTERN STANDARD": "AEST",
    "AUSTRALIAN EASTERN DAYLIGHT": "AEDT", "NEW ZEALAND STANDARD": "NZST", "NEW ZEALAND DAYLIGHT": "NZDT",
} | {f"{name} EUROPEAN{kind}": f"{name[0]}E{kind[1:2]}T" for name in ("CENTRAL", "EASTERN", "WESTERN")
     for kind in ("", " SUMMER")} | {f"{name} {kind}": f"{name[0]}{kind[0]}T" for kind in ("STANDARD", "DAYLIGHT")
     for name in ("EASTERN", "CENTRAL", "MOUNTAIN", "PACIFIC", "ATLANTIC")}  # fmt: skip
_SPELLED = {f"{words} TIME": short for words, short in _SPELLED.items()} | {
    f"MITTELEUROPÄISCHE{end}ZEIT": "CEST" if "S" in end else "CET" for end in (" ", "R ", " SOMMER", "R SOMMER")
}
ZONES |= {words: ZONES[short] for words, short in _SPELLED.items()}

# Zones with summer time: the offset follows from the day.
_REGIONS = {"E": "America/New_York", "C": "America/Chicago", "M": "America/Denver", "P": "America/Los_Angeles"}

_HALF = (
    r"(?:[ap]\s?\.?\s?m\b\.?|in\sthe\s(?:morning|afternoon|evening)\b|at\snight\b"
    r"|(?:morgens|vormittags|nachmittags|abends|nachts)\b|du\s(?:matin|soir)\b|de\sl['’]après-midi\b"
    r"|de\sla\s(?:mañana|tarde|noche)\b|del\s(?:mattino|pomeriggio)\b|di\s(?:mattina|sera|notte)\b)"
)
_AFTER_NOON = re.compile(r"p|noon|evening|nachmi|abend|soir|tarde|sera", re.IGNORECASE)
_NIGHT = re.compile(r"night|nacht|noche|notte", re.IGNORECASE)
_OCLOCK = r"(?:uhr|hrs?|h|o['’]?clock|horas|heures?|hours)\b"
# Behind these words a point may part the digits of a time; elsewhere they could be an amount.
_TOLD = "|".join(rf"(?<=\b{word}\s)" for word in ("ore", "alle", "dalle", "las", "um", r"kl\."))
# A hyphen stands before a time that ends a range ("9:00-17:00"). "Half past four" is no four o'clock.
TIME = re.compile(
    rf"""(?:(?<![\w.,:/$€£+-])|(?<=[:.h]\d\d-)(?<!:\d\d:\d\d-)(?<!t\d\d:\d\d-))(?<!\bpast\s)(?<!\bhalb\s)(?:
    (?:(?P<h>[01]?\d|2[0-4])(?:\s?(?:h|heures?|uhr)\s?|:)(?P<m>[0-5]\d)(?:[:'](?P<s>[0-5]\d|60)(?P<f>[.,]\d+)?)?(?![\d:])
            (?!\s?m(?:in\w*|n)?\b)
        |(?P<dh>[01]?\d|2[0-4])\.(?P<dm>[0-5]\d)(?:[.:](?P<ds>[0-5]\d))?(?=\s*(?:{_HALF}|{_OCLOCK}|{_TWELVE}))
        |(?:{_TOLD})(?P<th>[01]?\d|2[0-4])\.(?P<tm>[0-5]\d)(?![.,]?\d|\s?(?:[€$£%]|euro|prozent|(?-i:[A-Z]{{3}}\b)))
        |(?P<wh>[01]?\d|2[0-4])(?=\s*(?:{_HALF}|uhr\b|o['’]?clock\b|h\b)|(?<=\bà\s\d\d)\sheures\b|(?<=\b12)\s?{_TWELVE})
        |(?P<mil>(?:[01]?\d|2[0-3])[0-5]\d)
            (?=\s*(?:{_HALF}|uhr\b|hrs\b|hours\b|h\b|(?:utc|gmt|z|[ecmp][sd]t)\b))
    )(?:\s*{_OCLOCK})?(?:\s*(?P<half>{_HALF}|\(?{_TWELVE}\)?))?
    |(?P<word>{"|".join(_WORDS)})\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_BARE = re.compile(r"(?P<h>[01]?\d|2[0-4])(?:[:.h](?P<m>[0-5]\d))?|(?P<mil>(?:[01]\d|2[0-3])[0-5]\d)")
HALF_AFTER = re.compile(
    r"(?:\s*(?:-|–|—|to|until|till|and|bis|/)+\s*(?P<end>\d{1,2})(?:[:.]?[0-5]\d)?)?\s*(?P<half>[ap])\s?\.?\s?m\b",
    re.IGNORECASE,
)
_CLOCK = r"(?:\d{1,2}(?:[:.h][0-5]\d)?(?:\s{0,2}(?:[ap]\.?\s?m\b\.?|Uhr\b|h\b))?|\d{4}|noon|midnight)"
# Two times of day with a dash or a word between them; at least one must look like a time and no other number.
# White space is bounded: a match would try every division of adjacent runs of it.
RANGE = re.compile(
    rf"(?<![\w.,:/$€£-])(?=\d{{1,2}}[:h]|(?:[\d:.]|\s|[-–—]|to|bis|and|until){{1,20}}?(?:[ap]\.?\s?m\b|Uhr\b)|noon|midnight)"
    rf"(?P<first>{_CLOCK})\s{{0,3}}(?:\(?(?:[ecmp][sd]?t|utc|gmt)\)?\s{{0,3}})?(?:-|–|—|to\b|until\b|till\b|bis\b|and\b|à)"
    rf"\s{{0,3}}(?P<last>{_CLOCK})(?![\w:]|[./-]\d)",
    re.IGNORECASE,
)
STAMP = re.compile(
    r"(?<!\d)(?P<date>\d{4}-\d\d-\d\d|\d{8}|\d{6})[Tt_ ](?P<h>[01]\d|2[0-4]):?(?P<m>[0-5]\d)"
    rf"(?::?(?P<s>[0-5]\d|60)(?P<f>[.,]\d+)?)?(?![.,:]?\d)(?!\s?(?i:{_HALF}|{_OCLOCK}|{_TWELVE}))",
)
# A place or a zone of unknown offset: "Berlin time", "(heure de Paris)". Other words before "time" label the next one.
_ELSEWHERE = (
    r"(?<![\n\r\t])(?:,[ ])?(?:(?!(?:Start|End|Begin|Finish|Clos|Open|Arriv|Depart|Check|Door|Show|Lunch|Dinner|Break"
    r"|Run|Total|Local|Due|Meet|Date|Day|Next|Report|Travel|Service|Pick|Deliver|Board|Print|Full|Part|Tea|Curtain)|The\b)"
    r"(?:[A-ZÄÖÜ][\w.'’-]*[ \u00a0]){1,3}[Tt]ime\b|[^\W\d_]+er[ ]Zeit\b"
    r"|(?i:heure|hora|ora)[ ](?:d['’]été[ ])?(?:de[ ]|d['’]|di[ ]|del[ ])(?:la[ ])?[A-Z]\w+)(?![ ]?[:=\d])"
)
_ZONE = re.compile(
    rf"\s?\(?(?:(?P<name>(?i:utc|gmt|{'|'.join(sorted(_SPELLED, key=len, reverse=True))})"
    rf"|{'|'.join(sorted(ZONES, key=len, reverse=True))})"
    r"(?:\s?(?P<shift>[+−-]\d{1,2}(?::?[0-5]\d)?))?(?!\w|[:.]\d)"
    r"|(?P<offset>[+−-](?:0\d|1[0-4])(?::?[0-5]\d)?)(?!\w|[:.]\d)"
    r"|(?P<region>[ECMP]T\b|(?:Eastern|Central|Mountain|Pacific)\b(?!\s(?:Europe|Africa|Stand|Dayl))(?:\s[Tt]ime)?"
    rf"|(?P<city>(?:Africa|America|Asia|Australia|Europe|Pacific)/[A-Z]\w+)|(?P<elsewhere>{_ELSEWHERE})))\)?"
)
# Where a time stands beside its date: signs and words between the two.
_BESIDE = re.compile(
    r"(?:[\s,;|/()\[\]·•–—:-]|\b(?:at|on|um|ab|am|den|der|le|las?|los|el|il|lo|a|à|de|del?|da|dal|dalle|alle|ore?|ora|h|kl|klo"
    r"|om|from|von|d[eè]s|desde|gegen|vers|circa|ca|start(?:s|ing)?|begin(?:s|n|ning)?|début|inicio|inizio|time|uhrzeit|zeit"
    rf"|heure|hora|orario|dat[eau]|datum|fecha|day|tag|jour|día|giorno|of|the|{WEEKDAY_PATTERN})\b\.?){{0,16}}",
    re.IGNORECASE,
)
_HOURS_ONLY = re.compile(r"(?!0)(?:1[0-2]|\d)\s?h(?:\s?[0-5]\d)?", re.IGNORECASE)


def zone_after(text: str, end: int) -> re.Match[str] | None:
    """Returns the zone that stands right behind a time, which ends at this character.

    A minus is an offset behind seconds, behind a T, or if a blank parts four digits from the time; else it is a range.
    """
    zone = _ZONE.match(text, end)
    if zone is None or not (zone["offset"] or "").startswith(("-", "−")):
        return zone
    exact = re.search(r"(?:\d:\d\d:|[Tt]\d\d:?)\d\d(?:[.,]\d+)?$", text[max(0, end - 24) : end])
    return zone if exact or re.match(r"\s[-−]\d{4}", text[end:]) else None


def end_of_zone(text: str, end: int) -> int:
    """Returns the end of a time with the zone behind it; the time itself ends at this character."""
    zone = zone_after(text, end)
    return end if zone is None else zone.end()


def is_beside(gap: str, time: str, date_first: bool, behind: str) -> bool:
    """Returns whether a date and a time belong together by the text in the gap between them.

    behind: what follows the time. On the next line a time needs a word before it, or stands alone. "8h30" may be a
    length, so that it needs a word before it too.
    """
    if _BESIDE.fullmatch(mark_names(gap)) is None:
        return False
    worded, lines = any(map(str.isalpha, gap)), gap.count("\n")
    near = not lines or (lines == 1 and date_first and (worded or not behind.partition("\n")[0].strip()))
    return near and (worded or _HOURS_ONLY.fullmatch(time) is None)


def read_time(match: re.Match[str], after: str = "") -> tuple[str, ...]:
    """Returns the times of day ("HH:MM", or "HH:MM:SS" with seconds) that a match of `TIME` may mean.

    Without a word for the half of the day, an hour up to twelve is read as it stands, then twelve hours off. The half
    after the end of a range ("3:30 - 5:00 pm" in `after`) may reverse that order.
    """
    group = match.groupdict()
    if group["word"]:
        return (_WORDS[group["word"].lower()],)
    half = group["half"]
    if group["mil"]:
        hour, minute, second = int(group["mil"][:-2]), group["mil"][-2:], None
    else:
        hour = int(group["h"] or group["dh"] or group["th"] or group["wh"])
        minute, second = group["m"] or group["dm"] or group["tm"] or "00", group["s"] or group["ds"]
        second = second and second + _fraction(group["f"])
    written = match[0].lower()
    certain = "uhr" in written or "h" in written
    return _times(hour, minute, second, half, after, certain)


def _fraction(printed: str | None) -> str:
    """Returns the parts of a second that are printed behind it, with a point; empty for none but zeros."""
    return "." + printed[1:] if printed and printed.strip(".,0") else ""


def _is_next_day(match: re.Match[str]) -> bool:
    """Returns whether the time is the end of its day, 24:00."""
    return "24" in (match["h"], *(match[name] for name in ("dh", "th", "wh") if name in match.re.groupindex))


def _after(day: str) -> str:
    return date.fromordinal(min(date.fromisoformat(day).toordinal() + 1, date.max.toordinal())).isoformat()


def bare_time(text: str, after: str = "") -> tuple[str, ...]:
    """Returns the times that a whole span of digits may mean ("3", "3:30", "15.30", "1530"); empty for none."""
    match = _BARE.fullmatch(text)
    if match is None:
        return ()
    if match["mil"]:
        return _times(int(match["mil"][:2]), match["mil"][2:], None, None, after, True)
    return _times(int(match["h"]), match["m"] or "00", None, None, after, False)


def _times(hour: int, minute: str, second: str | None, half: str | None, after: str, certain: bool) -> tuple[str, ...]:
    tail = minute if second is None else f"{minute}:{second}"
    if half is not None and (twelve := _WORDS.get(half.lower().strip("()").removesuffix("s"))) is not None:
        if hour == 12:
            return (f"{twelve[:2]}:{tail}",)
        half = None
    if half is not None and hour <= 12:
        late = 5 < hour < 12 if _NIGHT.search(half) else _AFTER_NOON.search(half) is not None
        return (f"{hour % 12 + 12 * late:02d}:{tail}",)
    if hour > 24 or (hour == 24 and tail.strip("0:")):
        return ()
    plain = f"{hour % 24:02d}:{tail}"
    # A time with seconds is written with twenty-four hours.
    if half is not None or certain or second is not None or hour > 12 or hour == 0:
        return (plain,)
    other = f"{hour % 12 + 12:02d}:{tail}" if hour < 12 else f"00:{tail}"
    behind = HALF_AFTER.match(after)
    # As it stands a time is one before noon, but for twelve.
    turned = behind is not None and (behind["half"] in "pP") == (hour < 12)
    # "9 to 5 pm" begins before noon.
    turned ^= behind is not None and hour % 12 > int(behind["end"] or hour) % 12
    return (other, plain) if turned else (plain, other)


def add_seconds(time: str) -> str:
    """Returns the same time as HH:MM:SS."""
    return time if time.count(":") == 2 else time + ":00"


def _offset(zone: re.Match[str], day: str, time: str) -> float | None:
    """Returns the hours east of UTC of a zone on this day; None if this machine does not know the zone."""
    if zone["region"]:
        if zone["elsewhere"]:
            return None
        try:
            region = ZoneInfo(zone["city"] or _REGIONS[zone["region"][0]])
            moved = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=region).utcoffset()
        except (ZoneInfoNotFoundError, ValueError):
            return None
        return None if moved is None else moved.total_seconds() / 3600
    sign, hours, minutes = re.findall(r"(.)(\d\d?):?(\d\d)?$", zone["shift"] or zone["offset"] or "+0")[0]
    shift = int(hours) + int(minutes or 0) / 60
    return ZONES[(zone["name"] or "Z").upper()] + (shift if sign == "+" else -shift)


def read_datetimes(text: str, locale: Locale, after: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the RFC 3339 date-times, and the local ones without a zone, of a text with one date and a time.

    A given offset or zone is kept, and the next reading is converted to UTC; without one the time counts as UTC. Of
    several times in the text the first counts.
    """
    stamp = STAMP.search(text)
    if stamp is not None:
        day = _stamp_date(stamp["date"])
        if day is None:
            return (), ()
        if _is_next_day(stamp) and (stamp["m"], stamp["s"] or "00") != ("00", "00"):
            return (), ()
        day = _after(day) if _is_next_day(stamp) else day
        time = f"{int(stamp['h']) % 24:02d}:{stamp['m']}:{stamp['s'] or '00'}{_fraction(stamp['f'])}"
        return _rfc(day, time, zone_after(text + after, stamp.end())), (f"{day}T{time}", f"{day}T{time[:5]}")
    dates = dates_in(text, locale)
    if not dates:
        return (), ()
    rest = text
    for start, end, _ in reversed(dates):
        rest = rest[:start] + "\n" + " " * (end - start - 1) + rest[end:]
    match = TIME.search(rest)
    if match is None:
        return (), ()
    zone = zone_after(rest + after, match.end()) or zone_after(rest.rstrip(), dates[0][1])
    full: list[str] = []
    local: list[str] = []
    for day in map(_after, dates[0][2]) if _is_next_day(match) else dates[0][2]:
        for time in read_time(match, rest[match.end() :] + after):
            full += _rfc(day, add_seconds(time), zone)
            local += [f"{day}T{add_seconds(time)}", f"{day}T{time[:5]}"]
    return tuple(dict.fromkeys(full)), tuple(dict.fromkeys(local))


def minutes_between(text: str) -> int | None:
    """Returns the minutes from the first to the second time of a range ("2 to 3:30 p.m."), else None.

    The half of the day at the end counts for both; a range past midnight ends on the next day.
    """
    match = RANGE.fullmatch(text)
    if match is None:
        return None
    after = text[match.end("first") :]
    first, last = match["first"].strip(), match["last"].strip()
    whole, end_whole = TIME.fullmatch(first), TIME.fullmatch(last)
    starts = bare_time(first, after) if whole is None else read_time(whole, after)
    ends = bare_time(last) if end_whole is None else read_time(end_whole)
    if not starts or not ends:
        return None
    start, end = (int(time[:2]) * 60 + int(time[3:5]) for time in (starts[0], ends[0]))
    return (end - start) % 1440 or None


def _stamp_date(digits: str) -> str | None:
    if "-" not in digits:
        if len(digits) == 6:
            digits = ("20" if int(digits[:2]) < 70 else "19") + digits
        digits = f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
    try:
        return datetime.fromisoformat(digits).date().isoformat()
    except ValueError:
        return None


def rfc_times(times: Iterable[str], zone: re.Match[str] | None) -> tuple[str, ...]:
    """Returns times of day with their offset, as RFC 3339 has them; without a zone they count as UTC."""
    if zone is not None and zone["region"]:
        return ()
    return tuple(_rfc("2000-01-01", add_seconds(time), zone)[0][11:] for time in times)


def _rfc(day: str, time: str, zone: re.Match[str] | None) -> tuple[str, ...]:
    offset = 0.0 if zone is None else _offset(zone, day, time)
    if offset is None:
        return ()
    if offset == 0:
        return (f"{day}T{time}Z",)
    minutes = round(abs(offset) * 60)
    written = f"{day}T{time}{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    try:
        moved = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=timezone(timedelta(hours=offset)))
        return (written, f"{moved.astimezone(UTC):%Y-%m-%dT%H:%M:%S}{time[8:]}Z")
    except (ValueError, OverflowError):
        return (written,)
