"""The kinds of answers: the language of each, the judge of its texts, and the way back from a text to an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cinnabar.engine.chat.meeting import NOWHERE, Meeting
from cinnabar.engine.chat.requests import Tool
from cinnabar.engine.language.text_languages import any_text, text_until
from cinnabar.schemas.automata.automaton import Automaton
from cinnabar.schemas.automata.operations import concat, literal, union
from cinnabar.schemas.automata.strings import canonical_string, parse
from cinnabar.schemas.form.fitting import accept, fit
from cinnabar.schemas.form.form import Form
from cinnabar.schemas.form.record_language import one_line, record_language
from cinnabar.schemas.pointers import MISSING


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """The answer of a text: the text for the client, or the name of a tool and its arguments as JSON text."""

    text: str
    call: tuple[str, str] | None = None


class AnswerKind:
    """A kind of answers: free text, a record, or a call of a tool."""

    @property
    def free(self) -> bool:
        """Whether its texts are free, in all or in part."""
        return False

    @property
    def key(self) -> tuple[str, ...]:
        """The name of its language."""
        raise NotImplementedError

    @property
    def minimal(self) -> bytes:
        """A smallest text of it."""
        raise NotImplementedError

    def language(self) -> Automaton:
        """Returns the automaton of its texts. Raises TooLarge if it needs too many states."""
        raise NotImplementedError

    def read(self, text: bytes) -> ClientAnswer:
        """Returns what a text answers."""
        raise NotImplementedError

    def accepts(self, text: bytes) -> bool:  # noqa: ARG002
        """Returns whether a text of the language fulfils the demands that no automaton knows, too."""
        return True

    def ends(self, text: bytes) -> bool:  # noqa: ARG002
        """Returns whether the answer ends with this beginning of a text."""
        return False

    def settled_length(self, text: bytes) -> int:  # noqa: ARG002
        """Returns how many characters of the answer stay as they are, whatever follows this beginning of a text.

        A judge may send any answer back that is not free.
        """
        return 0


@dataclass(frozen=True)
class FreeText(AnswerKind):
    """Any text, up to the first of the texts `stop`; it does not begin with any of the ASCII bytes `but_first`."""

    stop: tuple[bytes, ...] = ()
    but_first: bytes = b""
    free = True

    @property
    def key(self) -> tuple[str, ...]:
        return ("text", self.but_first.decode())

    @property
    def minimal(self) -> bytes:
        return b""

    def language(self) -> Automaton:
        return any_text(self.but_first)

    def ends(self, text: bytes) -> bool:
        return self.cut(text) < len(text)

    def read(self, text: bytes) -> ClientAnswer:
        """Returns the text before the first stop."""
        # What is cut while it is written may end within a character.
        return ClientAnswer(text[: self.cut(text)].decode("utf-8", "ignore"))

    def settled_length(self, text: bytes) -> int:
        return len(self.read(text if self.ends(text) else text[: len(text) - self.held(text)]).text)

    def cut(self, text: bytes) -> int:
        """Returns how many bytes stand before the first stop."""
        return min((at for stop in self.stop if (at := text.find(stop)) >= 0), default=len(text))

    def held(self, text: bytes) -> int:
        """Returns how many bytes at the end may be a part of a stop."""
        return max((_begun(text, stop) for stop in self.stop), default=0)


@dataclass(frozen=True)
class InfillText(FreeText):
    """The text of a hole, up to the first of the texts `stop`, or to where it meets the text behind the hole."""

    meeting: Meeting = NOWHERE

    @property
    def key(self) -> tuple[str, ...]:
        return ("middle",)

    def cut(self, text: bytes) -> int:
        return min(super().cut(text), self.meeting.cut(text))

    def held(self, text: bytes) -> int:
        return max(super().held(text), self.meeting.held(text))


@dataclass(frozen=True)
class FencedText(AnswerKind):
    """A text between two lines of backticks: `fence`, which is longer than any in what it encloses.

    cursor: the mark of the cursor in an edit, which is left out of the answer. An edit ends where it meets the text
    behind its region, and the client gets it between two lines of three backticks, whatever is in it.
    """

    fence: bytes = b"```"
    cursor: bytes = b""
    meeting: Meeting = NOWHERE
    free = True

    @property
    def key(self) -> tuple[str, ...]:
        return ("region", self.fence.decode())

    @property
    def minimal(self) -> bytes:
        """A region without any text."""
        return self.fence + b"\n\n" + self.fence

    def language(self) -> Automaton:
        return concat(literal(self.fence + b"\n"), text_until(b"\n" + self.fence))

    def ends(self, text: bytes) -> bool:
        inner = self._inner(text)
        return self.meeting.cut(inner) < len(inner)

    def settled_length(self, text: bytes) -> int:
        return 0 if self.cursor else len(self.read(text[: len(text) - _begun(text, b"\n" + self.fence)]).text)

    def read(self, text: bytes) -> ClientAnswer:
        """Returns the text between the fences."""
        inner = self._inner(text)
        kept = inner[: self.meeting.cut(inner)].decode("utf-8", "ignore")
        return ClientAnswer(f"```\n{kept}\n```" if self.cursor else kept)

    def _inner(self, text: bytes) -> bytes:
        inner = text.removeprefix(self.fence + b"\n").removesuffix(b"\n" + self.fence)
        return inner.replace(self.cursor, b"") if self.cursor else inner


@dataclass(frozen=True)
class RecordText(AnswerKind):
    """A record of a form, as JSON; the client gets its canonical text."""

    form: Form

    @property
    def key(self) -> tuple[str, ...]:
        return ("record", self.form.fingerprint)

    @property
    def minimal(self) -> bytes:
        return one_line(self.form.instance).encode()

    def language(self) -> Automaton:
        return record_language(self.form)

    def accepts(self, text: bytes) -> bool:
        try:
            return accept(self.form, parse(text.decode())) is not MISSING
        except ValueError:
            return False

    def read(self, text: bytes) -> ClientAnswer:
        """Returns the canonical text of the record."""
        return ClientAnswer(fit(self.form, parse(text.decode())))


@dataclass(frozen=True)
class Call(AnswerKind):
    """A call of one of several tools: `{"name": …, "arguments": …}`; the arguments are a record of their form."""

    tools: tuple[Tool, ...]

    @property
    def key(self) -> tuple[str, ...]:
        return ("call", *(part for tool in self.tools for part in (tool.name, tool.parameters.form.fingerprint)))

    @property
    def minimal(self) -> bytes:
        forms = ((tool, tool.parameters.form) for tool in self.tools)
        return min((_before(tool) + one_line(form.instance).encode() + b"}" for tool, form in forms), key=len)

    def language(self) -> Automaton:
        forms = ((tool, tool.parameters.form) for tool in self.tools)
        return union(*(concat(literal(_before(tool)), record_language(form), literal(b"}")) for tool, form in forms))

    def accepts(self, text: bytes) -> bool:
        call = self._parse_call(text)
        return call is not None and accept(call[0].parameters.form, call[1]) is not MISSING

    def read(self, text: bytes) -> ClientAnswer:
        """Returns the name of the tool and the canonical text of its arguments."""
        call = self._parse_call(text)
        if call is None:
            raise ValueError(f"expected a call of a tool, got {text[:200]!r}")
        tool, arguments = call
        return ClientAnswer("", (tool.name, fit(tool.parameters.form, arguments)))

    def _parse_call(self, text: bytes) -> tuple[Tool, Any] | None:
        tool = next((tool for tool in self.tools if text.startswith(_before(tool))), None)
        try:
            return None if tool is None else (tool, parse(text.decode())["arguments"])
        except ValueError:
            return None


@dataclass(frozen=True)
class CallOr(AnswerKind):
    """A call of a tool, or another answer, which begins otherwise or whose texts are no calls."""

    call: Call
    other: FreeText | RecordText

    @property
    def key(self) -> tuple[str, ...]:
        return ("or", *self.other.key, *self.call.key)

    @property
    def minimal(self) -> bytes:
        return self.other.minimal

    @property
    def free(self) -> bool:
        return self.other.free

    def language(self) -> Automaton:
        return union(self.call.language(), self.other.language())

    def accepts(self, text: bytes) -> bool:
        return self.of(text).accepts(text)

    def ends(self, text: bytes) -> bool:
        return self.of(text).ends(text)

    def read(self, text: bytes) -> ClientAnswer:
        """Returns what a text answers."""
        return self.of(text).read(text)

    def settled_length(self, text: bytes) -> int:
        return self.of(text).settled_length(text)

    def of(self, text: bytes) -> AnswerKind:
        """Returns the kind of answer that a text, or the beginning of one, is."""
        if isinstance(self.other, FreeText):
            return self.call if text[:1] == b"{" else self.other
        return self.call if self.call.accepts(text) else self.other


def _begun(text: bytes, mark: bytes) -> int:
    """Returns how many bytes at the end of a text begin this mark, without being the whole of it."""
    return next((size for size in range(min(len(text), len(mark) - 1), 0, -1) if mark.startswith(text[-size:])), 0)


def _before(tool: Tool) -> bytes:
    return b'{"name": ' + canonical_string(tool.name) + b', "arguments": '
