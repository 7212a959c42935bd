"""Patterns of URIs, IRIs and templates of them, by the grammars of RFC 3986, RFC 3987 and RFC 6570."""

from __future__ import annotations

_HEX = "[0-9A-Fa-f]"
_PERCENT = rf"%{_HEX}{{2}}"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

# RFC 3987 section 2.2, `ucschar` and `iprivate`.
_WIDE = (
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
    more, private = (_WIDE, _PRIVATE) if wide else ("", "")
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
    return rf"(?:[!#$&-;=?-[\]_a-z~{_WIDE}{_PRIVATE}]|{_PERCENT}|{expression})*"
