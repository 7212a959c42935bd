"""Who speaks: whom a mail was sent to is no value of a field that asks for somebody else."""

from __future__ import annotations

import re

from cinnabar.extraction.filling.surroundings.beside import Beside, Effect, Kind
from cinnabar.extraction.filling.surroundings.flags import RECEIVER
from cinnabar.extraction.filling.surroundings.thresholds import DOUBTED

_RECEIVERS = re.compile(r"\s*(?:to|cc|bcc|reply-to|delivered-to|resent-to):", re.IGNORECASE)
_ASKS_RECEIVER = re.compile(
    r"\b(?:to|cc|recipients?|receivers?|addressees?|e-?mail|mail|address(?:ed)?|empfänger\w*|adressat\w*|destinatair\w*"
    r"|destinatari\w*|ontvanger)\b",
    re.IGNORECASE,
)


def _receiver(one: Beside) -> Effect | None:
    """A value of a mail's `To` is in doubt, unless its field asks for receivers or addresses."""
    if not one.spans or one.slot.kind != "string" or _ASKS_RECEIVER.search(one.words):
        return None
    at = one.spans[0][0]
    within = any(part.kind == "headers" and part.start <= at < part.end for part in one.document.parts)
    return Effect(RECEIVER, most=DOUBTED) if within and _RECEIVERS.match(one.before) else None


SPEAKERS: tuple[Kind, ...] = (_receiver,)
