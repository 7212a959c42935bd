"""Fields that ask for what the headers of a mail say: who wrote it to whom, when, and under which id.

A name asks if one of its words is about a mail's people or addresses, or if all of its words are those of a header: a
`date` may be that of the mail, a `delivery_date` is not. A description asks by words of the first kind alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cinnabar.engine.models.reader.inputs.questions import words_of
from cinnabar.schemas.form.form import Slot

# People and addresses of a mail in seven languages.
_ASKING = re.compile(
    r"\b(?:senders?|sent|authors?|writers?|wrote|posted|posters?|submitted by|recipients?|addressees?|repl(?:y|ies)|"
    r"e-?mails?[ -]?(?:add?ress\w*|id)|headers?|absender\w*|verfasser\w*|autor(?:in|es|e|a)?|auteurs?|autrice|"
    r"escri(?:to|be) por|écrite? par|empfänger\w*|gesendet|versendet|e-?mail-?adress\w*|kopfzeilen?|"
    r"expédit\w*|destinat[aá]ri\w*|destinataires?|envoyée?s?|adresse (?:e-?mail|électronique)|courriel|"
    r"remitentes?|enviad[oa]s?|correo electrónico|mittent[ei]|inviat[oa]|posta elettronica|"
    r"afzenders?|ontvangers?|verzonden|geadresseerden?|remetentes?)\b",
    re.IGNORECASE,
)
# The words of headers, and those beside them in names such as `sent_at`.
_NAME = re.compile(
    r"\b(?:from|to|cc|bcc|date|sent|received|sender|recipient|author|message|mail|email|subject|thread|reply|"
    r"von|an|datum|absender|empfänger|nachricht|de|à|expéditeur|destinataire|fecha|remitente|destinatario|mensaje|"
    r"da|data|mittente|messaggio|van|aan|afzender|ontvanger|bericht|para|remetente|mensagem)\b"
)
_BESIDE = re.compile(r"\b(?:ids?|address(?:es)?|names?|time|at|on|by|the|of|list|line|original)\b")
_MAIL = re.compile(r"\be?mail\b")


def asks_for_headers(slot: Slot) -> bool:
    """Returns whether the headers of a mail may have the value of a slot."""
    return slot.format in ("email", "idn-email") or _asks(slot.path, slot.title, slot.description)


@lru_cache(maxsize=1024)
def _asks(path: str, title: str, description: str) -> bool:
    names = [words_of(name) for name in (*path.split("/"), title) if name.strip("*")]
    if any(_ASKING.search(text) for text in (*names, description)):
        return True
    return any(
        _MAIL.search(name) or (_NAME.search(name) and not _NAME.sub("", _BESIDE.sub("", name)).strip())
        for name in names
    )
