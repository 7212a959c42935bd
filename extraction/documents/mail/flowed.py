"""Joins the lines of `format=flowed` (RFC 3676)."""

from __future__ import annotations


def joined_lines(text: str, delete_space: bool) -> str:
    """Returns a text with its soft line ends undone: a line with a blank at its end goes on in the next one.

    Lines of another depth of quoting, and the line above a signature, stay apart. delete_space: the blank is no part
    of the text (`delsp=yes`).
    """
    out: list[str] = []
    soft, before = False, -1
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        content = line.lstrip(">")
        depth = len(line) - len(content)
        # A blank before a line guards lines that begin with ">", "From " or a blank.
        content = content.removeprefix(" ")
        signature = content == "-- "
        goes_on = soft and depth == before and not signature
        soft, before = content.endswith(" ") and not signature, depth
        if soft and delete_space:
            content = content[:-1]
        if goes_on:
            out[-1] += content
        else:
            out.append(f"{'>' * depth} {content}" if depth else content)
    return "\n".join(out)
