"""What the recipes share: the sets that decide between them, and their commands."""

from __future__ import annotations

import argparse
import random
import signal
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from training.recipe import load_recipe

#: Sets that train the shipped weights but none of these, drawn once by seed: they decide between recipes.
WITHHELD = tuple(sorted(random.Random(35).sample(sorted(load_recipe().sets), 8)))

#: Sets that no weights may be trained on (their data may be measured only), listed before any was read for these
#: figures. Five of them, drawn once by seed, are looked at once, at the end; the others decide while one tunes.
_MEASURED = (
    "bank_sms", "core_dev_calls", "design_jobs", "dlg_apartments", "dlg_bank_transfer", "dlg_doctor", "dlg_flights",
    "dlg_house_rental", "dlg_music", "dlg_rental_car", "dlg_taxi", "film_articles", "ofx_statements", "shop_invoices",
    "venue_descriptions",
)  # fmt: skip
LOOKED_AT_ONCE = tuple(sorted(random.Random(35).sample(_MEASURED, 5)))
#: The sets that decide: those, and four that were measured while earlier weights were tuned.
DECIDING = tuple(sorted({*_MEASURED} - {*LOOKED_AT_ONCE} | {"sroie", "seminar_email", "dlg_bus", "dlg_event_tickets"}))


def command(
    description: str | None, settings: Mapping[str, float | str], of_export: Mapping[str, float] = MappingProxyType({})
) -> argparse.Namespace:
    """Returns the command that was given: `prepare` DATA RUN, `train` RUN with these `settings`, or `export` RUN OUT.

    settings, of_export: the defaults of what `train` and `export` take, by their names. A training that is ended
    writes its checkpoint, in the background too, where a shell has its children ignore the keyboard.
    """
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, places in (("prepare", ("data", "run")), ("train", ("run",)), ("export", ("run", "out"))):
        one = commands.add_parser(name)
        for place in places:
            one.add_argument(place, type=Path)
        for setting, usual in {"train": settings, "export": of_export}.get(name, {}).items():
            one.add_argument(f"--{setting}", type=type(usual), default=usual)
    return parser.parse_args()
