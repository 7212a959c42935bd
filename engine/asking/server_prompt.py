"""The messages for a server: the task, the document as data, the known values, and an answer's problems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cinnabar.engine.asking.few_shot import FewShot
from cinnabar.engine.asking.instructions import Message, answer_task, known_values
from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.request import Request
from cinnabar.schemas.automata.strings import parse

# A changed one changes values: raise the part `remote` (engine/version.py).
#: The most problems of an answer that a message lists.
LISTED_FAULTS = 20
_KNOWN = "Known already, by JSON pointer; these values are right, do not answer them again:"
_WRONG = "This answer cannot be used. Answer again, the whole object, with these places put right:"
#: The first character of a mark: of the document's own, or of a special token as the tokenizers of servers spell them.
_MARK = re.compile(
    r"[<＜](?=[|｜]|\s*/?\s*document\b|[\w:/｜▁\[\]~-]{1,64}[>＞])"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w+|\w?MASK|CLS|SEP|PAD|UNK|BOS|EOS|IMG\w*|THINK)\])",
    re.IGNORECASE,
)


def messages_of(request: Request, wire: Wire, few_shot: FewShot) -> list[Message]:
    """Returns the messages that ask for a request's form, behind examples of questions and answers."""
    parts = []
    if request.known:
        parts.append(f"{_KNOWN}\n{drop_prompt_marks(known_values(request.known))}")
    parts.append(_document(request.passage.text))
    messages = [{"role": "system", "content": answer_task(request.form)}]
    for example in few_shot.nearest(request.form, request.passage.text):
        answer = wire.answer(parse(example.record))
        if answer is not None:
            messages += [{"role": "user", "content": _document(example.text)}, {"role": "assistant", "content": answer}]
    return [*messages, {"role": "user", "content": "\n\n".join(parts)}]


def _document(text: str) -> str:
    return f"<document>\n{drop_prompt_marks(text)}\n</document>"


def retry_messages(answer: str, problems: Sequence[str]) -> list[Message]:
    """Returns the messages that follow an unusable answer: the answer and its problems."""
    named = "\n".join(f"- {problem}" for problem in problems[:LISTED_FAULTS])
    # Both quote the document.
    said, wrong = drop_prompt_marks(answer), f"{_WRONG}\n{drop_prompt_marks(named)}"
    return [{"role": "assistant", "content": said}, {"role": "user", "content": wrong}]


def drop_prompt_marks(text: str) -> str:
    """Returns the text with blanks inside everything that looks like a mark of a prompt, so that it stays text."""
    return _MARK.sub(r"\g<0> ", text)
