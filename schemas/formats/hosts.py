"""Checks of host names and mailboxes by their standards; they are not regular, since A-labels must decode and encode.

Host names follow RFC 1123 section 2.1, with A-labels by RFC 5891. Internationalised ones follow RFC 5890 to 5893 (IDNA
2008); the package `idna` says which code points a label may have, and at which places. Mailboxes follow RFC 5321
section 4.1.2, and RFC 6531 section 3.3 for letters beyond ASCII.
"""

from __future__ import annotations

import re
import unicodedata

import idna

# A name in text is two octets shorter than on the wire, where RFC 1035 allows 255.
_NAME_LENGTH = 253
_LABEL_LENGTH = 63
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_A_LABEL = "xn--"
# The full stops beside the ASCII one that separate labels by RFC 3490 section 3.1.
_WIDE_STOPS = re.compile("[\u3002\uff0e\uff61]")
_RIGHT_TO_LEFT = ("R", "AL", "AN")

# In octets, RFC 5321 section 4.5.3.1.
_LOCAL_LENGTH = 64
_DOMAIN_LENGTH = 255
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\x80-\U0010ffff]+"
_QUOTED = r'"(?:[ !#-\[\]-~\x80-\U0010ffff]|\\[ -~])*"'
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*|{_QUOTED}")
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
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
