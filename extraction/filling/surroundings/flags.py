"""The flags of what stands beside a value; those of values end with a person's word."""

from __future__ import annotations

#: The flag of an answer that is negated, or told twice against itself.
CONTRADICTED = "contradicted"
#: The flags of a boolean that its answer decided, and of a choice that nothing states.
ANSWERED, UNSTATED = "answer_beside", "not_stated"
#: The flag of a currency that the document states elsewhere than at the amount.
STATED = "currency_stated"
#: The flags of a date that another label claims, of one in the future that cannot be, of an end before its start.
OTHER_LABEL, IN_THE_FUTURE, ENDS_BEFORE_START = "other_label", "in_the_future", "ends_before_start"
#: The flag of an end of a period that was read together with its other end.
OF_PERIOD = "of_period"
#: The flag of a value in whose place the document shows an error or nothing.
NOT_SHOWN = "not_shown"
#: The flag of a value that stands below its head, in a table of one row.
BELOW_HEAD = "below_head"
#: The flags of an account number and another code that end elsewhere, and of a text that the schema's length cut.
ACCOUNT, CODE, CUT = "account_end", "code_end", "cut_text"
#: The flags of one end of a range, and of a number whose sign the document prints otherwise.
IN_RANGE, SIGN = "in_range", "sign_beside"
#: The flag of a printed minus that the schema, as with `minimum: 0`, allows no value to have.
SIGN_DROPPED = "sign_dropped"
#: The flags of a party that was read from beside its name or another's term, and of one in two roles.
OTHER_PARTY, TWO_ROLES = "other_party", "two_roles"
#: The flags of a number in another unit, on another base (per hundred, in thousands), and of a share in percent.
OTHER_UNIT, OTHER_BASE = "other_unit", "other_base"
#: The flags of a text that is not in the form that its description asks for, and of a value for which it asks for null.
NOT_AS_TOLD, NULL_AS_TOLD = "not_as_told", "null_as_told"
#: The flags of values.
FLAGS = frozenset(
    {CONTRADICTED, ANSWERED, UNSTATED, STATED, OTHER_LABEL, IN_THE_FUTURE, ENDS_BEFORE_START, OF_PERIOD,
     NOT_SHOWN, BELOW_HEAD, ACCOUNT, CODE, CUT, IN_RANGE, SIGN, SIGN_DROPPED, OTHER_PARTY, TWO_ROLES,
     OTHER_UNIT, OTHER_BASE, NOT_AS_TOLD, NULL_AS_TOLD}
)  # fmt: skip
