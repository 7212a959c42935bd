"""The messages that a language model sees for a request of a chat.

The client's own messages stay as they are. What the answer must look like is told behind the system message, in words:
the constraint sees to it in any case, but a model that knows it writes better. A chat template may know neither tools
nor a system message, so calls and their results are texts, and a template without a system message gets that text at
the beginning of the first message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from cinnabar.engine.chat.requests import ChatRequest, Message, RequestRefused, Tool
from cinnabar.engine.diffusion.prompt import outline
from cinnabar.engine.models.language.chat import Message as Rendered
from cinnabar.schemas.form.form import Form

_RECORD = "Answer with the record alone: JSON on one line, with the fields below in their order."
_ANY_JSON = "Answer with a JSON object alone, on one line."
_CALL = 'To call one, answer with JSON alone, on one line: {"name": the name of the tool, "arguments": its arguments}.'
_MAY_CALL = "Call one if it helps to answer; else answer without."
_MUST_CALL = "Call one of them now."


def chat_messages(
    request: ChatRequest, form: Form | None, tools: Sequence[Tool], must_call: bool, has_system: bool
) -> list[Rendered]:
    """Returns the messages of a chat whose answer is a record of `form`, a call of one of the tools, or text.

    Without `has_system` the template leaves system messages out. Raises RequestRefused if the messages are in no order
    that can be answered.
    """
    system = [message.content for message in request.messages if message.role == "system" and message.content]
    system += [_tools(tools, must_call)] if tools else []
    if form is not None and not must_call:
        system.append(_answer(request, form))
    turns = _turns(request.messages)
    parts = _join_texts(system)
    if not parts:
        return turns
    if has_system:
        return [{"role": "system", "content": parts}, *turns]
    first = turns[0]
    return [{"role": first["role"], "content": (*parts, *("\n\n" + part for part in first["content"]))}, *turns[1:]]


def _answer(request: ChatRequest, form: Form) -> str:
    if request.any_json:
        return _ANY_JSON
    about = ". ".join(part.strip().rstrip(".") for part in (form.title, form.description) if part.strip())
    described = f"\n\nThe record: {' '.join(about.split())}." if about else ""
    return f"{_RECORD}{described}\n\nFields:\n{outline(form)}"


def _tools(tools: Sequence[Tool], must_call: bool) -> str:
    lines = ["You can call these tools:"]
    for tool in tools:
        about = " ".join(tool.description.split())
        lines.append(f"- {tool.name}: {about}" if about else f"- {tool.name}")
        if tool.parameters is not None:
            lines += [f"    {line}" for line in outline(tool.parameters.form).splitlines()]
    return "\n".join([*lines, f"{_CALL} {_MUST_CALL if must_call else _MAY_CALL}"])


def _turns(messages: Sequence[Message]) -> list[Rendered]:
    """Returns the turns of user and assistant; turns of the same one that follow each other are joined."""
    called: dict[str, str] = {}
    roles, texts = list[str](), list[list[str]]()
    for at, message in enumerate(messages):
        if message.role == "system":
            continue
        text = message.content
        if message.role == "tool":
            if message.tool_call_id not in called:
                raise _wrong(at, f"expected the id of a call before it, got {message.tool_call_id!r}")
            text = f"Result of {called[message.tool_call_id]}:\n{text}"
        for call in message.tool_calls:
            called[call.identity] = call.name
            call_text = f'{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {call.arguments}}}'
            text = f"{text}\n{call_text}" if text else call_text
        role = "assistant" if message.role == "assistant" else "user"
        if roles and roles[-1] == role:
            texts[-1].append(text)
        else:
            roles.append(role)
            texts.append([text])
    if not roles or roles[-1] != "user":
        raise _wrong(len(messages) - 1, "expected the last message to be one of the user or of a tool")
    return [{"role": role, "content": _join_texts(own)} for role, own in zip(roles, texts, strict=True)]


def _join_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Returns the texts with an empty line between them; each is a part that is encoded by itself."""
    return tuple(text if not at else "\n\n" + text for at, text in enumerate(texts))


def _wrong(at: int, what: str) -> RequestRefused:
    return RequestRefused("invalid_value", f"messages[{max(at, 0)}]: {what}", "messages")
