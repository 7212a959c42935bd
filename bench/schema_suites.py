"""The suites of schemas that the report uses: the standard's own, real schemas, and traps."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The files with groups that need documents of other hosts, and with groups that take `format` for an annotation.
APART = ("refRemote.json", "format.json")


@dataclass(slots=True)
class Case:
    """A schema and its labelled values, as JSON texts."""

    name: str
    schema: Any
    tests: list[tuple[str, bool]]


def groups(suites: Path) -> dict[str, list[Case]]:
    """The groups of the standard's suite: required, optional and formats."""
    folder = suites / "json-schema-test-suite" / "tests" / "draft2020-12"
    places = {
        "required": sorted(path for path in folder.glob("*.json") if path.name not in APART),
        "optional": sorted(folder.glob("optional/*.json")),
        "format": sorted(folder.glob("optional/format/*.json")),
    }
    return {
        kind: [
            Case(
                f"{path.stem}: {group['description']}",
                group["schema"],
                [(json.dumps(test["data"]), bool(test["valid"])) for test in group["tests"]],
            )
            for path in paths
            for group in json.loads(path.read_text(encoding="utf-8"))
        ]
        for kind, paths in places.items()
    }


def real(suites: Path) -> list[Case]:
    """The real schemas, with the instances whose labels are undisputed."""
    folder = suites / "jsonschemabench"
    found: list[Case] = []
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        case = json.loads((folder / entry["file"]).read_text(encoding="utf-8"))
        doubted = set(entry.get("label_disagree", ()))
        tests = [(json.dumps(t["data"]), bool(t["valid"])) for i, t in enumerate(case["tests"]) if i not in doubted]
        found.append(Case(Path(entry["file"]).stem, case["schema"], tests))
    return found


def traps(suites: Path) -> list[Case]:
    """Probes of common mistakes; none if the file is missing."""
    path = suites.parent / "tools" / "schema_traps.py"
    if not path.is_file():
        return []
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location("schema_traps", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return [
        Case(name, schema, [*((text, True) for text in good), *((text, False) for text in bad)])
        for name, schema, good, bad, _ in module.P
    ]


def spread(cases: Sequence[Case], wanted: int | None) -> list[Case]:
    """About `wanted` cases, evenly from all of them."""
    step = 1 if wanted is None else max(1, len(cases) // wanted)
    return list(cases[::step])


def references(schema: Any) -> Iterator[str]:
    """All references of a schema, and the meta-schemas that its parts name."""
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword in ("$ref", "$dynamicRef", "$schema") and isinstance(value, str):
                yield value
            yield from references(value)
    elif isinstance(schema, list):
        for part in schema:
            yield from references(part)
