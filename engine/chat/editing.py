"""The content of a request for the next edit: snippets, a file with its editable region, and a history of diffs.

    <|recently_viewed_code_snippets|> … <|/recently_viewed_code_snippets|>
    <|current_file_content|>
    current_file_path: src/main.py
    …text… <|code_to_edit|> …region, with <|cursor|>… <|/code_to_edit|> …text…
    <|/current_file_content|>
    <|edit_diff_history|> …unified diffs, newest last… <|/edit_diff_history|>

The snippets and the history may be left out.
"""

from __future__ import annotations

import re

from cinnabar.engine.chat.refusal import RequestRefused
from cinnabar.engine.chat.requests import Edit

SNIPPETS, FILE, REGION, HISTORY = (
    "recently_viewed_code_snippets",
    "current_file_content",
    "code_to_edit",
    "edit_diff_history",
)
CURSOR = "<|cursor|>"
_PATH = re.compile(r"\A\s*current_file_path:[ \t]*([^\n]*)\n")
#: Parameter of the request that holds the content.
_PARAM = "messages"


def parse_edit(content: str) -> Edit:
    """Returns the request that this content makes; raises RequestRefused if a tag is missing or misplaced."""
    snippets, file, history = (_section(content, tag, tag == FILE) for tag in (SNIPPETS, FILE, HISTORY))
    _nothing_else(content)
    region = _section(file, REGION, True, f"within <|{FILE}|>")
    before, after = file.split(_opening(REGION))[0], file.split(_closing(REGION))[1]
    before, region, after = _line_ends(before, region, after)
    if CURSOR in before or CURSOR in after or region.count(CURSOR) > 1:
        raise _wrong(f"expected {CURSOR} at most once, and within <|{REGION}|>, found it {content.count(CURSOR)} times")
    at = region.find(CURSOR)
    path = _PATH.match(before)
    if path:
        before = before[path.end() :]
    cursor = None if at < 0 else at
    return Edit(before, region.replace(CURSOR, ""), after, cursor, path[1].strip() if path else "", snippets, history)


def _section(content: str, tag: str, needed: bool, where: str = "in the message") -> str:
    """Returns the text between a tag and its end, without the line ends beside them; "" if it may be left out and is.

    The text of the file keeps its line ends.
    """
    opening, closing = _opening(tag), _closing(tag)
    counts = content.count(opening), content.count(closing)
    if counts == (0, 0) and not needed:
        return ""
    if counts != (1, 1):
        raise _wrong(f"expected {opening} and {closing} once each {where}, found {counts[0]} and {counts[1]}")
    begin, end = content.index(opening) + len(opening), content.index(closing)
    if end < begin:
        raise _wrong(f"expected {opening} before {closing} {where}, found it behind")
    inner = content[begin:end]
    return inner if tag == REGION else inner.removeprefix("\n").removesuffix("\n")


def _nothing_else(content: str) -> None:
    """Raises RequestRefused if the sections overlap, or if text stands outside of them."""
    places = []
    for tag in (SNIPPETS, FILE, HISTORY):
        if _opening(tag) in content:
            places.append((content.index(_opening(tag)), content.index(_closing(tag)) + len(_closing(tag)), tag))
    at = 0
    for begin, end, tag in sorted(places):
        if begin < at:
            raise _wrong(f"expected the sections one behind another, found <|{tag}|> within another one")
        outside = content[at:begin].strip()
        if outside:
            raise _wrong(f"expected nothing outside of the sections, found {outside[:80]!r} before <|{tag}|>")
        at = end
    if content[at:].strip():
        raise _wrong(f"expected nothing behind the last section, found {content[at:].strip()[:80]!r}")


def _line_ends(before: str, region: str, after: str) -> tuple[str, str, str]:
    """Takes the line ends away that only part the tags from the region's lines."""
    if region.startswith("\n") and (not before or before.endswith("\n")):
        region = region[1:]
    if region.endswith("\n") and after.startswith("\n"):
        region = region[:-1]
    return before, region, after


def _opening(tag: str) -> str:
    return f"<|{tag}|>"


def _closing(tag: str) -> str:
    return f"<|/{tag}|>"


def _wrong(what: str) -> RequestRefused:
    return RequestRefused("invalid_value", f"messages[0].content: {what}", _PARAM)
