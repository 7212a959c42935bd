"""The work that a run lets the parsers do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

from cinnabar.extraction.plan.limits import OcrChoice

#: What to do about an encrypted file; part of its message.
PASSWORD_HELP = "give its password in CINNABAR_PASSWORDS or by --password-file"


@dataclass(frozen=True, slots=True)
class ParserSettings:
    """The work that a run lets the parsers do.

    passwords: tried on encrypted files. ocr: pictures and pages without text (`auto`), all pages (`always`) or none are
    read from their image. ocr_engine: `rapidocr`, or `tesseract` with languages after a colon. hidden: text that no
    reader sees is read too. careful: contents of other kinds within a file stay closed, and the pages of a PDF
    are read in processes of their own, for a file that ended its parser. seconds: of wall clock for a document, which a
    reader of many pages plans with. drawn_from: the page of a PDF that is drawn for a person, with as many after it as
    a moment allows; 0 draws the first pages. pages: the first and the last page of a PDF that are read, without what
    belongs to the whole file; None reads all of it. turns: pages of a PDF and the degrees by which they are turned
    clockwise before they are read.

    Raises ValueError for an unknown `ocr`.
    """

    # Never printed: a representation lands in logs.
    passwords: tuple[str, ...] = ()
    ocr: OcrChoice = "auto"
    ocr_engine: str = "rapidocr"
    hidden: bool = False
    careful: bool = False
    seconds: float = 30.0
    drawn_from: int = 0
    pages: tuple[int, int] | None = None
    turns: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.ocr not in get_args(OcrChoice):
            raise ValueError(f"ocr: expected one of {', '.join(get_args(OcrChoice))}, got {self.ocr!r}")

    def __repr__(self) -> str:
        shown = {**asdict(self), "passwords": f"{len(self.passwords)} given"}
        return f"ParserSettings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def sent(self) -> dict[str, Any]:
        """Returns the settings for a parser process, which reads them from its standard input."""
        return asdict(self)

    @classmethod
    def from_sent(cls, values: Mapping[str, Any]) -> ParserSettings:
        """Returns the settings that `sent` made."""
        return cls(**{**values, "passwords": tuple(values["passwords"])})


DEFAULT = ParserSettings()
