"""The formats of JSON Schema 2020-12 as automata over the content of a string.

Each is a subset of what the standard it names allows and of what the independent validator accepts, so that what
is written under a format always validates. Where it is a proper subset, the line above the pattern says what is
left out. A format that is not in `FORMATS` is an annotation.
"""

from __future__ import annotations

from functools import cache

from cinnabar.schemas.automaton import Automaton, union
from cinnabar.schemas.regex import fullmatch

# Gregorian dates (RFC 3339 full-date) of the years 0001 to 9999, the range of Python, Arrow and DuckDB.
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE = (
    r"(?!0000)(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
# RFC 3339 full-time without leap seconds (:60), which timestamps of Arrow and DuckDB do not hold.
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
# RFC 3339 appendix A.
_DURATION = (
    r"P(?:\d+W|(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)(?:T{0})?|T{0})"
).format(r"(?:\d+S|\d+M(?:\d+S)?|\d+H(?:\d+M(?:\d+S)?)?)")

# RFC 1123, of at most 63 characters in all (the standard: 63 a label, 253 in all, which takes 16,000 states), and
# without labels that have `--` in third place: those are A-labels, whose validity is not regular.
_LABEL = r"(?!..--)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?=[\x00-\x7f]{{1,63}}$){_LABEL}(?:\.{_LABEL})*"
# Letters of some left-to-right scripts that IDNA 2008 allows in any place of a label; at most 14 characters a
# label and 4 labels, so that the ASCII form stays within 63.
_LETTERS = r"a-z0-9\u00e0-\u00f6\u00f8-\u00ff\u03b1-\u03c1\u03c3-\u03c9\u0430-\u044f\u3041-\u3096\u4e00-\u9fa5"
_WIDE_LABEL = rf"[{_LETTERS}](?:[{_LETTERS}-]{{0,12}}[{_LETTERS}])?"
_WIDE_HOST = rf"(?!(?:.*\.)?..--){_WIDE_LABEL}(?:\.{_WIDE_LABEL}){{0,3}}"
# RFC 5321 mailboxes with a dot-string before the @ and a host name behind it; no quoted strings, no addresses.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*"
_WIDE_ATOM = rf"[A-Z{_LETTERS}!#$%&'*+/=?^_`{{|}}~-]+"
_WIDE_LOCAL = rf"(?=[^@]{{1,16}}@){_WIDE_ATOM}(?:\.{_WIDE_ATOM})*"

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
    """RFC 3986, or RFC 3987 where `wide`; without hosts in brackets and with ports of at most four digits."""
    more = r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" if wide else ""
    plain = rf"A-Za-z0-9\-._~!$&'()*+,;={more}"
    percent = r"%[0-9A-Fa-f]{2}"
    char = rf"(?:[{plain}:@]|{percent})"
    authority = rf"(?:(?:[{plain}:]|{percent})*@)?(?:[{plain}]|{percent})*(?::\d{{0,4}})?"
    rest = rf"(?:/{char}*)*"
    tail = rf"(?:\?(?:{char}|[/?])*)?(?:#(?:{char}|[/?])*)?"
    rooted = rf"//{authority}{rest}|/(?:{char}+{rest})?"
    absolute = rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{rooted}|{char}+{rest}|)"
    if not relative:
        return absolute + tail
    return rf"(?:{absolute}|{rooted}|(?:[{plain}@]|{percent})+{rest}|){tail}"


_POINTER = r"(?:/(?:[^~/]|~[01])*)*"
_VARIABLE = r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*(?::[1-9]\d{0,3}|\*)?"

# By name, the patterns whose union is the format.
FORMATS: dict[str, tuple[str, ...]] = {
    "date": (_DATE,),
    "time": (_TIME,),
    "date-time": (rf"(?:{_DATE})[Tt]{_TIME}",),
    "duration": (_DURATION,),
    "email": (rf"{_LOCAL}@{_HOST}",),
    "idn-email": (rf"{_LOCAL}@{_HOST}", rf"{_WIDE_LOCAL}@{_WIDE_HOST}"),
    "hostname": (_HOST,),
    "idn-hostname": (_HOST, _WIDE_HOST),
    "ipv4": (_IPV4,),
    "ipv6": (_ipv6(),),
    "uri": (_uri(wide=False, relative=False),),
    "uri-reference": (_uri(wide=False, relative=True),),
    "iri": (_uri(wide=True, relative=False),),
    "iri-reference": (_uri(wide=True, relative=True),),
    "uuid": (r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",),
    "json-pointer": (_POINTER,),
    "relative-json-pointer": (rf"(?:0|[1-9]\d*)(?:#|{_POINTER})",),
    # RFC 6570, literals of printable ASCII.
    "uri-template": (
        rf"(?:[!#$&(-;=?-[\]_a-z~]|%[0-9A-Fa-f]{{2}}|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*",
    ),
    # Sequences of literals, dots, escapes and plain classes, each with at most one quantifier: no groups.
    "regex": (
        r"\^?(?:(?:[A-Za-z0-9 _@#%&=:;,<>~/-]|\.|\\[dDwWsS.*+?^$()[\]{}|\\/]|\[[A-Za-z0-9_]+\])[*+?]?)*\$?",
    ),
}


@cache
def format_content(name: str) -> Automaton | None:
    """The content of all strings of this format; None where the format is not known, so an annotation."""
    patterns = FORMATS.get(name)
    return None if patterns is None else union(*map(fullmatch, patterns))
