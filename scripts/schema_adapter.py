"""What judges a text, in the form that the runners of the schema suites ask for.

PYTHONPATH=scripts python ../shared/tools/schema_suite.py --engine schema_adapter:Adapter --suite … --out …
PYTHONPATH=scripts python ../shared/tools/schema_traps.py --engines schema_adapter:Adapter
"""

from __future__ import annotations

from typing import Any

from cinnabar.schemas.canonical import parse
from cinnabar.schemas.judging import Judge, judge_of
from cinnabar.schemas.metaschema import check_schema


class Accepting:
    """Texts that a schema allows."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge

    def accepts(self, text: str) -> bool:
        """Whether this is a JSON text of a value that the schema allows."""
        try:
            return self.judge.accepts(parse(text))
        except ValueError:
            return False


class Adapter:
    """Schemas, checked and compiled for judging."""

    name = "cinnabar"

    def __init__(self, tokenizer: str = "") -> None:
        del tokenizer  # texts are judged as they are

    def compile(self, schema: dict[str, Any] | bool) -> Accepting:
        """The schema ready to judge texts; raises what says why it cannot."""
        check_schema(schema)
        return Accepting(judge_of(schema))
