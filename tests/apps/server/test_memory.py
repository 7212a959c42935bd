"""Many schemas that are small as texts and large as forms: a real server keeps few of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.server_process import NAME, invoice, running

from cinnabar.apps.server import schema_cache
from cinnabar.schemas import load_schema

#: Three levels of ten references each: 1.1 kB, and a form of 1,000 fields.
_NAMES = "abcdefghij"
#: Of the issue: 1.2 GiB. The server alone, with the reader loaded, has .5.
MOST = 1.2 * (1 << 30)
#: A schema takes seconds. Kept without a bound, so many would take 1.4 GiB; 128 in its place takes eight minutes.
MANY = int(os.environ.get("WIDE_SCHEMAS", "32"))
#: A server that lets a schema take ten minutes: on a busy machine these take more than its twenty seconds.
PATIENT = """
from functools import partial
from cinnabar.apps.server import settings
settings.ServerSettings = partial(settings.ServerSettings, compile_seconds=600)
from cinnabar.apps.cli.main import main
main()
"""


def widening(number: int) -> dict[str, Any]:
    """A schema of references, unlike that of any other number."""
    held: dict[str, Any] = {"l3": {"type": ["number", "null"], "maximum": 99 + number}}
    for level in range(3):
        properties = {name: {"$ref": f"#/$defs/l{level + 1}"} for name in _NAMES}
        held[f"l{level}"] = {"type": "object", "properties": properties, "required": [*_NAMES]}
    return {"$defs": held, "$ref": "#/$defs/l0"}


def most_memory(process: int) -> int:
    """The most bytes that a process and its children had at once, each at its own time; 0 if it has ended."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        own = Path(f"/proc/{process}/status").read_text()
    except OSError:  # a child of the server, which replaces those that took too long
        return 0
    kilobytes = int(next(line for line in own.splitlines() if line.startswith("VmHWM")).split()[1])
    return (kilobytes << 10) + sum(most_memory(int(child)) for child in children)


def test_a_small_schema_of_many_references_weighs_what_its_form_has() -> None:
    wide = schema_cache._prepare(load_schema(widening(1)))
    plain = schema_cache._prepare(load_schema({"type": "object", "properties": {"a": {"type": "string"}}}))
    assert len(wide.compiled.form.slots) == 1000
    # 128 of them weigh five times what is kept.
    assert 128 * wide.size > 5 * schema_cache._KEPT_BYTES and plain.size < wide.size / 20


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_server_stays_small_after_many_schemas_that_widen() -> None:
    with running(program=PATIENT) as server:
        for number in range(MANY):
            form = {"type": "json_schema", "json_schema": {"name": "x", "schema": widening(number)}}
            messages = [{"role": "user", "content": invoice(number)}]
            body = {"model": NAME, "messages": messages, "response_format": form, "reasoning_effort": "instant"}
            answer = server.post("/chat/completions", body)
            assert answer.status_code == 200, answer.text
            if number % 16 == 15:
                assert most_memory(server.process.pid) < MOST, number
        assert most_memory(server.process.pid) < MOST
