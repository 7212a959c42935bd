"""Random sequences of corrections, reruns and upkeep: no correction is lost, and each record is valid."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from tests.support.corrected_folder import DOCUMENTS, SCHEMA, commit_waiting_of, digest_of, run, value_of
from tests.support.store_fixtures import compact

from cinnabar.extraction.corrections import Action, Change, Corrector, Refused, corrections
from cinnabar.extraction.filling.checks.validation import Validator
from cinnabar.extraction.maintenance.verification import verify
from cinnabar.extraction.store.reading import query
from cinnabar.extraction.store.store import Store
from cinnabar.schemas import load_schema

PLACES = ("/number", "/total", "/note", "/seller", "/seller/name", "/seller/city", "/lines", "/lines/0/price")
VALUES = {
    "/number": ['"N"', '"x y"', "5"],
    "/total": ["7", "0.25", "null", '"much"'],
    "/note": ['"n"', '""'],
    "/seller": ['{"name":"Eva","city":null}', "null"],
    "/seller/name": ['"Udo"', "null"],
    "/seller/city": ['"Rome"', "null"],
    "/lines": ["[]", '[{"item":"z","price":3}]', '[{"item":"y"},{"item":"z","price":null}]'],
    "/lines/0/price": ["9", "null"],
}
CHANGES = st.one_of(
    st.sampled_from([(Action.VALUE, place, text) for place in PLACES for text in VALUES[place]]),
    st.sampled_from([(Action.ABSENT, place) for place in PLACES]),
    st.sampled_from([(Action.ACCEPT, place) for place in ("", *PLACES)]),
    st.just((Action.OTHER_KIND, "")),
)
DOCUMENT = st.sampled_from(DOCUMENTS)
STEPS = st.one_of(
    st.tuples(st.just("correct"), DOCUMENT, CHANGES),
    st.tuples(st.just("correct"), DOCUMENT, CHANGES),
    st.tuples(st.just("wait"), DOCUMENT, CHANGES),
    st.tuples(st.just("undo"), DOCUMENT, st.integers(0, 3)),
    st.tuples(st.just("undo all"), DOCUMENT, st.none()),
    st.tuples(st.sampled_from(["run", "compact", "verify"]), st.sampled_from(["e1", "e22", "e333"]), st.none()),
)


def correct(out, path, change):
    try:
        return Corrector(out).correct(digest_of(path), "bill", [Change(*change)], "eva")
    except Exception as error:
        if isinstance(error, Refused) or "expected" in str(error):
            return None
        raise


def do(out, step):
    kind, what, more = step
    if kind == "correct":
        correct(out, what, more)
    elif kind == "wait":
        # A run holds the folder, and ends without a batch.
        with Store.open(out):
            correct(out, what, more)
    elif kind.startswith("undo"):
        known = Corrector(out).state(digest_of(what), "bill").corrections
        chosen = None if more is None else [one.identity for one in known[more : more + 1]]
        Corrector(out).undo(digest_of(what), "bill", chosen, "udo")
    elif kind == "run":
        run(out, what)
    elif kind == "compact":
        compact(out)
    else:
        assert verify(out, clean=True).problems == []


def check(out):
    commit_waiting_of(out)
    validator = Validator(load_schema(SCHEMA))
    shown = {document: json.loads(text) for document, text in query(out, "SELECT document, record_json FROM bill").rows}
    for document, value in shown.items():
        assert validator.check(json.dumps(value)) == [], document
    human = set(query(out, "SELECT document, pointer FROM fields WHERE origin = 'human'").rows)
    for path in DOCUMENTS:
        state = Corrector(out).state(digest_of(path), "bill")
        force = [one for one in state.corrections if one.undone is None]
        assert (state.document in shown) == (not any(one.action is Action.OTHER_KIND for one in force))
        if state.document in shown:
            assert json.loads(state.record.text) == shown[state.document]
        # The last word on a place holds, whatever ran since.
        seen: set[str] = set()
        for one in reversed(force):
            for unit in one.units:
                meets = [at for at in seen if f"{at}/".startswith(f"{unit.pointer}/") or unit.pointer.startswith(at)]
                if not meets and state.document in shown:
                    draft = shown[state.document]
                    for name in unit.pointer.split("/")[1:]:
                        draft = draft.get(name) if isinstance(draft, dict) else None
                    wanted = None if unit.text is None else json.loads(unit.text)
                    assert draft == wanted, (one, shown[state.document])
                    # Who gives a list says its rows, and what was read of them is not theirs.
                    said = one.action is not Action.LIST and unit.leaves
                    assert not said or any((state.document, leaf.pointer) in human for leaf in unit.leaves)
            seen.update(unit.pointer for unit in one.units)
    total = query(out, "SELECT count(*) FROM corrections WHERE undone IS NULL").rows[0][0]
    assert total == len(corrections(out))


def sequence(steps):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        run(out)
        for step in steps:
            do(out, step)
        check(out)
        for path in DOCUMENTS:
            Corrector(out).undo(digest_of(path), "bill", None, "udo")
        engine = next((what for kind, what, _ in reversed(steps) if kind == "run"), "e1")
        rows = dict(query(out, "SELECT path, record_json FROM bill").rows)
        assert set(rows) == set(DOCUMENTS) and engine
        made = [[value_of(path, one) for one in ("e1", "e22", "e333")] for path in DOCUMENTS]
        assert all(json.loads(rows[path]) in some for path, some in zip(DOCUMENTS, made, strict=True))
        assert query(out, "SELECT count(*) FROM fields WHERE origin = 'human'").rows == [(0,)]
        assert verify(out, clean=True).problems == []


@pytest.mark.slow
# Two corrections of one document under a run, and a correction of many places that is taken back: what a few random
# sequences may miss.
@example([("correct", "a.txt", (Action.VALUE, "/number", '"N"')), ("correct", "a.txt", (Action.VALUE, "/total", "7")),
          ("run", "e22", None)])  # fmt: skip
@example([("correct", "a.txt", (Action.ACCEPT, "")), ("run", "e22", None), ("undo all", "a.txt", None),
          ("compact", "e1", None)])  # fmt: skip
@example([("correct", "a.txt", (Action.ACCEPT, "/seller/city")), ("correct", "a.txt", (Action.ABSENT, "/seller")),
          ("correct", "a.txt", (Action.ACCEPT, "/seller/name")), ("undo", "a.txt", 1)])  # fmt: skip
@given(st.lists(STEPS, min_size=3, max_size=6))
@settings(max_examples=int(os.environ.get("CORRECTION_EXAMPLES", "3")), deadline=None, derandomize=True,
          phases=[Phase.explicit, Phase.generate],
          suppress_health_check=list(HealthCheck))  # fmt: skip
def test_random_sequences_lose_no_correction_and_can_be_taken_back(steps):
    sequence(steps)
