"""Parser of ECMA-262 regular expressions (flag u) to a tree.

Where real schemas are laxer than flag u and nothing is ambiguous, the parser is lax too: an escaped punctuation mark
stands for itself, and so do a lone `]`, `}` or `{` and a `-` beside a class escape. The parser refuses backreferences,
which are not regular, and inline flags and set notation (flag v), which are not implemented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from cinnabar.errors import RegexError
from cinnabar.schemas.regex.codepoints import (
    DIGITS,
    LINE_ENDS,
    SPACES,
    WORD,
    Ranges,
    complement,
    normalise,
    property_ranges,
)


@dataclass(frozen=True)
class Chars:
    """One code point of these ranges."""

    ranges: Ranges


@dataclass(frozen=True)
class Sequence:
    """All parts, one after the other; an empty sequence matches the empty text."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Choice:
    """Any of the branches."""

    branches: tuple[Tree, ...]


@dataclass(frozen=True)
class Repeat:
    """The body from `least` to `most` times; None is no bound. Laziness does not change the language."""

    body: Tree
    least: int
    most: int | None


@dataclass(frozen=True)
class Edge:
    """A position: the start or end of the text, on a word boundary or off one."""

    kind: Literal["^", "$", "b", "B"]


@dataclass(frozen=True, eq=False)
class Look:
    """A lookahead or lookbehind; equal ones stay distinct, since each is tracked by itself."""

    body: Tree
    ahead: bool
    negative: bool


Tree = Chars | Sequence | Choice | Repeat | Edge | Look

_CLASSES: dict[str, Ranges] = {"d": DIGITS, "w": WORD, "s": SPACES}
_CONTROLS = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_COUNT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_PROPERTY = re.compile(r"\{(?:([A-Za-z_]+)=)?([A-Za-z0-9_]+)\}")
_GROUP_NAME = re.compile(r"<([^\W\d][\w$]*|\$[\w$]*)>")
_ASSERTIONS = ("^", "$", r"\b", r"\B", "(?=", "(?!", "(?<=", "(?<!")
_GROUP_NUMBER = re.compile("[1-9][0-9]{0,9}")
# No honest pattern nests deeper, and recursion would reach Python's own limit.
MAX_DEPTH = 100


def parse(pattern: str) -> Tree:
    """The tree of this pattern; raises RegexError with an offset if it is no pattern or not regular."""
    parser = _EcmaParser(pattern)
    tree = parser.whole()
    if parser.references:
        parser.fail("a backreference is not regular", parser.references[0][0])
    return tree


def is_regex(text: str) -> bool:
    """Whether this is a valid pattern, regular or not; backreferences are allowed."""
    try:
        _EcmaParser(text).whole()
    except RegexError:
        return False
    return True


