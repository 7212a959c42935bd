"""A small folder to begin with, and a schema for it: of the library, or drafted from what a document labels."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

from cinnabar.engine.fill.engine import Engine
from cinnabar.engine.models.reader.loading import load_model
from cinnabar.engine.request import Failed, Request
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.filling.passages import passage_of
from cinnabar.extraction.filling.routing.router import Router
from cinnabar.extraction.filling.routing.routing import Routing
from cinnabar.extraction.review.forms import form_of
from cinnabar.schemas import compile_schema, load_schema
from cinnabar.schemas.columns.arrow import arrow_schema, arrow_value
from cinnabar.schemas.library import LIBRARY
from cinnabar.schemas.parsing.yaml_texts import yaml_text

#: The mean probability from which on a schema is offered. Four of the five kinds of data/samples have .52 to .95, the
#: receipts .36; of eight folders of other kinds that route to a schema now and then none had more than .36.
OFFER_SCHEMA = 0.5
# The keywords that say what a record is, before its properties.
_HEAD = ("$schema", "title", "description", "type")


def nearest_schema(documents: Sequence[Document]) -> tuple[str, float]:
    """Returns the schema of the library that these documents, one at least, look most like, and how likely on mean."""
    router = Router(Routing(tuple(load_schema(name) for name in LIBRARY)))
    routes = [router.route(document) for document in documents]
    means = {name: fmean(route.probabilities[name] for route in routes) for name in LIBRARY}
    return max(means.items(), key=lambda mean: mean[1])


def library_schema(name: str) -> dict[str, Any]:
    """Returns a schema of the library for people to edit; its title is its name, so that its view keeps that name."""
    schema = load_schema(name).schema
    assert isinstance(schema, dict)
    schema = schema | {"title": name}
    return dict(sorted(schema.items(), key=lambda item: _place(item[0])))


def _place(keyword: str) -> int:
    """The place of a keyword in a schema that people edit."""
    return _HEAD.index(keyword) if keyword in _HEAD else len(_HEAD) + (keyword == "$defs")


#: The most characters of a document in which values are shown before a run, and what types are called.
READ = 20_000
TYPES = {"string": "text", "boolean": "yes or no"}


@dataclass(frozen=True, slots=True)
class FieldFound:
    """A field of a schema, its type, and the values that the reader finds, by the paths of their documents."""

    name: str
    type: str
    found: Mapping[str, Any]


def fields_found(schema: dict[str, Any], documents: Mapping[str, Document]) -> list[FieldFound]:
    """Returns the fields of a schema with their values in these documents as tables have them, None if not found."""
    compiled = compile_schema(schema)
    columns = arrow_schema(compiled)
    passages = {path: passage_of(one, 0, min(len(one.text), READ)) for path, one in documents.items()}
    answers = Engine(load_model()).fill([Request(path, compiled.form, own) for path, own in passages.items()])
    values = {path: {} if isinstance(one, Failed) else one.value for path, one in zip(documents, answers, strict=True)}
    return [
        FieldFound(
            name,
            _type(place),
            {path: arrow_value(own.get(name), columns.field(name).type) for path, own in values.items()},
        )
        for name, place in form_of(schema)["properties"]
    ]


def _type(place: Mapping[str, Any]) -> str:
    """Returns the type of a place in a word."""
    if place["kind"] != "value":
        return str(place["kind"])
    return "choice" if "options" in place else place["format"] or TYPES.get(place["types"][0], place["types"][0])


#: The files of a project, by their paths in it.
SCHEMA, SETTINGS, DEPLOYMENT, README = "schema.yaml", "cinnabar.toml", "prefect.yaml", "README.md"
SAMPLE = "documents/parcel-1042.txt"
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


def make_project(folder: Path, documents: list[Path] | None = None, schema: dict[str, Any] | None = None) -> Project:
    """Makes a project in this folder; a file that exists is kept.

    With `documents` there is no sample document, and the files name these; `schema` takes the sample's place.
    """
    own = [path.absolute() for path in documents or ()]
    paths = own or [(folder / "documents").absolute()]
    texts = _texts(folder.absolute(), own, paths, SAMPLE_VIEW if schema is None else str(schema["title"]))
    if schema is not None:
        texts[SCHEMA] = schema_document(schema)
    written: list[str] = []
    kept: list[str] = []
    for name, text in texts.items():
        (written if _write(folder / name, text) else kept).append(str(folder / name))
    entered = () if folder == Path() else (f"cd {shlex.quote(str(folder))}",)
    return Project(str(folder), tuple(written), tuple(kept), (*entered, "cinnabar extract", "cinnabar status"))


def _texts(folder: Path, own: list[Path], paths: list[Path], view: str) -> dict[str, str]:
    room = files("cinnabar.extraction.review.drafting") / "template"
    # JSON texts are YAML texts.
    deployed = {
        "DOCUMENTS": ", ".join(json.dumps(str(path), ensure_ascii=False) for path in paths),
        "SCHEMA": json.dumps(str(folder / SCHEMA), ensure_ascii=False),
        "TABLES": json.dumps(str(folder / RESULTS), ensure_ascii=False),
    }
    # JSON texts are TOML texts, too.
    inbox = f"[{deployed['DOCUMENTS']}]" if own else '"documents"'
    names = [SCHEMA, *([] if own else [SAMPLE]), SETTINGS, DEPLOYMENT, README]
    marks: dict[str, Mapping[str, str]] = {DEPLOYMENT: deployed, README: {"VIEW": view}, SETTINGS: {"INBOX": inbox}}
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


#: The comment at the head of a schema for somebody's documents.
COMMENT = """{origin}.
Check each field, leave out what you do not want, and add your own. The reader sees names, titles, descriptions and
choices only: say in each description what the field is.
Documents may lack a value: `'null'` among the types allows that."""
DRAFT = "A draft, whose fields are the labels that your documents print"
NO_FIELDS = """No fields yet: your documents print no labels alike. Write yours under `properties`, each as this one:
  received_by: {title: Received by, description: Name of the person who took it., type: [string, 'null']}
and their names under `required`"""


def schema_document(schema: dict[str, Any]) -> str:
    """Returns a schema of the library, or a draft, as the text of a YAML file."""
    origin = DRAFT if schema["properties"] else NO_FIELDS
    if schema["title"] in LIBRARY:
        origin = f"The schema `{schema['title']}` of the library"
    return "".join(f"# {line}\n" for line in COMMENT.format(origin=origin).splitlines()) + yaml_text(schema)
