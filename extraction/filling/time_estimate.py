"""The expected seconds of a language model that reads on this machine, told before its first document."""

from __future__ import annotations

from collections.abc import Sequence

from cinnabar.engine.branches.branch_model import BranchModel
from cinnabar.engine.engine import Engine
from cinnabar.engine.request import Filler
from cinnabar.extraction.plan.thresholds import SHORT_RUN
from cinnabar.schemas.form.form import Form
from cinnabar.wording import with_noun


def time_note(filler: Filler, form: Form, texts: Sequence[str], documents: int, at_most: bool) -> str | None:
    """Returns the seconds that each of a run's documents takes, and all of them, by these texts of its first ones.

    `at_most` says that not all of them are asked of this filler. None if it is no language model that fills branches
    here, or if the run is short.
    """
    model = filler.model if isinstance(filler, Engine) else None
    if not isinstance(model, BranchModel) or not texts:
        return None
    each = sum(model.seconds(text, form) for text in texts) / len(texts)
    if each * documents < SHORT_RUN:
        return None
    most, all_of_them = ("at most about", "all of them") if at_most else ("about", "all")
    whole = f"{each * documents / 60:.0f} min" if each * documents >= 120 else f"{each * documents:.0f} s"
    return f"{with_noun(documents, 'document')}, {most} {each:.1f} s each, {all_of_them} in {whole}; lists take longer"
