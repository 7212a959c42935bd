"""The formats of JSON Schema 2020-12: the texts that the standards allow, and the texts that may be written.

A written text always validates, so its automaton is a subset of the standard and of the texts that the independent
validator accepts. If the subset is proper, the line above the pattern names the texts left out, and a plain function
decides on the whole standard. A format that is not in `FORMATS` is an annotation.

Patterns of URIs, IRIs and templates of them, by the grammars of RFC 3986, RFC 3987 and RFC 6570.

Checks of host names and mailboxes by their standards; they are not regular, since A-labels must decode and encode.

Host names follow RFC 1123 section 2.1, with A-labels by RFC 5891. Internationalised ones follow RFC 5890 to 5893 (IDNA
2008); the package `idna` says which code points a label may have, and at which places. Mailboxes follow RFC 5321
section 4.1.2, and RFC 6531 section 3.3 for letters beyond ASCII.

Checks of dates and times by RFC 3339 section 5.6, with the year 0000 and leap seconds.

Arrow and DuckDB can store neither, so neither is ever written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache, partial

import idna

from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.operations import concat, intersect, literal, union
from cinnabar.schemas.automata.strings import bounded_length, content_of
from cinnabar.schemas.regex.ecma import is_regex
from cinnabar.schemas.regex.patterns import fullmatch

# Gregorian dates (RFC 3339 full-date) of the years 0001 to 9999, the range of Python, Arrow and DuckDB.
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    r"(?!0000)(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
# RFC 3339 full-time without leap seconds (:60), which timestamps of Arrow and DuckDB do not hold.
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
# RFC 3339 appendix A.
_CLOCK = r"T(?:\d+S|\d+M(?:\d+S)?|\d+H(?:\d+M(?:\d+S)?)?)"
_DURATION = rf"P(?:\d+W|(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)(?:{_CLOCK})?|{_CLOCK})"

# RFC 1123 host names without two hyphens in a row: nearly all of those are A-labels (`xn--`), and the valid ones are
# not a regular language.
_HOST = r"[{0}]+(?:[.-][{0}]+)*"
# Characters of a whole host name; RFC 1123 allows 63 a label and 253 in all, which would take 16,000 states.
_HOST_LENGTH = 63
# Letters of left-to-right scripts that IDNA 2008 allows anywhere in a label, and the most characters of a host name
# of them, so that the ASCII form of one label stays within 63.
_EUROPEAN = r"\u00df-\u00f6\u00f8-\u00ff\u03b1-\u03c1\u03c3-\u03c9\u0430-\u044f"
_EAST_ASIAN = r"\u3041-\u3096\u4e00-\u9fa5"
_WIDE = ((_EUROPEAN, 24), (_EAST_ASIAN, 14))
# RFC 5322 dot-atoms of at most 64 bytes (RFC 5321); no quoted strings.
_ATOM = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
_LOCAL_LENGTH = 64

_POINTER = r"(?:/(?:[^~/]|~[01])*)*"


_HEX = "[0-9A-Fa-f]"
_PERCENT = rf"%{_HEX}{{2}}"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

# RFC 3987 section 2.2, `ucschar` and `iprivate`.
_URIS_WIDE = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(rf"\u{{{plane:x}0000}}-\u{{{plane:x}fffd}}" for plane in range(1, 0xE))
    + r"\u{e1000}-\u{efffd}"
)
_PRIVATE = r"\ue000-\uf8ff\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}"


def ipv6() -> str:
    """The pattern of RFC 4291 section 2.2, in the nine cases of RFC 3986; no zones (RFC 6874)."""
    group = f"{_HEX}{{1,4}}"
    last = rf"(?:{group}:{group}|{IPV4})"
    cases = [rf"(?:{group}:){{6}}{last}", rf"::(?:{group}:){{5}}{last}"]
    cases += [rf"(?:(?:{group}:){{0,{n}}}{group})?::(?:{group}:){{{4 - n}}}{last}" for n in range(5)]
    cases += [rf"(?:(?:{group}:){{0,5}}{group})?::{group}", rf"(?:(?:{group}:){{0,6}}{group})?::"]
    return "|".join(cases)


def uri(wide: bool, relative: bool) -> str:
    """The pattern of RFC 3986, or of RFC 3987 if `wide`; of a reference if `relative`."""
    more, private = (_URIS_WIDE, _PRIVATE) if wide else ("", "")
    plain = rf"A-Za-z0-9\-._~!$&'()*+,;={more}"
    char = rf"(?:[{plain}:@]|{_PERCENT})"
    literal = rf"\[(?:{ipv6()}|[vV]{_HEX}+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+)\]"
    host = rf"(?:{literal}|(?:[{plain}]|{_PERCENT})*)"
    authority = rf"(?:(?:[{plain}:]|{_PERCENT})*@)?{host}(?::[0-9]*)?"
    rest = rf"(?:/{char}*)*"
    tail = rf"(?:\?(?:{char}|[/?{private}])*)?(?:#(?:{char}|[/?])*)?"
    rooted = rf"//{authority}{rest}|/(?:{char}+{rest})?"
    absolute = rf"[A-Za-z][A-Za-z0-9+.\-]*:(?:{rooted}|{char}+{rest}|)"
    if not relative:
        return absolute + tail
    return rf"(?:{absolute}|{rooted}|(?:[{plain}@]|{_PERCENT})+{rest}|){tail}"


def template() -> str:
    """The pattern of RFC 6570 with the apostrophe of erratum 6937; operators reserved for later are read too."""
    variable = rf"(?:\w|{_PERCENT})(?:\.?(?:\w|{_PERCENT}))*(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = rf"\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}}"
    return rf"(?:[!#$&-;=?-[\]_a-z~{_URIS_WIDE}{_PRIVATE}]|{_PERCENT}|{expression})*"


# The pattern of each format, which matches from start to end; host names are built below.
PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": rf"(?:{_DATE})[Tt]{_TIME}",
    "duration": _DURATION,
    "ipv4": IPV4,
    "ipv6": ipv6(),
    "uri": uri(wide=False, relative=False),
    "uri-reference": uri(wide=False, relative=True),
    "iri": uri(wide=True, relative=False),
    "iri-reference": uri(wide=True, relative=True),
    "uuid": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(?:0|[1-9]\d*)(?:#|{_POINTER})",
    "uri-template": template(),
    # Sequences of literals, dots, escapes and plain classes, each with at most one quantifier: no groups.
    "regex": (
        r"\^?(?:(?:[A-Za-z0-9 _@#%&=:;,<>~/-]|\.|\\[dDwWsS.*+?^$()[\]{}|\\/]|\[[A-Za-z0-9_]+\])[*+?]?)*\$?"
    ),
}


def _host(wide: bool) -> Automaton:
    """Host names; with `wide` also those with letters beyond ASCII."""
    alphabets = [("A-Za-z0-9", _HOST_LENGTH)]
    if wide:
        alphabets += [("a-z0-9" + letters, length) for letters, length in _WIDE]
    return union(*(_limit_length(_HOST.format(letters), length) for letters, length in alphabets))


def _limit_length(pattern: str, length: int) -> Automaton:
    """The texts of a pattern that have at least one code point and at most `length`."""
    return intersect(fullmatch(pattern), bounded_length(1, length))


def _email(wide: bool) -> Automaton:
    """Mailboxes of RFC 5321 (RFC 6531 if `wide`) with a host name behind the @."""
    local = _limit_length(rf"[{_ATOM}]+(?:\.[{_ATOM}]+)*", _LOCAL_LENGTH)
    if wide:
        more = "".join(letters for letters, _ in _WIDE)
        atom = rf"[{more}{_ATOM}]+"
        # A letter takes at most three bytes.
        local = union(local, _limit_length(rf"{atom}(?:\.{atom})*", _LOCAL_LENGTH // 3))
    return concat(local, literal(b"@"), _host(wide))


# Builders of the automata of the texts that may be written, by name of the format.
FORMATS: dict[str, Callable[[], Automaton]] = {
    **{name: partial(fullmatch, pattern) for name, pattern in PATTERNS.items()},
    "email": partial(_email, wide=False),
    "idn-email": partial(_email, wide=True),
    "hostname": partial(_host, wide=False),
    "idn-hostname": partial(_host, wide=True),
}


# A name in text is two octets shorter than on the wire, where RFC 1035 allows 255.
_NAME_LENGTH = 253
_LABEL_LENGTH = 63
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_A_LABEL = "xn--"
# The full stops beside the ASCII one that separate labels by RFC 3490 section 3.1.
_WIDE_STOPS = re.compile("[\u3002\uff0e\uff61]")
_RIGHT_TO_LEFT = ("R", "AL", "AN")

_DOMAIN_LENGTH = 255
_HOSTS_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\x80-\U0010ffff]+"
_QUOTED = r'"(?:[ !#-\[\]-~\x80-\U0010ffff]|\\[ -~])*"'
_LOCAL = re.compile(rf"{_HOSTS_ATOM}(?:\.{_HOSTS_ATOM})*|{_QUOTED}")

_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_GROUP = re.compile("[0-9A-Fa-f]{1,4}")


def is_hostname(text: str) -> bool:
    """Whether this is a host name of RFC 1123; a label with hyphens third and fourth must be an A-label.

    RFC 5890 section 2.3.1 reserves all other labels with hyphens there.
    """
    return len(text) <= _NAME_LENGTH and all(
        _is_ascii_label(label) and (label[2:4] != "--" or _u_label(label) is not None)
        for label in text.split(".")
    )


def is_idn_hostname(text: str) -> bool:
    """Whether this is a host name of IDNA 2008, made of U-labels, A-labels and plain ones."""
    shown: list[str] = []
    length = -1
    for label in _WIDE_STOPS.sub(".", text).split("."):
        if not label.isascii():
            encoded = _a_label(label)
        elif label[2:4] == "--":
            encoded, label = label, _u_label(label) or ""
        else:
            encoded = label
        if not label or encoded is None or not _is_ascii_label(encoded):
            return False
        shown.append(label)
        length += len(encoded) + 1
    if length > _NAME_LENGTH:
        return False
    # RFC 5893 section 1.4: if one label runs from right to left, the rule binds all labels of the name.
    return not any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in "".join(shown)) or all(
        map(_keeps_bidi_rule, shown)
    )


def is_email(text: str) -> bool:
    """Whether this is a mailbox of RFC 5321: dotted atoms or a quoted string, at a domain or an address."""
    return text.isascii() and is_idn_email(text)


def is_idn_email(text: str) -> bool:
    """Whether this is a mailbox of RFC 6531; its domain is read in normal form C (RFC 5891 section 5.2)."""
    local, at, domain = text.rpartition("@")
    if not at or not _LOCAL.fullmatch(local) or _octets(local) > _LOCAL_LENGTH:
        return False
    if domain.startswith("["):
        return domain.endswith("]") and _is_address(domain[1:-1])
    if domain.isascii():
        return len(domain) <= _DOMAIN_LENGTH and all(map(_is_ascii_label, domain.split(".")))
    return not _WIDE_STOPS.search(domain) and is_idn_hostname(unicodedata.normalize("NFC", domain))


def _is_ascii_label(label: str) -> bool:
    return len(label) <= _LABEL_LENGTH and _LABEL.fullmatch(label) is not None


def _u_label(label: str) -> str | None:
    """The U-label that this A-label stands for; None if the label is no A-label."""
    label = label.lower()
    if not label.startswith(_A_LABEL) or len(label) > _LABEL_LENGTH:
        return None
    try:
        shown = idna.ulabel(label)
    except UnicodeError:
        return None
    # Punycode that decodes may still differ from the encoding of its label (RFC 5891 section 5.4).
    return shown if not shown.isascii() and _a_label(shown) == label else None


def _a_label(label: str) -> str | None:
    """The A-label of this U-label; None if the label is no U-label."""
    if len(label) > _LABEL_LENGTH:  # its A-label is longer still
        return None
    try:
        return idna.alabel(label).decode()
    except UnicodeError:
        return None


def _keeps_bidi_rule(label: str) -> bool:
    try:
        return idna.check_bidi(label, check_ltr=True)
    except UnicodeError:
        return False


def _octets(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _is_address(text: str) -> bool:
    """Whether RFC 5321 section 4.1.3 allows this text in brackets: an address of IPv4 or IPv6."""
    if text[:5].lower() != "ipv6:":
        return _IPV4.fullmatch(text) is not None
    halves = text[5:].split("::")
    groups = [half.split(":") if half else [] for half in halves]
    last, count = groups[-1], 8
    if last and "." in last[-1]:
        if not _IPV4.fullmatch(last.pop()):
            return False
        count = 6
    whole = all(_GROUP.fullmatch(group) for half in groups for group in half)
    groups_given = sum(map(len, groups))
    # Two colons stand for two groups at least.
    return whole and (groups_given == count if len(halves) == 1 else len(halves) == 2 and groups_given <= count - 2)


_TIMES_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMES_TIME = re.compile(
    r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?"
    r"(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))"
)
_DAY = 24 * 60


def is_date(text: str) -> bool:
    """Whether this is a day of the Gregorian calendar, of the years 0000 to 9999."""
    return _day(text) is not None


def is_time(text: str) -> bool:
    """Whether this is a time of day with its offset; second 60 is allowed only right before midnight of UTC."""
    return _leaps(text) is not None


def is_date_time(text: str) -> bool:
    """Whether this is a day and a time; second 60 is allowed only at the end of a month of UTC (section 5.7)."""
    day, leaps = _day(text[:10]), _leaps(text[11:])
    if text[10:11] not in ("T", "t") or day is None or leaps is None:
        return False
    return not leaps or (day + timedelta(days=leaps[0] + 1)).day == 1


def _day(text: str) -> date | None:
    parts = _TIMES_DATE.fullmatch(text)
    if not parts:
        return None
    year, month, day = map(int, parts.groups())
    try:
        # The calendar repeats every 400 years, and Python's calendar has no year 0.
        return date(year % 400 + 400, month, day)
    except ValueError:
        return None


def _leaps(text: str) -> tuple[int, ...] | None:
    """For a leap second, the days that the date of UTC is ahead; () for another time, None for no time."""
    parts = _TIMES_TIME.fullmatch(text)
    if not parts:
        return None
    hour, minute, second, sign, *ahead = parts.groups()
    if second != "60":
        return ()
    offset = (int(ahead[0]) * 60 + int(ahead[1])) * (-1 if sign == "-" else 1) if sign else 0
    days, of_day = divmod(int(hour) * 60 + int(minute) - offset, _DAY)
    return (days,) if of_day == _DAY - 1 else None


# Checks of the formats that are not regular or not written in full; for the others the automaton is the format.
_CHECKS: dict[str, Callable[[str], bool]] = {
    "date": is_date,
    "time": is_time,
    "date-time": is_date_time,
    "email": is_email,
    "idn-email": is_idn_email,
    "hostname": is_hostname,
    "idn-hostname": is_idn_hostname,
    "regex": is_regex,
}


@cache
def format_content(name: str) -> Automaton | None:
    """The content of all strings of this format that may be written; None if the format is not known.

    The result is a subset of the texts that `is_format` allows, a proper one for a format in `_CHECKS`.
    """
    build = FORMATS.get(name)
    return build() if build else None


def is_format(name: str, text: str) -> bool:
    """Whether the text is of this format by its standard; an unknown format allows any text."""
    if name in _CHECKS:
        return _CHECKS[name](text)
    content = format_content(name)
    try:
        return content is None or content.accepts(content_of(text))
    except ValueError:  # a lone surrogate
        return False
