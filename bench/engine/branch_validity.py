"""Valid records and valid states: a released model's branches under real schemas.

    python -m bench engine.branch_validity ../shared/suites --model qwen2.5-coder-0.5b --schemas 200

Each schema reads one of its own valid instances as a text, or a sample mail if it has none. What the engine shows after
each step, and the record, have to be accepted by Cinnabar and by jsonschema-rs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.engine.validity import first_refused
from bench.schema_suites import Case, real, spread
from cinnabar.engine.branches.engine import language_engine
from cinnabar.engine.engine import Engine
from cinnabar.engine.models.language.language_model import load_language_model
from cinnabar.engine.request import Filled, Request, text_passage
from cinnabar.errors import CinnabarError
from cinnabar.extraction.filling.model_sources import local_folder
from cinnabar.schemas import compile_schema

#: Characters of a text, and fields of a schema: larger ones take minutes of a processor.
CHARACTERS, FIELDS = 1200, 40
MAIL = Path("data/samples/insurance_mail/docs/burst_pipe_fenwick.eml")


def states_of(case: Case, engine: Engine) -> tuple[int, str] | None:
    """Returns the number of states and the first fault; None if the schema is refused, without record, or large."""
    try:
        compiled = compile_schema(case.schema)
        form = compiled.form
    except CinnabarError:
        return None
    if not 0 < len(form.slots) <= FIELDS:
        return None
    said = next((text for text, valid in case.tests if valid), MAIL.read_text("utf-8"))[:CHARACTERS]
    shown: dict[str, None] = {}
    request = Request("", form, text_passage(said))
    try:
        (found,) = engine.fill([request], lambda _, states: shown.setdefault(states[0]))
    except CinnabarError as error:
        return 0, str(error)
    if not isinstance(found, Filled):
        return len(shown), str(found)
    return len(shown), first_refused(compiled, case, (*shown, found.record))


def main() -> None:
    """Prints the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--schemas", type=int, default=200)
    asked = parser.parse_args()
    engine = language_engine(load_language_model(local_folder(asked.model), "cpu"))
    assert isinstance(engine, Engine), f"{asked.model}: expected a causal model"
    read = states = left_out = 0
    faults: list[str] = []
    for case in spread(real(asked.suites), 2 * asked.schemas):
        if read == asked.schemas:
            break
        told = states_of(case, engine)
        if told is None:
            left_out += 1
            continue
        read, states = read + 1, states + told[0]
        if told[1]:
            faults.append(f"{case.name}: {told[1]}")
    print(f"{read - len(faults)} of {read} real schemas, {states:,} states; {left_out} left out as refused or large")
    print("\n".join(faults))


if __name__ == "__main__":
    main()
