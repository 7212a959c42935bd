"""The sets that decide between the recipes."""

from __future__ import annotations

import random

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
