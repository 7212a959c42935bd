"""Reads quarantined documents again with the same schema and options, maybe with another model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cinnabar.extraction.documents.inputs import Input, Location, examine
from cinnabar.extraction.documents.mailboxes.address import password_of_environment
from cinnabar.extraction.filling.model_sources import Source
from cinnabar.extraction.filling.progress import ProgressListener
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.run.backfill.document_lookup import DocumentLookup
from cinnabar.extraction.run.extract import extract
from cinnabar.extraction.run.quarantine import HeldDocument
from cinnabar.extraction.run.stored_run import Summary
from cinnabar.extraction.store.stored_records import source_of

#: Options that a retry sets; the others are as they were when the document went to quarantine.
_ANEW = {"limit": None, "retry_quarantined": True}


@dataclass(frozen=True, slots=True)
class Retried:
    """A run for each schema and set of options; `gone` has the paths of missing documents, and why."""

    runs: list[Summary]
    gone: dict[str, str]


def retry(
    out: Path,
    chosen: Sequence[HeldDocument],
    model: Source,
    progress: ProgressListener | None = None,
    others: Sequence[Location] = (),
    password: Callable[[], str] = password_of_environment,
) -> Retried:
    """Reads these documents again, each with the schema and the options of the run that quarantined it.

    `DocumentLookup` finds them, in the `others` too; a file that has changed since is read as it is now. Raises the
    errors of `extract`.
    """
    groups: dict[tuple[str, str, str], list[Input]] = defaultdict(list)
    gone, runs = dict[str, str](), []
    with DocumentLookup(out, others, password) as document_lookup:
        for one in chosen:
            content = _input(one, document_lookup)
            if content is None:
                gone[one.path] = document_lookup.explain_missing(one.path)
                continue
            known = {name: one.arguments[name] for name in RunOptions.model_fields if name in one.arguments}
            arguments = json.dumps(known | _ANEW, sort_keys=True)
            groups[one.schema_name, one.schema_fingerprint, arguments] += _unpack(content, document_lookup)
        for (name, fingerprint, arguments), inputs in groups.items():
            options: dict[str, Any] = json.loads(arguments)
            source = source_of(out, name, fingerprint)
            runs.append(extract(inputs, source, out, model, RunOptions(**options), progress))
    return Retried(runs, gone)


def _unpack(item: Input, document_lookup: DocumentLookup) -> list[Input]:
    """Returns the files of an archive that can be unpacked now, or the input itself."""
    members = document_lookup.inside(item.content)
    if not members:
        return [item]
    return [replace(examine(one, []), path=f"{item.path}{end}") for end, one in members]


def _input(one: HeldDocument, document_lookup: DocumentLookup) -> Input | None:
    """Returns the input to read again, under its path in quarantine; None if it is missing."""
    if one.document:
        # A backfill names an older content by path and digest if the path was read again since.
        path = one.path.removesuffix(f"@{one.document[:16]}")
        if (content := document_lookup.find([path], one.document, one.size)) is not None:
            return Input(one.path, content, one.document)
        content = document_lookup.file_at(path)
    else:
        content = document_lookup.lying_at(one.path)
    if content is None:
        return None
    return replace(examine(content, None), path=one.path)
