"""Options, parameters, commands and variables that are gone, each with the sentence that says what to do instead.

The command line answers an unknown option or command with its sentence. A parameter of Python or of a stored deployment
may still be given at the default that it had; with another value it is refused before the first document.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cinnabar.errors import UsageError


@dataclass(frozen=True, slots=True)
class LeftOption:
    """An option that is gone: its default as a parameter, and what to do instead, after "is gone: "."""

    default: Any
    instead: str


_RUN_TOLD = "an automation of Prefect, or a line of shell after the run, tells of it (docs/recipes.md)"
_RUN_BROUGHT = "other programs take the Parquet files of the results, or DuckDB's Arrow (docs/recipes.md)"
_SHARE_WRONG = "a query over the corrections tells the share of wrong values, and --min-confidence holds records back"
_MOUNTED = "a mount (rclone) brings such files into a folder (docs/recipes.md)"
_OUTSIDE = "PEFT or TRL train a language model, and --model takes its folder"
_PACED = (
    "a server that is asked too often says so, and is asked again later; `concurrency` in the row of the model bounds"
)
_ROW_OF_MODEL = 'a row [models."NAME"] in cinnabar.toml of the folder sets it (docs/models.md)'

_POLICIES = {
    "on_missing": "missing=guess",
    "on_check": "check=quarantine",
    "on_list_incomplete": "list-incomplete=quarantine",
    "on_empty": "empty=write",
}
_SET_ONCE = ("device", "steps", "context", "ocr_engine", "workers", "max_tokens", "max_seconds")

#: By the name of the parameter; `--` and hyphens make it the option.
LEFT_OPTIONS: Mapping[str, LeftOption] = {
    "case": LeftOption(None, "a view in SQL puts the records of a case together (docs/recipes.md)"),
    "at_most_wrong": LeftOption(None, _SHARE_WRONG),
    "sample": LeftOption(None, _SHARE_WRONG),
    "audit": LeftOption(None, "`cinnabar sql` draws some for a second reader, … USING SAMPLE 5% (docs/recipes.md)"),
    "notify": LeftOption([], _RUN_TOLD),
    "tell": LeftOption([], _RUN_TOLD),
    "sink": LeftOption([], _RUN_BROUGHT),
    "fail_on": LeftOption(None, "the report has the shares of each run, and `cinnabar sql` compares them"),
    "team": LeftOption(None, "a proxy names the person (--name-header) and says who may write (docs/recipes.md)"),
    "set": LeftOption([], "a labelled set is a folder: remove the document's file and its line of truth.jsonl there"),
    "details": LeftOption(False, "`cinnabar schema check` shows the fields, and --json has all that is told"),
    "no_run": LeftOption(False, "`cinnabar model check` looks at a folder and runs nothing"),
    "sets": LeftOption(None, "`cinnabar eval SET --model FOLDER` runs labelled documents through a model"),
    "diffusion": LeftOption(False, _OUTSIDE),
    "rank": LeftOption(None, _OUTSIDE),
    "rate": LeftOption(None, _OUTSIDE),
    **dict.fromkeys(("base_url", "prices", "concurrency", "timeout"), LeftOption(None, _ROW_OF_MODEL)),
    **dict.fromkeys(("requests_per_minute", "tokens_per_minute"), LeftOption(None, _PACED)),
    "remote": LeftOption(None, "`budget` is a parameter, and cinnabar.toml of the folder sets the rest"),
    "server": LeftOption(None, "`budget=` is a keyword, and cinnabar.toml of the folder sets the rest"),
    **{name: LeftOption(None, f"--on {said} does it") for name, said in _POLICIES.items()},
    "since": LeftOption(None, "--where \"run_id >= '2026'\" chooses the records of runs from a day on"),
    "until": LeftOption(None, "--where \"run_id < '20260201'\" chooses the records of runs before a day"),
    "made_by": LeftOption(None, "--where \"engine_fingerprint = '…'\" chooses the records of an engine"),
    "wait": LeftOption(3600, "a run waits for an hour until another has ended; the deployment has the parameter"),
    "document_password_block": LeftOption(None, "--password-file or CINNABAR_PASSWORDS has passwords of documents"),
    "environment_block": LeftOption(None, "the process has the variables, a deployment its job variable `env`"),
    "formulas": LeftOption(False, "JSON, Excel and Parquet have all texts as they are"),
    "record_json": LeftOption(False, '--sql "select * from VIEW" has the record as JSON, too'),
    "files": LeftOption(None, "a set of those documents is a folder with their lines of truth.jsonl"),
    "port": LeftOption(4200, "PREFECT_SERVER_API_PORT sets the port of Prefect's server"),
    "out": LeftOption(None, "`cinnabar status` and `cinnabar verify` look at a folder of results"),
    "limit": LeftOption(None, "--source and --where choose fewer records"),
    "split": LeftOption(False, "a backfill reads the parts that `extract --split` found"),
    "retry_quarantined": LeftOption(False, "`cinnabar quarantine retry` reads them again"),
    "drop_corrections": LeftOption(False, "`cinnabar extract` has it; a schedule drops nothing"),
    "keep_documents": LeftOption(False, "the fields stand before the document, which fills more of them"),
    "route": LeftOption(False, "with several --schema each document gets the one that fits"),
    "related": LeftOption(None, "`cinnabar extract` has it, and a query over `outcomes` counts where documents went"),
    "constant": LeftOption(False, "--beside-constant prints the F1 of the best answer that ignores the document"),
    "gpu_limit": LeftOption(None, "`prefect work-pool create NAME --concurrency-limit 1` runs one at a time"),
    **dict.fromkeys(("parts", "words", "facts"), LeftOption(False, "`cinnabar text FILE --json` has it")),
    "saw": LeftOption([], "the review page tells what somebody else has changed meanwhile"),
    **{name: LeftOption(None, f"set `{name}` in the cinnabar.toml of the folder") for name in _SET_ONCE},
}

#: By the words of the command.
LEFT_COMMANDS: Mapping[str, str] = {
    "login": "`cinnabar flows login` does it",
    "train": "`cinnabar improve --set SET --out FOLDER` trains from a labelled set",
    "tables": "`cinnabar text FILE --tables --out DIR` writes the tables, and DuckDB's COPY makes other files of them",
    "mcp": "`cinnabar serve FOLDER… --mcp stdio` gives agents the tools, and --mcp http does so at /mcp",
    "model merge": "`merge_and_unload` of the package peft joins a LoRA folder with its model",
    "status events": _RUN_TOLD,
    "status checks": '`cinnabar sql "select check_name, holds, count(*) from checks group by all"` counts them',
    "status compact": "runs merge small files themselves, whenever there are 64",
    "flows alert": _RUN_TOLD,
}


#: Variables of the environment.
LEFT_VARIABLES: Mapping[str, str] = {
    "CINNABAR_WEBHOOK_SECRET": _RUN_TOLD,
    "CINNABAR_SMTP": _RUN_TOLD,
    "CINNABAR_ENCODINGS": "documents are read again, and nothing of them is kept",
    "CINNABAR_SFTP_PASSWORD": _MOUNTED,
    "CINNABAR_SFTP_KEY_FILE": _MOUNTED,
    "CINNABAR_GRAPH_URL": _MOUNTED,
    "OTEL_EXPORTER_OTLP_ENDPOINT": "Prefect traces its flows (docs/recipes.md)",
}


def instead_of_option(option: str) -> str | None:
    """Returns what to say of an option of the command line that is gone, None of one that never was."""
    left = LEFT_OPTIONS.get(option.removeprefix("--").replace("-", "_"))
    return None if left is None else f"{option} is gone: {left.instead}"


def instead_of_command(words: str) -> str | None:
    """Returns what to say of a command, such as `model merge`, that is gone; None of one that never was."""
    return f"`cinnabar {words}` is gone: {LEFT_COMMANDS[words]}" if words in LEFT_COMMANDS else None


def drop_left_options(values: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Returns the values without those that are gone and stand at their default.

    `known` are the names that are not gone. Raises UsageError, with the sentence, for another value.
    """
    kept = {}
    for name, value in values.items():
        if name in known or name not in LEFT_OPTIONS:
            kept[name] = value
        elif value is not None and (list(value) if isinstance(value, tuple) else value) != LEFT_OPTIONS[name].default:
            raise UsageError(f"{name} is gone: {LEFT_OPTIONS[name].instead}")
    return kept
