"""Checks of the installation: versions, the weights that ship, and a process of the parser."""

from __future__ import annotations

import json
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.version import VERSIONS, values_version
from cinnabar.errors import DocumentError, ModelError
from cinnabar.extraction.documents.content.document import Document
from cinnabar.extraction.documents.ingest.sandbox import ParserPool
from cinnabar.extras import PACKAGE
from cinnabar.wording import with_noun


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check; `advice` says what to do, "" if nothing."""

    check: str
    state: Literal["ok", "fails"]
    found: str
    advice: str = ""


def findings_of(checks: Iterable[tuple[str, Callable[[], Iterable[Finding]]]]) -> list[Finding]:
    """The findings of these checks in order; a check that raises has failed itself, and the others go on."""
    findings: list[Finding] = []
    for name, check in checks:
        try:
            findings += check()
        except Exception as error:  # a diagnosis has to survive what it looks for
            found = f"{type(error).__name__}: {error}"
            findings.append(Finding(name, "fails", found, "run with CINNABAR_DEBUG=1, and report it"))
    return findings


_WHOLE = "install it again: a file of the installation is missing or was changed"


def versions() -> Iterator[Finding]:
    """Cinnabar, Python, and whether each dependency is installed in a version that fits."""
    yield Finding("cinnabar", "ok", f"{version(PACKAGE)}, values {values_version(*VERSIONS)}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()}")
    wrong = []
    needed = [Requirement(text) for text in requires(PACKAGE) or ()]
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    for one in needed:
        try:
            there = version(one.name)
        except PackageNotFoundError:
            wrong.append(f"{one} is not installed")
            continue
        if not one.specifier.contains(there, prereleases=True):
            wrong.append(f"{one.name} is {there}, expected {one.specifier}")
    if wrong:
        yield Finding("dependencies", "fails", "; ".join(wrong), "make setup, or pip install them in these versions")
    else:
        yield Finding("dependencies", "ok", f"all {len(needed)} fit")


def models() -> Iterator[Finding]:
    """Whether the weights that ship are whole, by their SHA-256."""
    # Cold start: Torch takes a second.
    from cinnabar.engine.models.weights import check_files

    for check, folder in (("reader", SHIPPED), ("sentence encoder", SHIPPED.parent / "sentences")):
        try:
            card = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            check_files(folder, card["files"])
        except (OSError, ValueError, KeyError, ModelError) as error:
            yield Finding(check, "fails", str(error), _WHOLE)
            continue
        whole = sum(path.stat().st_size for path in folder.iterdir())
        yield Finding(check, "ok", f"{with_noun(len(card['files']), 'file')}, {whole / 1e6:.0f} MB, whole")


def parser() -> Iterator[Finding]:
    """Whether a bounded process reads a text."""
    with tempfile.TemporaryDirectory() as folder, ParserPool(1) as pool:
        path = Path(folder) / "doctor.txt"
        path.write_text("Invoice 77\n", encoding="utf-8")
        parsed = pool.submit(path).result()
    if isinstance(parsed, Document) and "77" in parsed.text:
        yield Finding("parser", "ok", "a bounded process reads a text")
    else:
        problem = str(parsed) if isinstance(parsed, DocumentError) else "another text"
        yield Finding("parser", "fails", problem, "allow processes of this user, with 1 GiB of address space each")
