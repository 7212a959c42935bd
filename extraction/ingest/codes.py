"""Why a file could not be read: every code that a `DocumentError` may carry, with its meaning."""

from __future__ import annotations

CODES: dict[str, str] = {
    "empty": "There is nothing to read: no bytes, or no characters and no images.",
    "unsupported": "The content is of a kind that no parser here reads.",
    "not_pdf": "The file is named as a PDF, but has no PDF header.",
    "truncated": "The end of the file is missing, and nothing could be read from what is left.",
    "broken": "The file is damaged, and no repair gave a page.",
    "password": "The file is encrypted, and the password is not known.",
    "image_only": "The pages hold images and no text layer.",
    "not_a_file": "The path is no regular file (a folder, a pipe, a device) or does not exist.",
    "unreadable": "The operating system refused to read the file.",
    "too_large": "The file is larger than the limit; it was not read.",
    "timeout": "Parsing took longer than the limit and was ended.",
    "memory": "Parsing needed more memory than the limit.",
    "depth": "The content is nested deeper than a parser can follow.",
    "worker_died": "The parser ended its process, twice, on fresh workers.",
    "parser_error": "The parser failed in a way that is not foreseen; the detail names the exception.",
}
