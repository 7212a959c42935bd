"""Chunks for a server: a document longer than one request is asked about in chunks and becomes one record."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.support import mercury_server as mercury
from tests.support.remote_forms import NOTE, form_of, request

from cinnabar.engine.asking.provider_schema import Wire
from cinnabar.engine.remote.serving import RemoteSettings
from cinnabar.engine.replies.record import read_answer
from cinnabar.engine.request import Filled
from cinnabar.extraction.filling.model_sources import model_source
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.store.reading import query
from cinnabar.schemas import load_schema


def test_rows_of_all_chunks_appear_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INCEPTION_API_KEY", mercury.KEY)
    schema = json.loads(json.dumps(NOTE))
    del schema["properties"]["lines"]["maxItems"]
    lines = [f"- what=thing {number}; price={number % 7}.5" for number in range(60)]
    text = "\n".join(["name=Ada", "day=2024-05-01", *lines, "kind=b", ""])
    (tmp_path / "long.txt").write_text(text)
    with mercury.running(mercury.Server()) as server:
        source = model_source("mercury-2", settings=RemoteSettings(base_url=server.url))
        options = RunOptions(workers=1, context=120)
        summary = extract([tmp_path / "long.txt"], load_schema(schema), tmp_path / "out", source, options)
    assert summary.written == 1 and len(server.bodies) > 4
    ((record,),) = query(tmp_path / "out", "select record_json from note").rows
    found = json.loads(record)
    assert (found["name"], found["day"], found["kind"]) == ("Ada", "2024-05-01", "b")
    assert [row["what"] for row in found["lines"]] == [f"thing {number}" for number in range(60)]
    spans = query(tmp_path / "out", "select span_start, value from fields where field = '/lines/*/what'").rows
    assert all(text[start:].startswith(value) for start, value in spans)


@pytest.mark.slow
def test_the_words_of_a_long_answer_are_found_quickly_in_a_long_document() -> None:
    schema = json.loads(json.dumps(NOTE))
    del schema["properties"]["lines"]["maxItems"]
    rows = [{"what": f"part {n} of the whole", "price": n + 0.25} for n in range(400)]
    filler = "Terms and conditions apply to every delivery of 12 March 2024, see section 4.2. "
    text = "".join(f"{filler * 6}\nPart {n} of the whole  {n}.25 EUR\n" for n in range(400))
    answer = {"name": "terms and conditons apply to every", "day": "2024-03-12", "lines": rows}
    answer |= {"kind": None, "paid": None, "seller": None}
    asked = request(form_of(schema), text)
    assert len(text) > 200_000
    begin = time.thread_time()
    found = read_answer(asked, Wire(asked.form, {}), json.dumps(answer))
    assert isinstance(found, Filled), found
    assert time.thread_time() - begin < 40
    for number in (0, 1, 7, 250, 399):
        start = text.index(f"Part {number} of the whole")
        assert found.leaves[f"/lines/{number}/what"].spans[0][0] == start
        assert found.leaves[f"/lines/{number}/price"].spans[0][0] == text.index(f"{number}.25 EUR", start)
    assert found.leaves["/name"].spans
