"""Quarantine tried again: the same documents through the same schema and options, perhaps another model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cinnabar.extraction.progress import Progress
from cinnabar.extraction.run import Options, Summary, extract
from cinnabar.extraction.sources import Source
from cinnabar.extraction.storage.quarantine import Held, source_of

#: What a run is told anew: the rest is as it was when the document went to quarantine.
_ANEW = {"limit": None, "retry_quarantined": True}


@dataclass(frozen=True, slots=True)
class Retried:
    """A run for each schema and set of options; `gone` are the paths of files that are not there any more."""

    runs: list[Summary]
    gone: list[str]


def retry(out: Path, chosen: Sequence[Held], model: Source, progress: Progress | None = None) -> Retried:
    """Read these documents again, each with the schema and the options of the run that held it back.

    Paths are those of that run: relative ones are looked for from where this one is started. Raises what
    `extract` raises.
    """
    groups: dict[tuple[str, str, str], list[Path]] = defaultdict(list)
    gone = []
    for one in chosen:
        path = Path(one.path)
        if not path.exists():
            gone.append(one.path)
            continue
        known = {name: one.arguments[name] for name in Options.__slots__ if name in one.arguments}
        said = json.dumps(known | _ANEW, sort_keys=True)
        groups[one.schema_name, one.schema_fingerprint, said].append(path)
    runs = []
    for (name, fingerprint, said), paths in groups.items():
        options: dict[str, Any] = json.loads(said)
        source = source_of(out, name, fingerprint)
        runs.append(extract(paths, source, out, model, Options(**options), progress))
    return Retried(runs, gone)
