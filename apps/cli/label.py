"""`cinnabar label` and `cinnabar truth` make a labelled set from drafts that a person corrects."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cinnabar.apps.cli.console import Bar
from cinnabar.apps.cli.options import AsJson, DeviceOption, SchemaOption, takes_options
from cinnabar.engine.models.remote.serving import is_remote
from cinnabar.extraction.learning.truth import accept
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.reading.model_sources import model_source
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import counted, harmless

# The default number of documents to draft, and the fewest that training takes.
_DOCUMENTS, _FEWEST = 30, 10


@takes_options("effort", "max_tokens", "max_seconds", "password_file", "hidden", "ocr", "ocr_engine")
def label(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders to draw from.")],
    schema: SchemaOption,
    out: Annotated[Path, typer.Option(metavar="SET", help="The folder of the set; new drafts are added to it.")],
    documents: Annotated[int, typer.Option(metavar="N", help="How many documents to draft.")] = _DOCUMENTS,
    model: Annotated[
        str, typer.Option(metavar="M", help="`default`, or the folder of a model.")
    ] = "default",
    device: DeviceOption = "auto",
    as_json: AsJson = False,
    **run_options: Any,
) -> None:
    """Draft a labelled set: records to correct, the fields with the lowest confidence first.

    The command copies documents into the set and writes a draft for each: a JSON file to correct, and an HTML
    page that shows the text with the values marked. `cinnabar truth SET` takes the checked drafts.

    \b
    Examples:
      cinnabar label inbox --schema receipt --out my_set
      cinnabar label inbox --schema receipt --out my_set --documents 50 --model my_model
    """
    if documents < 1:
        raise UsageError(f"--documents: expected at least 1, got {documents}")
    options = RunOptions(**run_options)
    source = load_schema(schema)
    _ = compile_schema(source.schema).form
    if is_remote(model):
        raise UsageError(f"--model {model}: expected a local model")
    drafting = model_source(model, device)
    from cinnabar.extraction.learning.labelling import label as draft  # Cold start: Torch takes a second.

    with Bar() as bar:
        done = draft(paths, source, out, drafting.filler(options.effort, None), documents, bar, options)
    if as_json:
        print(json.dumps(asdict(done) | {"out": str(out)}))
        return
    for file, reason in done.unread.items():
        print(harmless(f"cinnabar: {file}: {reason}"), file=sys.stderr)
    if not done.documents:
        print(
            f"nothing new to draft: {counted(done.before, 'document')} drafted before, {len(done.unread)} not read"
        )
        return
    print(
        f"{counted(done.documents, 'draft')} in {out / 'drafts'};"
        f" {done.doubts} of {counted(done.fields, 'field')} to look at"
    )
    print(f'correct "truth", set "checked": true in each, then: cinnabar truth {out}')


def truth(
    folder: Annotated[Path, typer.Argument(metavar="SET", help="A set made by `cinnabar label`.")],
    as_json: AsJson = False,
) -> None:
    """Take the checked drafts of a set into its truth.jsonl: all of them, or none if one is wrong.

    \b
    Examples:
      cinnabar truth my_set
      cinnabar train my_set --out my_model
    """
    done = accept(folder)
    if as_json:
        print(json.dumps(asdict(done)))
    else:
        for problem in done.problems:
            print(harmless(str(folder / str(problem))))
    if done.problems:
        wrong = len({problem.draft for problem in done.problems})
        raise UsageError(f"{folder}: to be corrected first: {wrong} of the drafts; nothing was written")
    if as_json:
        return
    print(
        f"{counted(done.taken, 'draft')} taken, {len(done.waiting)} not checked yet;"
        f" {counted(done.lines, 'document')} with a truth"
    )
    if done.waiting:
        print(harmless(f"next: {folder / done.waiting[0]}"))
    if done.lines >= _FEWEST:
        print(f"train on them with: cinnabar train {folder} --out MODEL")
    else:
        print(f"training takes at least {_FEWEST} of them")
