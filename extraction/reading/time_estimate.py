"""The expected seconds of a language model that reads on this machine, told before its first document."""

from __future__ import annotations

from collections.abc import Sequence

from cinnabar.engine.branches.branch_model import BranchModel
from cinnabar.engine.engine import Engine
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.reading.pipeline import Job, Read
from cinnabar.schemas.wording import counted

#: Below so many seconds a run tells nothing beforehand.
_SHORT = 10.0


def time_note(job: Job, read: Sequence[Read | None], documents: int) -> str | None:
    """Returns the seconds that each of these documents takes, and all of a run, by those that were parsed first.

    None if no language model fills branches here, or if the run is short.
    """
    fillers = [job.engine, *([job.tier.filler] if job.tier else [])]
    models = [one.model for one in fillers if isinstance(one, Engine) and isinstance(one.model, BranchModel)]
    texts = [one.found.text for one in read if one is not None and isinstance(one.found, Document)]
    if not models or not texts:
        return None
    each = sum(models[0].seconds(text, job.compiled.form) for text in texts) / len(texts)
    if each * documents < _SHORT:
        return None
    most, all_of_them = ("at most about", "all of them") if job.tier else ("about", "all")
    whole = f"{each * documents / 60:.0f} min" if each * documents >= 120 else f"{each * documents:.0f} s"
    return f"{counted(documents, 'document')}, {most} {each:.1f} s each, {all_of_them} in {whole}; lists take longer"
