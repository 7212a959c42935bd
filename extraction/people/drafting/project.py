"""A small folder to begin with: a schema to edit, a sample document, a deployment, and the next steps."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.reading.yaml_texts import yaml_text

#: The files of a project, by their paths in it.
SCHEMA, DEPLOYMENT, README, SAMPLE = "schema.yaml", "prefect.yaml", "README.md", "documents/parcel-1042.txt"
RESULTS = "tables"
#: The title of the sample's schema, which names its view.
SAMPLE_VIEW = "parcel"


@dataclass(frozen=True, slots=True)
class Project:
    """The files that were written, those that were there already and stay as they are, and the next commands."""

    folder: str
    written: tuple[str, ...]
    kept: tuple[str, ...]
    next: tuple[str, ...]


def make_project(
    folder: Path, documents: list[Path] | None = None, schema: dict[str, Any] | None = None, comment: str | None = None
) -> Project:
    """Makes a project in this folder; a file that exists is kept.

    With `documents` there is no sample document, and the files name these; `schema` takes the template's place, with
    this comment at its head, or that of one of the library.
    """
    own = [path.absolute() for path in documents or ()]
    paths = own or [(folder / "documents").absolute()]
    texts = _texts(folder.absolute(), own, paths, SAMPLE_VIEW if schema is None else str(schema["title"]))
    if schema is not None:
        texts[SCHEMA] = schema_document(schema, (comment or OFFERED).format(name=schema["title"]))
    written: list[str] = []
    kept: list[str] = []
    for name, text in texts.items():
        (written if _write(folder / name, text) else kept).append(str(folder / name))
    asked = shlex.join(map(str, documents or [folder / "documents"]))
    named = shlex.quote(str(folder / SCHEMA))
    out = shlex.quote(str(folder / RESULTS))
    steps = (f"cinnabar extract {asked} --schema {named} --out {out}", f"cinnabar status --out {out}")
    return Project(str(folder), tuple(written), tuple(kept), steps)


def _texts(folder: Path, own: list[Path], paths: list[Path], view: str) -> dict[str, str]:
    room = files("cinnabar.extraction.people.drafting") / "template"
    # JSON texts are YAML texts.
    deployed = {
        "DOCUMENTS": ", ".join(json.dumps(str(path), ensure_ascii=False) for path in paths),
        "SCHEMA": json.dumps(str(folder / SCHEMA), ensure_ascii=False),
        "TABLES": json.dumps(str(folder / RESULTS), ensure_ascii=False),
    }
    shown = {"DOCUMENTS": shlex.join(map(str, own)) if own else "documents", "VIEW": view}
    names = [SCHEMA, *([] if own else [SAMPLE]), DEPLOYMENT, README]
    marks: dict[str, Mapping[str, str]] = {DEPLOYMENT: deployed, README: shown}
    texts = {}
    for name in names:
        text = room.joinpath(*name.split("/")).read_text("utf-8")
        for mark, stands_for in marks.get(name, {}).items():
            text = text.replace(f"@{mark}@", stands_for)
        texts[name] = text
    return texts


def _write(path: Path, text: str) -> bool:
    """Writes a new file; False if something is there already."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(text)
            return True
    except OSError as problem:
        raise UsageError(f"{path}: it cannot be written: {problem.strerror or problem}") from None
    return False


#: The comment at the head of a schema of the library.
OFFERED = """The schema `{name}` of the library: leave out fields that you do not want, and add your own.
The reader sees names, titles, descriptions and choices only: say in each description what the field is.
Documents may lack a value: `'null'` among the types allows that."""

#: The comment at the head of a schema whose fields a model named.
DRAFTED = """A draft of the schema `{name}`, whose fields a language model named by one of your documents: check each of
them, leave out what you do not want, and add what is missing. Say in each description what the field is.
Documents may lack a value: `'null'` among the types allows that."""


def schema_document(schema: dict[str, Any], comment: str) -> str:
    """Returns a schema as the text of a YAML file."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return head + yaml_text(schema)
