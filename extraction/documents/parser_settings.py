"""The settings of a run's parser processes, made from its options and the environment."""

from __future__ import annotations

import os
from pathlib import Path

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.limits import MAX_PASSWORDS
from cinnabar.extraction.documents.content.parse_context import ParserSettings
from cinnabar.extraction.documents.ocr.engines import OcrEngine
from cinnabar.extraction.plan.run_options import DEFAULT_OPTIONS, RunOptions

#: The environment variable with passwords of encrypted documents, one a line.
PASSWORDS = "CINNABAR_PASSWORDS"


def parser_settings(options: RunOptions = DEFAULT_OPTIONS) -> ParserSettings:
    """Returns the settings of a run's parsers.

    Raises UsageError if the file of passwords cannot be read, or if OCR is demanded and cannot work here.
    """
    given = [*_passwords_in(os.environ.get(PASSWORDS, ""))]
    if options.password_file is not None:
        given += _in_file(options.password_file)
    passwords = tuple(dict.fromkeys(given))
    if len(passwords) > MAX_PASSWORDS:
        raise UsageError(f"expected at most {MAX_PASSWORDS} passwords of documents, got {len(passwords)}")
    _check_ocr(options)
    return ParserSettings(
        passwords=passwords, ocr=options.ocr, ocr_engine=options.ocr_engine, hidden=options.hidden
    )


def _passwords_in(text: str) -> tuple[str, ...]:
    """Returns the passwords in a text that holds one a line; a password may hold blanks."""
    return tuple(line for line in text.splitlines() if line)


def _check_ocr(options: RunOptions) -> None:
    """Raises UsageError for an engine that is unknown, or that is missing although the options ask for it by name."""
    try:
        engine = OcrEngine.parse(options.ocr_engine)
    except ValueError as error:
        raise UsageError(f"ocr_engine: {error}") from error
    asked = options.ocr == "always" or options.ocr_engine != DEFAULT_OPTIONS.ocr_engine
    if options.ocr != "never" and asked and (needed := engine.setup_advice()):
        raise UsageError(f"--ocr {options.ocr} ocr_engine {options.ocr_engine}: {needed}, or leave these options out")


def _in_file(path: str) -> tuple[str, ...]:
    try:
        return _passwords_in(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"--password-file {path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--password-file {path}: expected text in UTF-8, one password a line") from error
