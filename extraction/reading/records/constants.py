"""Constants of a schema: nobody reads them from a document, so nobody needs to look at them."""

from __future__ import annotations

from dataclasses import replace

from cinnabar.engine.request import Filled
from cinnabar.schemas.form.form import Form


def with_constants(form: Form, filled: Filled) -> Filled:
    """Returns the record with its constants as known: certain, never missing, and without evidence."""
    known = {
        pointer: replace(leaf, confidence=1.0, spans=(), origin="known", missing=False)
        for pointer, leaf in filled.leaves.items()
        if leaf.slot in form.constants and leaf.text == form.slots[leaf.slot].options[0] and leaf.origin != "fact"
    }
    return replace(filled, leaves={**filled.leaves, **known}) if known else filled
