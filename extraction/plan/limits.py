"""The plan of a run and the parsers agree on these; the file imports nothing, since parser processes start with it."""

from __future__ import annotations

from typing import Literal

#: When pages are read by OCR: those without text of their own, all, or none.
OcrChoice = Literal["auto", "always", "never"]
#: The least context of a model, in tokens: a smaller one cannot hold a table row and its neighbours.
LEAST_LIMIT = 64
