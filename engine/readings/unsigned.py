"""Descriptions that ask for numbers without their sign, such as "Fees, always positive".

A wrong sign is the costliest misreading of an amount, so the description has to say it in so many words. The network,
which should read it from the question, gave "The balance at the end." .62 in the mean and "Amount, always positive"
.62; a classifier over sentence vectors found 27 of 62 such phrases that it was not fitted on.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: What says so, in the languages whose conventions the readings know.
_PHRASES = (
    r"always (?:a )?positive", r"never (?:a )?negative", r"(?:must|can|may) (?:not|never) be negative",
    r"non-?negative", r"(?:without|no|drop|omit|ignore|remove|leave out) (?:its |the |their |an? |any )?(?:minus|sign)",
    r"(?:minus|sign)(?: sign)? (?:is |are )?(?:dropped|omitted|ignored|removed|left out|not part)",
    r"regardless of (?:its |the |their )?sign", r"absolute (?:value|amount|number)",
    r"unsigned (?:value|amount|number|integer|decimal)", r"as (?:a )?positive (?:value|amount|number|figure)s?",
    r"positive also", r"also positive", r"positive (?:even )?(?:for|in) (?:both|either|all)", r"magnitude only",
    r"(?:immer|stets) positiv", r"(?:nie|niemals|nicht) negativ", r"ohne (?:das |sein |ihr )?(?:vorzeichen|minus)",
    r"vorzeichenlos", r"als positive (?:zahl|wert)", r"positiver (?:wert|betrag)", r"absolut(?:er )?(?:betrag|wert)",
    r"toujours positi(?:f|ve)", r"jamais négati(?:f|ve)", r"sans (?:le |son )?signe", r"valeur absolue",
    r"siempre positiv[oa]", r"nunca negativ[oa]", r"sin (?:el |su )?signo", r"valor absoluto",
    r"sempre positiv[oa]", r"mai negativ[oa]", r"senza (?:il )?segno", r"valore assoluto", r"sem (?:o )?sinal",
    r"altijd positief", r"nooit negatief", r"zonder (?:min)?teken", r"absolute waarde",
    r"zawsze dodatni[ae]?", r"bez znaku", r"wartość bezwzględna", r"alltid positiv", r"utan (?:minus)?tecken",
    r"altid positiv", r"uden fortegn", r"uten fortegn",
)  # fmt: skip
#: The same in scripts without blanks.
_UNSPACED = ("绝对值", "不带符号", "絶対値", "符号なし")
_ASKS = re.compile(rf"(?<!\w)(?<!not )(?<!nicht )(?:{'|'.join(_PHRASES)})|{'|'.join(_UNSPACED)}", re.IGNORECASE)


@lru_cache(maxsize=4096)
def asks_unsigned(description: str) -> bool:
    """Returns whether a description says that a printed minus is not part of the value."""
    return _ASKS.search(description) is not None
