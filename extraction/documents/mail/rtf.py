"""The RTF bodies of Outlook: unpacked (MS-OXRTFCP), and the HTML or text within taken out (MS-OXRTFEX)."""

from __future__ import annotations

import re

from cinnabar.extraction.documents.content.limits import MAX_MAIL_RTF, MAX_RTF_GROUPS
from cinnabar.extraction.documents.content.marked_text import join_runs
from cinnabar.extraction.documents.plain.charsets import known_charset

_FILLED = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20"
    b"\\b\\i\\u\\tab\\tx"
)
_WINDOW = 4096
# Groups with such a word hold no text of the body.
_SILENT = frozenset(
    b"fonttbl colortbl stylesheet info pict object header footer headerl headerr headerf footerl footerr footerf "
    b"footnote themedata datastore listtable listoverridetable rsidtbl generator xmlnstbl mmathPr latentstyles "
    b"fldinst".split()
)
_LETTERS: dict[bytes, str] = {
    b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"row": "\n", b"cell": "\t", b"tab": "\t",
    b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”", b"bullet": "•", b"endash": "–",
    b"emdash": "—", b"emspace": " ", b"enspace": " ",
}  # fmt: skip
# Words that raise or lower text, and whether.
_RAISING = {b"super": 1, b"up": 1, b"sub": -1, b"dn": -1, b"nosupersub": 0}
# Words that hide or strike text, and words, most with a number, that change how text is read.
_HIDING = (b"v", b"deleted", b"strike", b"striked", b"plain")
_NUMBERED = (b"u", b"htmltag", b"htmlrtf", b"ansicpg", b"uc", b"f", b"fcharset", *_HIDING, *_RAISING)
# Other words, most of a file, only format; a run of them is one token, because a token takes half a µs.
_TOKEN = re.compile(
    rb"((?:\\(?!(?:%s)(?![a-zA-Z]))[a-zA-Z]{1,32}(?:-?\d{1,10})?[ \r\n]?)+)|\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?"
    rb"|((?:\\'[0-9a-fA-F]{2})+)|\\([^a-zA-Z'])|([{}])|([^\\{}]+)|\\"
    % b"|".join(sorted((*_NUMBERED, *_SILENT, *_LETTERS)))
)
_BLANK = b"\r\n\x00"
_SIGNS = {b"~": "\xa0", b"_": "‑", b"-": "", b"\n": "\n", b"\r": "\n"}
# The charsets of fonts (\\fcharset).
_FONT_CHARSETS = {
    128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


def unpacked_rtf(data: bytes) -> bytes:
    """Returns the RTF of a packed property, as far as it can be read; empty for anything else."""
    if len(data) < 16:
        return b""
    size, kind = int.from_bytes(data[4:8], "little"), data[8:12]
    if kind == b"MELA":
        return data[16 : 16 + min(size, MAX_MAIL_RTF)]
    if kind != b"LZFu":
        return data if data.startswith(b"{\\rtf") else b""
    # The window begins with text that every RTF has; it is written round.
    window = bytearray(_WINDOW)
    window[: len(_FILLED)] = _FILLED
    write, at = len(_FILLED), 16
    out = bytearray()
    limit = min(size, MAX_MAIL_RTF)
    while at < len(data) and len(out) < limit:
        control, at = data[at], at + 1
        for bit in range(8):
            if not control >> bit & 1:
                if at >= len(data):
                    return bytes(out)
                out.append(data[at])
                window[write] = data[at]
                write, at = (write + 1) % _WINDOW, at + 1
                continue
            if at + 2 > len(data):
                return bytes(out)
            token, at = int.from_bytes(data[at : at + 2], "big"), at + 2
            offset = token >> 4
            if offset == write:
                return bytes(out[:limit])
            for _ in range((token & 15) + 2):
                out.append(window[offset])
                window[write] = window[offset]
                write, offset = (write + 1) % _WINDOW, (offset + 1) % _WINDOW
    return bytes(out[:limit])


def rtf_body(rtf: bytes, hidden: bool = False) -> tuple[str, str, set[str]]:
    """Returns the plain text or the HTML of a body in RTF, the other one empty, and the flags of hidden or struck text.

    hidden: hidden and struck text is returned, too.
    """
    if not rtf.lstrip().startswith(b"{\\rtf"):
        return "", "", set()
    reader = _Rtf(rtf, hidden)
    text = reader.read()
    return ("", text, reader.flags) if reader.is_html else (text, "", reader.flags)


class _Rtf:
    """Reads the text of RTF in one pass, without recursion."""

    def __init__(self, rtf: bytes, hidden: bool) -> None:
        self._rtf = rtf
        self.flags: set[str] = set()
        self._show_hidden = hidden
        self.is_html = re.search(rb"\\fromhtml\d?\b", rtf[:4096]) is not None
        self._charset = "cp1252"
        self._fonts: dict[int, str] = {}
        self._out: list[tuple[str, int]] = []
        # Bytes of 8-bit text wait, because a character may have two.
        self._held = bytearray()
        # Of the open group: silent, within htmlrtf, hidden, struck, deleted, number of characters to skip after \u,
        # font, in the font table; whether its text is raised or lowered.
        self._silent = self._rtf_only = self._hidden = self._struck = self._deleted = False
        self._skip, self._left, self._font, self._level = 1, 0, 0, 0
        self._stack: list[tuple[tuple[bool, bool, bool, bool, bool], tuple[int, int, int]]] = []
        self._starred = self._fonts_table = False
        self._defined = 0

    def read(self) -> str:
        for match in _TOKEN.finditer(self._rtf):
            formats, word, number, code, sign, brace, plain = match.groups()
            if formats:
                self._format()
            elif brace:
                self._brace(brace)
            elif word:
                self._word(word, None if number is None else int(number))
            elif code:
                self._bytes(bytes.fromhex(code.replace(b"\\'", b"").decode()))
            elif sign:
                self._sign(sign)
            elif plain and (plain := plain.translate(None, _BLANK)):
                self._bytes(plain)
        self._release()
        text = join_runs(self._out)
        # \u gives code units.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")

    def _brace(self, brace: bytes) -> None:
        self._release()
        self._left = 0
        self._starred = False
        if brace == b"{" and len(self._stack) < MAX_RTF_GROUPS:
            hides = self._silent, self._rtf_only, self._hidden, self._struck, self._deleted
            self._stack.append((hides, (self._skip, self._font, self._level)))
        elif brace == b"}" and self._stack:
            hides, (self._skip, self._font, self._level) = self._stack.pop()
            self._silent, self._rtf_only, self._hidden, self._struck, self._deleted = hides
            if len(self._stack) < 2:
                self._fonts_table = False

    def _format(self) -> None:
        # A group that begins with an unknown word after \* is for other programs.
        self._silent, self._starred = self._silent or self._starred, False
        self._left = 0
        self._release()

    def _word(self, word: bytes, number: int | None) -> None:
        starred, self._starred = self._starred, False
        if word == b"u" and number is not None:
            self._put(chr(number % 65536))
            self._left = self._skip
            return
        self._left = 0
        self._release()
        if word == b"htmltag":
            self._silent = not self.is_html
        elif word == b"fonttbl":
            self._silent = self._fonts_table = True
        elif word in _SILENT or starred:
            self._silent = True
        elif word == b"htmlrtf":
            self._rtf_only = self.is_html and number != 0
        elif word == b"v":
            self._hidden = number != 0
        elif word in (b"strike", b"striked"):
            self._struck = number != 0
        elif word == b"deleted":
            self._deleted = number != 0
        elif word == b"plain":
            self._hidden = self._struck = self._deleted = False
            self._level = 0
        elif word in _RAISING:
            self._level = 0 if number == 0 or self.is_html else _RAISING[word]
        elif word in _LETTERS:
            self._put(_LETTERS[word])
        elif number is not None:
            self._take_number(word, number)

    def _take_number(self, word: bytes, number: int) -> None:
        if word == b"ansicpg":
            self._charset = known_charset("utf-8" if number == 65001 else f"cp{number}") or self._charset
        elif word == b"uc":
            self._skip = max(0, min(number, 8))
        elif word == b"f":
            self._font = self._defined = number
        elif word == b"fcharset" and self._fonts_table and number and number in _FONT_CHARSETS:
            self._fonts[self._defined] = _FONT_CHARSETS[number]

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._starred = True
        elif sign in (b"\\", b"{", b"}"):
            self._bytes(sign)
        elif sign in _SIGNS:
            self._release()
            self._put(_SIGNS[sign])

    def _bytes(self, data: bytes) -> None:
        self._starred = False
        if self._left:
            # Stand-ins for readers that do not know \u.
            drop = min(self._left, len(data))
            self._left -= drop
            data = data[drop:]
        if self._is_read(data.strip() != b""):
            self._held += data

    def _put(self, text: str) -> None:
        self._release()
        if self._is_read(text.strip() != ""):
            self._out.append((text, self._level))

    def _is_read(self, printed: bool) -> bool:
        """Returns True if text at this place counts; printed: it has more than blanks."""
        if self._silent or self._rtf_only or self._deleted:
            return False
        # The pages of HTML that RTF wraps have marks of their own for hidden and struck text.
        if self.is_html or not (self._hidden or (self._struck and printed)):
            return True
        if printed:
            self.flags.add("hidden_text" if self._hidden else "struck_text")
        return self._show_hidden

    def _release(self) -> None:
        if self._held:
            charset = self._fonts.get(self._font, self._charset)
            self._out.append((self._held.decode(charset, "replace"), self._level))
            self._held.clear()
