"""Requests whose answer is read from a document: which text of a conversation is the document, and what it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from cinnabar.engine.chat.requests import ChatRequest, Done, Message, RequestRefused
from cinnabar.engine.request import Filled

#: Pointers that a refusal names; `Done.missing` has all.
_NAMED = 20


def document_of(messages: Sequence[Message]) -> str:
    """Returns the texts of the user before the first answer: the document that the conversation brought.

    A client that asks again sends its own answer and what is wrong with it; neither is a document. Results of tools
    are not read. A text of the user behind an answer may be an error or a second document, so it is refused rather
    than read, or left out, without a word. Raises RequestRefused.
    """
    before = [*takewhile(lambda message: message.role != "assistant", messages)]
    for at, message in enumerate(messages[len(before) :], len(before)):
        if message.role == "user" and message.content.strip():
            raise RequestRefused(
                "invalid_value",
                f"messages[{at}]: expected no text of the user behind an answer: the document is what the conversation"
                " first brought, and asked again it gives the same values; send another document, or one with"
                " additions, as a request of its own",
                "messages",
            )
    return "\n\n".join(message.content for message in before if message.role == "user")


def read_answer(request: ChatRequest, filled: Filled, done: Done) -> Done:
    """Returns the answer with what is known of its values: a refusal if the document lacks one that is demanded."""
    missing = tuple(pointer for pointer, leaf in filled.leaves.items() if leaf.missing)
    confidence = {pointer: leaf.confidence for pointer, leaf in filled.leaves.items()}
    answer = replace(done, confidence=confidence, missing=missing, alone=filled.alone)
    if not missing or request.guesses:
        return answer
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    names = ", ".join(at or "/" for at in missing[:_NAMED])
    refusal = (
        f"The schema demands values that the text does not state: {names}{more}."
        " Send a text that has it, let the schema allow null there, or ask for guesses with on_missing: guess."
    )
    return replace(answer, text="", tool_calls=(), finish_reason="stop", refusal=refusal)
