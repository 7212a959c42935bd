"""The thresholds by which a run with a model behind a server ends, and the room that its requests get.

A changed threshold changes values: raise the part `remote` (engine/version.py).
"""

from __future__ import annotations

# Outages (`filler.py`).

#: The run ends after so many unanswered requests in a row, each with all its attempts used.
OUTAGE_REQUESTS = 20
#: The run ends after so many failed connections to an address that never answered: some seconds with the waits.
FAILED_CONNECTIONS = 3
#: The run ends after so many refused requests if nothing was answered before: the fault is not in the documents.
REFUSED_REQUESTS = 5

# The room of a request (`prompting.py`, `serving.py`).

#: The most problems of an answer that a message lists.
LISTED_FAULTS = 20
#: Bytes of a token, rather too few: English has about 4.5, tables, German and numbers about 3.
TOKEN_BYTES = 3
#: Divisors of the context: for an answer, for an answer without lists, and for the task and the schema.
LISTS_DIVISOR, SCALARS_DIVISOR, TASK_DIVISOR = 4, 16, 8
#: Tokens of a value in an answer, with its name, and the assumed items of a list.
VALUE_TOKENS, ASSUMED_ITEMS = 14, 8
#: The assumed context of a model with an unknown one, in tokens.
UNKNOWN_CONTEXT = 32_000
