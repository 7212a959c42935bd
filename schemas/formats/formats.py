"""The formats of JSON Schema 2020-12: the texts that the standards allow, and the texts that may be written.

A written text always validates, so its automaton is a subset of the texts that the independent validator accepts. If
the subset is proper, the line above the pattern names the texts left out, and the validator decides on the whole
standard. A format that is not in `FORMATS` is an annotation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import jsonschema_rs

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
    "regex": (r"\^?(?:(?:[A-Za-z0-9 _@#%&=:;,<>~/-]|\.|\\[dDwWsS.*+?^$()[\]{}|\\/]|\[[A-Za-z0-9_]+\])[*+?]?)*\$?"),
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


# The formats that are not regular or not written in full; of the others the automaton is the format.
_CHECKED = ("date", "time", "date-time", "email", "idn-email", "hostname", "idn-hostname")


@cache
def format_content(name: str) -> Automaton | None:
    """The content of all strings of this format that may be written; None if the format is not known.

    The result is a subset of the texts that `is_format` allows, a proper one for `regex` and the formats in `_CHECKED`.
    """
    build = FORMATS.get(name)
    return build() if build else None


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True)


def is_format(name: str, text: str) -> bool:
    """Whether the text is of this format by its standard; an unknown format allows any text."""
    if name == "regex":
        return is_regex(text)
    try:
        if name in _CHECKED:
            return _validator(name).is_valid(text)
        content = format_content(name)
        return content is None or content.accepts(content_of(text))
    except ValueError:  # a lone surrogate
        return False