class _EcmaParser:
    def __init__(self, pattern: str) -> None:
        self.text, self.at, self.depth, self.groups = pattern, 0, 0, 0
        self.names: set[str] = set()
        self.references: list[tuple[int, int | str]] = []  # offset, number or name of the group

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        raise RegexError(self.at if at is None else at, reason)

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Whether this text comes next; if so, the parser moves past it."""
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def next(self) -> str:
        if self.at >= len(self.text):
            self.fail("expected more, got the end of the pattern")
        self.at += 1
        return self.text[self.at - 1]

    def whole(self) -> Tree:
        tree = self.choice()
        if self.at < len(self.text):
            self.fail("')' without its '('")
        for at, group in self.references:
            if group not in self.names and not (isinstance(group, int) and group <= self.groups):
                self.fail(f"a backreference to a group {group}, which is not there", at)
        return tree

    def choice(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"groups nested deeper than {MAX_DEPTH}")
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def sequence(self) -> Tree:
        parts = []
        while self.at < len(self.text) and not self.peek("|") and not self.peek(")"):
            start = self.at
            part = self.atom()
            counts = self.quantifier()
            if counts is not None:
                if self.text.startswith(_ASSERTIONS, start):
                    self.fail("a quantifier after an assertion", start)
                part = Repeat(part, *counts)
                if self.quantifier() is not None:
                    self.fail("a quantifier after a quantifier")
            parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantifier(self) -> tuple[int, int | None] | None:
        if self.take("*"):
            counts: tuple[int, int | None] = (0, None)
        elif self.take("+"):
            counts = (1, None)
        elif self.take("?"):
            counts = (0, 1)
        elif bounds := _COUNT.match(self.text, self.at):
            if len(bounds[0]) > 20:
                self.fail("a repetition count of this length")
            least = int(bounds[1])
            most = least if bounds[2] is None else int(bounds[3]) if bounds[3] else None
            if most is not None and most < least:
                self.fail(f"a range out of order, {{{least},{most}}}")
            self.at = bounds.end()
            counts = (least, most)
        else:
            return None
        self.take("?")
        return counts

    def atom(self) -> Tree:
        start, char = self.at, self.next()
        match char:
            case "^" | "$":
                return Edge("^" if char == "^" else "$")
            case ".":
                return Chars(complement(LINE_ENDS))
            case "(":
                return self.group(start)
            case "[":
                return self.char_class(start)
            case "\\":
                return self.escape(start)
            case "*" | "+" | "?":
                self.fail(f"nothing for '{char}' to repeat", start)
            case "{" if _COUNT.match(self.text, start):
                self.fail("nothing for '{' to repeat", start)
        return Chars(((ord(char), ord(char)),))

    def group(self, start: int) -> Tree:
        look: tuple[bool, bool] | None = None
        if self.take("?"):
            for mark, ahead, negative in (
                ("=", True, False),
                ("!", True, True),
                ("<=", False, False),
                ("<!", False, True),
            ):
                if self.take(mark):
                    look = ahead, negative
                    break
            else:
                if not self.take(":"):
                    name = _GROUP_NAME.match(self.text, self.at)
                    if not name:
                        self.fail("expected : = ! <= <! or <name> after '(?'; inline flags are not known")
                    if name[1] in self.names:
                        self.fail(f"a second group of the name {name[1]}")
                    self.names.add(name[1])
                    self.groups += 1
                    self.at = name.end()
        else:
            self.groups += 1
        body = self.choice()
        if not self.take(")"):
            self.fail("'(' without its ')'", start)
        return Look(body, *look) if look else body

    def escape(self, start: int) -> Tree:
        char = self.next()
        if char in "bB":
            return Edge("b" if char == "b" else "B")
        if char in "123456789k":
            return self.backreference(char, start)
        members = self.class_escape(char, start)
        if members is not None:
            return Chars(members)
        code = self.code_escape(char, start)
        return Chars(((code, code),))

    def backreference(self, char: str, start: int) -> Tree:
        """Reads and notes a reference to a group; its match is not known here."""
        if char == "k":
            reference = _GROUP_NAME.match(self.text, self.at)
            if not reference:
                self.fail("expected the <name> of a group after \\k", start)
            self.references.append((start, reference[1]))
        else:
            reference = _GROUP_NUMBER.match(self.text, start + 1)
            assert reference
            self.references.append((start, int(reference[0])))
        self.at = reference.end()
        return Sequence(())

    def class_escape(self, char: str, start: int) -> Ranges | None:
        """The set of code points for `\\d \\w \\s \\p{..}` and their capitals; None for another escape."""
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
        elif char in "pP":
            match = _PROPERTY.match(self.text, self.at)
            if not match:
                self.fail(f"expected a property in braces after \\{char}", start)
            self.at = match.end()
            name, value = (match[1], match[2]) if match[1] else (match[2], "")
            known = property_ranges(name, value)
            if known is None:
                self.fail(f"the property {match[0]} is not known", start)
            ranges = known
        else:
            return None
        return complement(ranges) if char.isupper() else ranges

    def code_escape(self, char: str, start: int) -> int:
        """The code point of an escape, after its backslash and `char` are read."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0":
            if self.text[self.at : self.at + 1].isdigit():
                self.fail("an octal escape", start)
            return 0
        if char == "c":
            letter = self.next()
            if not (letter.isascii() and letter.isalpha()):
                self.fail("expected a letter after \\c", start)
            return ord(letter) % 32
        if char == "x":
            return self.hexadecimal(2, start)
        if char == "u":
            if self.take("{"):
                end = self.text.find("}", self.at)
                code = self.hexadecimal(max(end - self.at, 1), start)
                if not self.take("}") or code > 0x10FFFF:
                    self.fail("expected a code point up to 10FFFF in braces", start)
                return code
            code = self.hexadecimal(4, start)
            if 0xD800 <= code < 0xDC00 and re.compile(r"\\u[dD][c-fC-F]").match(self.text, self.at):
                self.at += 2
                return 0x10000 + ((code - 0xD800) << 10) + self.hexadecimal(4, start) - 0xDC00
            return code
        if char.isascii() and char.isalnum():
            self.fail(f"the escape \\{char} is not known to ECMA-262", start)
        return ord(char)

    def hexadecimal(self, digits: int, start: int) -> int:
        text = self.text[self.at : self.at + digits]
        if len(text) < digits or not re.fullmatch("[0-9A-Fa-f]+", text):
            self.fail(f"expected {digits} hexadecimal digits, got {text!r}", start)
        self.at += digits
        return int(text, 16)

    def char_class(self, start: int) -> Tree:
        negative = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            if self.at >= len(self.text):
                self.fail("'[' without its ']'", start)
            at = self.at
            low = self.class_member()
            if self.peek("-") and not self.peek("-]") and isinstance(low, int):
                before = self.at
                self.at += 1
                high = self.class_member()
                if isinstance(high, int):
                    if high < low:
                        self.fail("a class range out of order", at)
                    ranges.append((low, high))
                    continue
                self.at = before
            ranges += ((low, low),) if isinstance(low, int) else low
        members = normalise(ranges)
        return Chars(complement(members) if negative else members)

    def class_member(self) -> int | Ranges:
        """A code point, or the set of a class escape."""
        start, char = self.at, self.next()
        if char != "\\":
            return ord(char)
        char = self.next()
        if char == "b":
            return 0x08
        members = self.class_escape(char, start)
        return self.code_escape(char, start) if members is None else members
