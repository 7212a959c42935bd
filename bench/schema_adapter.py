"""The adapter through which the runners of the schema suites let Cinnabar judge texts.

PYTHONPATH=. python ../shared/tools/schema_suite.py --engine bench.schema_adapter:Adapter --suite … --out …
PYTHONPATH=. python ../shared/tools/schema_traps.py --engines bench.schema_adapter:Adapter
"""

from __future__ import annotations

from typing import Any

from cinnabar.schemas import CompiledSchema, compile_schema


class Adapter:
    """Schemas, checked and compiled."""

    name = "cinnabar"

    def __init__(self, tokenizer: str = "") -> None:
        del tokenizer  # Texts are judged as they are.

    def compile(self, schema: dict[str, Any] | bool) -> CompiledSchema:
        """The schema ready to judge texts; raises an error with the reason if it cannot be compiled."""
        return compile_schema(schema)
