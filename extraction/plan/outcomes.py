"""The reasons why a document has no record: each code, its meaning and what to do. There is no other (a test looks)."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """What a code means, and what a person can do about it."""

    meaning: str
    advice: str = ""


#: The code of a path that is skipped for its name, and of documents that a routing sent to no schema.
SYSTEM_FILE, OTHER_KIND = "system_file", "other_kind"
#: The codes of documents that cannot be read again: the file is missing, or holds other bytes.
GONE, CHANGED = "gone", "changed"
_AGAIN = "save it again; if it then fails too, report the file as a bug"
#: Why a file cannot be read: the codes that a `DocumentError` may carry.
UNREADABLE: dict[str, Reason] = {
    "empty": Reason(
        "There is nothing to read: no bytes, or no characters and no images.",
        "put a copy with content in its place, or leave the file out",
    ),
    "unsupported": Reason(
        "The content is of a kind that no parser here reads.",
        "save it in a format that docs/formats.md lists, such as PDF",
    ),
    "not_pdf": Reason(
        "The file is named as a PDF, but has no PDF header.",
        "open it in a viewer and save it as a PDF, or give it the suffix of what it is",
    ),
    "truncated": Reason(
        "The end of the file is missing, and nothing could be read from the rest.", "copy or download it once more"
    ),
    "broken": Reason(
        "The file is damaged, and no repair gave a page.",
        "copy or download it once more, or open it in its own program and save it again",
    ),
    "password": Reason("The file is encrypted, and the password is not known.", "save it without protection"),
    "image_only": Reason(
        "There are images and no text, and OCR read none; the detail tells why, and what to do.",
        "scan it again, larger or sharper, or leave it out",
    ),
    "not_a_file": Reason(
        "The path is not a regular file (a folder, a pipe, a device) or does not exist.",
        "put a regular file there, or leave the path out",
    ),
    "unreadable": Reason(
        "The operating system refused to read the file.", "give this user permission to read it, or look after the disk"
    ),
    "too_large": Reason("The file is larger than the limit; it was not read.", "split it"),
    "too_long": Reason("The document has more tokens than the limit (`max_tokens`); no model read it.", "split it"),
    "no_page": Reason(
        "The document has none of the pages that are to be read (`--pages`, `x-cinnabar-pages`).",
        "name pages that it has, or leave it out",
    ),
    "unpacked": Reason("More bytes would be unpacked from the file than the limit.", "unpack it, or split it"),
    "timeout": Reason(
        "Parsing took longer than the limit and was ended.",
        "split it, or open it in its own program and save it again, then --retry-quarantined",
    ),
    "memory": Reason(
        "Parsing needed more memory than the limit.",
        "split it, or open it in its own program and save it again, then --retry-quarantined",
    ),
    "depth": Reason(
        "The content is nested deeper than a parser can follow.", "unpack or save its inner parts as files of their own"
    ),
    "worker_died": Reason(
        "The parser ended its process, twice, on fresh workers.", f"open it in its own program and {_AGAIN}"
    ),
    "parser_error": Reason(
        "The parser failed unexpectedly; the detail names the exception.", f"open it in its own program and {_AGAIN}"
    ),
}
#: Why the record of a document that was read is held back.
HELD: dict[str, Reason] = {
    "missing": Reason(
        "The document lacks a value that the schema demands.", "correct it, or allow null in the schema"
    ),
    "invalid": Reason("The record breaks a rule of the schema.", "correct it, or change the schema"),
    "low_confidence": Reason("A value is less sure than --min-confidence.", "look at it in cinnabar review"),
    "list_incomplete": Reason(
        "A list has other rows than its document counts or numbers.", "look at it in cinnabar review"
    ),
    "check_failed": Reason("The record fails a check of its schema.", "correct it, or release it with the flag"),
    "empty_record": Reason("Every value of the record is null.", "release it, or leave the document out"),
    "refused_fact": Reason(
        "The schema refuses what the parser knows of the document.", "change the field that takes the fact"
    ),
    "unstorable": Reason("A value fits no column, such as a number that is too large.", "correct it"),
}
#: Why a model gave no record.
NO_ANSWER: dict[str, Reason] = {
    "known": Reason("No record that the schema allows has the values that are known.", "change the schema"),
    "rows": Reason("The rows that are known fit no list of the schema.", "change the schema"),
    "schema_too_large": Reason("The schema leaves no room for a document.", "ask for fewer fields"),
    "tokenizer": Reason("The tokens of the model spell no record of this schema.", "take another model"),
    "model": Reason("The model gave scores that are no numbers.", "take another model, or its weights anew"),
    "invalid_answer": Reason("The model's record breaks the schema.", "--retry-quarantined, or another model"),
    "answer_refused": Reason("The service refused to answer.", "read it with a model on this machine"),
    "answer_cut": Reason("The answer of the service was cut off.", "give it more tokens"),
    "request_refused": Reason("The service refused the request.", "look at the detail, then --retry-quarantined"),
    "unavailable": Reason("A server did not answer.", "run the same command again"),
    "budget": Reason("The budget was spent before the document.", "run again with a larger --budget"),
    "too_slow": Reason("The model worked on it for longer than max_seconds.", "give more, then --retry-quarantined"),
    "engine_died": Reason("Each engine that filled the document ended.", "free memory, then --retry-quarantined"),
    "engine_error": Reason("The engine failed on this document.", "report it as a bug, with the detail"),
    "internal_error": Reason(
        "The program failed on this document; that is a defect of the program.", "report it as a bug, with the detail"
    ),
    "cancelled": Reason("The work was given up before its end.", "run the same command again"),
}
#: Why a document was passed over; nothing is wrong with it.
SKIPPED: dict[str, Reason] = {
    "done": Reason("An earlier run has its outcome."),
    "duplicate": Reason("Another document of the run has the same bytes."),
    SYSTEM_FILE: Reason("The file is one that systems leave in folders."),
    OTHER_KIND: Reason("The document is of another kind than the schemas."),
    "gone": Reason("A stored document is not found any more.", "name its folder with --from"),
    "changed": Reason("The path of a stored document holds other bytes now.", "run extract on it"),
}
#: All codes.
REASONS: dict[str, Reason] = UNREADABLE | HELD | NO_ANSWER | SKIPPED
