"""Requests for a part of a text: what stands between two texts, and the next edit of a file.

The message of a next edit has snippets, a file with its editable region, and a history of diffs:

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

from cinnabar.engine.chat.requests import Gap, RequestRefused

_SNIPPETS, _FILE, _HISTORY = _SECTIONS = ("recently_viewed_code_snippets", "current_file_content", "edit_diff_history")
_REGION, _CURSOR = "code_to_edit", "<|cursor|>"
_PATH = re.compile(r"\A\s*current_file_path:[ \t]*([^\n]*)\n")
_FILL = """You complete a text. Below stand its beginning and its end; the part between them is missing. Write that \
part so that beginning, part and end join without a break: nothing of the beginning or the end is repeated. Answer \
with the part alone, between two lines of {fence}."""
_EDIT = """You suggest the next edit of a file. Below stand snippets that the author looked at lately, the latest \
changes, the file, and then the region of it that you edit; there {cursor} marks the cursor. Write the region as it \
should be next: finish what the latest changes began, and keep what needs no change. Answer with the whole new region \
alone, between two lines of {fence}."""


def gap_between(before: str, after: str) -> Gap:
    """Returns the request for the text between two others."""
    fence = _fence(before, after)
    text = f"Beginning:\n{fence}\n{before}\n{fence}\n\nEnd:\n{fence}\n{after}\n{fence}"
    return Gap((_FILL.format(fence=fence), text), fence, (before, after))


def next_edit(content: str) -> Gap:
    """Returns the request that a message makes. Raises RequestRefused if a tag is missing or misplaced."""
    snippets, file, history = (_section(content, tag, tag == _FILE) for tag in _SECTIONS)
    _check_order(content)
    region = _section(file, _REGION, True, f"within <|{_FILE}|>")
    before, after = file.split(f"<|{_REGION}|>")[0], file.split(f"<|/{_REGION}|>")[1]
    # Line ends that only part the tags from the region's lines.
    if region.startswith("\n") and (not before or before.endswith("\n")):
        region = region[1:]
    if region.endswith("\n") and after.startswith("\n"):
        region = region[:-1]
    if _CURSOR in before or _CURSOR in after or region.count(_CURSOR) > 1:
        cursors = content.count(_CURSOR)
        raise _wrong(f"expected {_CURSOR} at most once, and within <|{_REGION}|>, found it {cursors} times")
    name = "File"
    if path := _PATH.match(before):
        before, name = before[path.end() :], f"File {path[1].strip()}".rstrip()
    plain = region.replace(_CURSOR, "")
    fence = _fence(before, plain, after)
    parts = [f"Snippets:\n{snippets}"] if snippets else []
    parts += [f"Latest changes, the newest last:\n{history}"] if history else []
    # Marks around the region within the file came back in the answers of a small model, with the file around them.
    parts += [f"{name}:\n{fence}\n{before}{plain}{after}\n{fence}", f"Region:\n{fence}\n{region}\n{fence}"]
    return Gap((_EDIT.format(fence=fence, cursor=_CURSOR), "\n\n".join(parts)), fence, (before, after), _CURSOR)


def _fence(*texts: str) -> str:
    """Returns a fence that is longer than any run of backticks in these texts."""
    runs = [len(run) for text in texts for run in re.findall("`+", text)]
    return "`" * (max([2, *runs]) + 1)


def _section(content: str, tag: str, needed: bool, where: str = "in the message") -> str:
    """Returns the text between a tag and its end, without the line ends beside them; "" if it may be left out and is.

    The region of a file keeps its line ends.
    """
    opening, closing = f"<|{tag}|>", f"<|/{tag}|>"
    counts = content.count(opening), content.count(closing)
    if counts == (0, 0) and not needed:
        return ""
    if counts != (1, 1):
        raise _wrong(f"expected {opening} and {closing} once each {where}, found {counts[0]} and {counts[1]}")
    begin, end = content.index(opening) + len(opening), content.index(closing)
    if end < begin:
        raise _wrong(f"expected {opening} before {closing} {where}, found it behind")
    inner = content[begin:end]
    return inner if tag == _REGION else inner.removeprefix("\n").removesuffix("\n")


def _check_order(content: str) -> None:
    """Raises RequestRefused if the sections overlap, or if text stands outside of them."""
    there = [tag for tag in _SECTIONS if f"<|{tag}|>" in content]
    at = 0
    for tag in sorted(there, key=lambda tag: content.index(f"<|{tag}|>")):
        begin = content.index(f"<|{tag}|>")
        if begin < at:
            raise _wrong(f"expected the sections one behind another, found <|{tag}|> within another one")
        if outside := content[at:begin].strip():
            raise _wrong(f"expected nothing outside of the sections, found {outside[:80]!r} before <|{tag}|>")
        at = content.index(f"<|/{tag}|>") + len(f"<|/{tag}|>")
    if behind := content[at:].strip():
        raise _wrong(f"expected nothing behind the last section, found {behind[:80]!r}")


def _wrong(what: str) -> RequestRefused:
    return RequestRefused("invalid_value", f"messages[0].content: {what}", "messages")
