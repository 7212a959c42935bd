"""The formats of JSON Schema 2020-12 as automata over the content of a string.

Each is a subset of what the standard it names allows and of what the independent validator accepts, so that
what is written under a format always validates. Where it is a proper subset, the line above the pattern says
what is left out. A format that is not in `FORMATS` is an annotation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from cinnabar.schemas.automaton import Automaton, concat, literal, union
from cinnabar.schemas.regex import fullmatch
from cinnabar.schemas.strings import bounded_length, content_of

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

# RFC 1123 host names without two hyphens in a row: nearly all of those are A-labels (`xn--`), whose validity
# is not regular.
_HOST = r"[{0}]+(?:[.-][{0}]+)*"
# Characters of a whole host name; RFC 1123 allows 63 a label and 253 in all, which would take 16,000 states.
_HOST_LENGTH = 63
# Letters of left-to-right scripts that IDNA 2008 allows in any place of a label, and how many characters a
# host name of them may have, so that the ASCII form of one label stays within 63.
_EUROPEAN = r"\u00df-\u00f6\u00f8-\u00ff\u03b1-\u03c1\u03c3-\u03c9\u0430-\u044f"
_EAST_ASIAN = r"\u3041-\u3096\u4e00-\u9fa5"
_WIDE = ((_EUROPEAN, 24), (_EAST_ASIAN, 14))
# RFC 5322 dot-atoms of at most 64 bytes (RFC 5321); no quoted strings.
_ATOM = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
_LOCAL_LENGTH = 64

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"


def _ipv6() -> str:
    """RFC 4291 section 2.2, in the nine cases of RFC 3986."""
    group = r"[0-9A-Fa-f]{1,4}"
    last = rf"(?:{group}:{group}|{_IPV4})"
    cases = [rf"(?:{group}:){{6}}{last}", rf"::(?:{group}:){{5}}{last}"]
    cases += [rf"(?:(?:{group}:){{0,{n}}}{group})?::(?:{group}:){{{4 - n}}}{last}" for n in range(5)]
    cases += [rf"(?:(?:{group}:){{0,5}}{group})?::{group}", rf"(?:(?:{group}:){{0,6}}{group})?::"]
    return "|".join(cases)


def _uri(wide: bool, relative: bool) -> str:
    """RFC 3986, or RFC 3987 where `wide`; without hosts in brackets and with ports of at most five digits."""
    more = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" if wide else ""
    plain = rf"A-Za-z0-9\-._~!$&'()*+,;={more}"
    percent = r"%[0-9A-Fa-f]{2}"
    char = rf"(?:[{plain}:@]|{percent})"
    authority = rf"(?:(?:[{plain}:]|{percent})*@)?(?:[{plain}]|{percent})*(?::\d{{0,5}})?"
    rest = rf"(?:/{char}*)*"
    tail = rf"(?:\?(?:{char}|[/?])*)?(?:#(?:{char}|[/?])*)?"
    rooted = rf"//{authority}{rest}|/(?:{char}+{rest})?"
    absolute = rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{rooted}|{char}+{rest}|)"
    if not relative:
        return absolute + tail
    return rf"(?:{absolute}|{rooted}|(?:[{plain}@]|{percent})+{rest}|){tail}"


_POINTER = r"(?:/(?:[^~/]|~[01])*)*"
_VARIABLE = r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*(?::[1-9]\d{0,3}|\*)?"

# By name, the pattern of the format, which it matches from start to end; those of host names are built below.
PATTERNS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": rf"(?:{_DATE})[Tt]{_TIME}",
    "duration": _DURATION,
    "ipv4": _IPV4,
    "ipv6": _ipv6(),
    "uri": _uri(wide=False, relative=False),
    "uri-reference": _uri(wide=False, relative=True),
    "iri": _uri(wide=True, relative=False),
    "iri-reference": _uri(wide=True, relative=True),
    "uuid": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "json-pointer": _POINTER,
    "relative-json-pointer": rf"(?:0|[1-9]\d*)(?:#|{_POINTER})",
    # RFC 6570, literals of printable ASCII.
    "uri-template": (
        rf"(?:[!#$&(-;=?-[\]_a-z~]|%[0-9A-Fa-f]{{2}}|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
    ),
    # Sequences of literals, dots, escapes and plain classes, each with at most one quantifier: no groups.
    "regex": (
        r"\^?(?:(?:[A-Za-z0-9 _@#%&=:;,<>~/-]|\.|\\[dDwWsS.*+?^$()[\]{}|\\/]|\[[A-Za-z0-9_]+\])[*+?]?)*\$?"
    ),
}


def _host(wide: bool) -> Automaton:
    """Host names; where `wide`, with letters beyond ASCII too."""
    alphabets = [("A-Za-z0-9", _HOST_LENGTH)]
    if wide:
        alphabets += [("a-z0-9" + letters, length) for letters, length in _WIDE]
    return union(
        *(fullmatch(_HOST.format(letters)) & bounded_length(1, length) for letters, length in alphabets)
    )


def _email(wide: bool) -> Automaton:
    """Mailboxes of RFC 5321 (RFC 6531 where `wide`) with a host name behind the @."""
    local = fullmatch(rf"[{_ATOM}]+(?:\.[{_ATOM}]+)*") & bounded_length(1, _LOCAL_LENGTH)
    if wide:
        more = "".join(letters for letters, _ in _WIDE)
        atom = rf"[{more}{_ATOM}]+"
        # Three bytes a letter at most.
        local |= fullmatch(rf"{atom}(?:\.{atom})*") & bounded_length(1, _LOCAL_LENGTH // 3)
    return concat(local, literal(b"@"), _host(wide))


FORMATS: dict[str, Callable[[], Automaton]] = {
    **{name: partial(fullmatch, pattern) for name, pattern in PATTERNS.items()},
    "email": partial(_email, wide=False),
    "idn-email": partial(_email, wide=True),
    "hostname": partial(_host, wide=False),
    "idn-hostname": partial(_host, wide=True),
}


@cache
def format_content(name: str) -> Automaton | None:
    """The content of all strings of this format; None where the format is not known, so an annotation."""
    build = FORMATS.get(name)
    return build() if build else None


def is_format(name: str, text: str) -> bool:
    """Whether the text is of this format, by the standard that it names; an unknown one holds any."""
    content = format_content(name)
    try:
        return content is None or content.accepts(content_of(text))
    except ValueError:  # a lone surrogate
        return False
