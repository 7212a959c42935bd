"""Time to compose the automaton of a record and to lift it to 150,000 tokens, from nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.engine.figures import Figure, Settings
from bench.record_graphs import TRAINED, Made, timed, trained, vocabulary_of
from bench.schema_suites import real, spread
from cinnabar.errors import CinnabarError, TooLarge
from cinnabar.schemas import compile_schema
from cinnabar.schemas.library import LIBRARY

SCHEMAS = 400
SECONDS = 2.0


def measure(settings: Settings) -> Iterator[Figure]:
    """Takes the figures of the library's forms and of real schemas."""
    vocabulary = vocabulary_of(trained(TRAINED))
    made = {name: timed(compile_schema(kind.model_json_schema()).form, vocabulary) for name, kind in LIBRARY.items()}
    slowest = max(made, key=lambda name: made[name].seconds)
    yield Figure(
        f"compose and lift, {vocabulary.size:,} tokens, the {len(made)} forms of the library, seconds of one core",
        f"< {SECONDS:.0f} each",
        f"at most {made[slowest].seconds:.2f} ({slowest}: {made[slowest].states:,} states)",
        made[slowest].seconds < SECONDS,
    )
    if not (settings.suites / "jsonschemabench").is_dir():
        return
    found: list[Made] = []
    formless = refused = 0
    for case in spread(real(settings.suites), settings.some(SCHEMAS)):
        try:
            found.append(timed(compile_schema(case.schema).form, vocabulary))
        except TooLarge:
            refused += 1
        except CinnabarError:
            formless += 1
    seconds = np.array([one.seconds for one in found])
    yield Figure(
        f"the same, {len(found) + formless + refused} real schemas: median / 95% / most; bounds left to the judge",
        "reported",
        f"{np.quantile(seconds, 0.5):.2f} / {np.quantile(seconds, 0.95):.2f} / {seconds.max():.2f};"
        f" {sum(one.left > 0 for one in found)} leave bounds to the judge, {refused} are refused as too large,"
        f" {formless} have no form",
    )
