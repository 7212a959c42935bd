"""The bounds of a schema's checks: how many, how long, how deep, and the time of a query."""

from __future__ import annotations

#: Seconds that a query may take. Two checks on 16 invoices take 2 ms.
QUERY_SECONDS = 5.0
#: The most characters of an expression.
LONGEST_EXPRESSION = 4000
#: Lambdas within one another: a schema with lists in lists in lists.
DEEPEST_LAMBDAS = 3
