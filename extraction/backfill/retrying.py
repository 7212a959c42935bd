"""Quarantine tried again: the same documents through the same schema and options, perhaps another model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cinnabar.extraction.backfill.whereabouts import Whereabouts
from cinnabar.extraction.batched_run import Summary
from cinnabar.extraction.inputs import Input, Location, examine
from cinnabar.extraction.mailboxes.address import password_of_environment
from cinnabar.extraction.progress import Progress
from cinnabar.extraction.run import extract
from cinnabar.extraction.run_options import RunOptions
from cinnabar.extraction.sources import Source
from cinnabar.extraction.storage.quarantine import Held, source_of

#: What a run is told anew: the rest is as it was when the document went to quarantine.
_ANEW = {"limit": None, "retry_quarantined": True}


@dataclass(frozen=True, slots=True)
class Retried:
    """A run for each schema and set of options; `gone` are the paths of what is not there any more."""

    runs: list[Summary]
    gone: list[str]


def retry(
    out: Path,
    chosen: Sequence[Held],
    model: Source,
    progress: Progress | None = None,
    others: Sequence[Location] = (),
    password: Callable[[], str] = password_of_environment,
) -> Retried:
    """Read these documents again, each with the schema and the options of the run that held it back.

    They are looked for by `Whereabouts`, in the `others` too; a file that was changed meanwhile is read as it
    is now. Raises what `extract` raises.
    """
    groups: dict[tuple[str, str, str], list[Input]] = defaultdict(list)
    gone, runs = [], []
    with Whereabouts(out, others, password) as whereabouts:
        for one in chosen:
            found = _input(one, whereabouts)
            if found is None:
                gone.append(one.path)
                continue
            known = {name: one.arguments[name] for name in RunOptions.model_fields if name in one.arguments}
            said = json.dumps(known | _ANEW, sort_keys=True)
            groups[one.schema_name, one.schema_fingerprint, said].append(found)
        for (name, fingerprint, said), inputs in groups.items():
            options: dict[str, Any] = json.loads(said)
            source = source_of(out, name, fingerprint)
            runs.append(extract(inputs, source, out, model, RunOptions(**options), progress))
    return Retried(runs, gone)


def _input(one: Held, whereabouts: Whereabouts) -> Input | None:
    """What is read again of it, by the path that it has in quarantine; None where there is nothing."""
    if one.document:
        # A backfill names an older content of a path that was read again since by both.
        path = one.path.removesuffix(f"@{one.document[:16]}")
        if (content := whereabouts.find([path], one.document, one.size)) is not None:
            return Input(one.path, content, one.document)
        content = whereabouts.file_at(path)
    else:
        content = whereabouts.lying_at(one.path)
    if content is None:
        return None
    return replace(examine(content, [content] if isinstance(content, Path) else []), path=one.path)
