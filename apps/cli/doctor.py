"""`cinnabar doctor` checks whether this installation, and a folder of results, will work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.console import PAGE_WIDTH, standard_output, table
from cinnabar.apps.cli.options import AsJson
from cinnabar.errors import UsageError
from cinnabar.extraction.maintenance.diagnosis import machine as installation
from cinnabar.extraction.maintenance.diagnosis.machine import (
    CheckState,
    Finding,
    fails,
    findings_of,
    fonts,
    machine,
    ok,
    results_folder,
)
from cinnabar.extras import EXTRAS, install_line
from cinnabar.flows.prefect_server import check_server
from cinnabar.wording import with_noun


def doctor(
    out: Annotated[
        Path | None,
        # A folder without rights is a finding, not a mistake in the command.
        typer.Option(metavar="DIR", readable=False, help="A folder of results, or for results, to check as well."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check versions, memory, cores, GPU, models, parser, fonts, OCR, extras, Prefect, and a folder of results.

    Each line says ok, or advice: it works, with something to know. A line that says fails tells what to do. Exit
    status 1 if something will not work.

    \b
    Examples:
      cinnabar doctor
      cinnabar doctor --out tables
      cinnabar doctor --json
    """
    checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
        ("versions", installation.versions),
        ("machine", machine),
        ("models", installation.models),
        ("parser", installation.parser),
        ("fonts", fonts),
        ("OCR", installation.ocr),
        ("extras", installation.extras),
        ("cache", installation.cache),
        ("Prefect", _prefect),
        *([("results", partial(results_folder, out))] if out is not None else []),
    ]
    findings = findings_of(checks)
    failing = sum(one.state is CheckState.FAILS for one in findings)
    advice = sum(one.state is CheckState.ADVICE for one in findings)
    if as_json:
        print(json.dumps({"works": not failing, "checks": [asdict(one) for one in findings]}, ensure_ascii=False))
    else:
        rows = [(one.check, one.state.value, " → ".join(filter(None, (one.found, one.advice)))) for one in findings]
        console = standard_output(PAGE_WIDTH)
        console.print(table(("check", "", "found"), rows))
        summary = f"{with_noun(failing, 'check')} failed, {advice} with advice"
        console.print(summary if failing or advice else "all is well")
    return 1 if failing else 0


def _prefect() -> Iterator[Finding]:
    """The version of Prefect, and whether the server answers that is set."""
    if EXTRAS["flows"].missing_packages():
        yield ok("Prefect", f"not installed; {install_line('flows')} for runs on a schedule")
        return
    installed = version("prefect")
    try:
        url = check_server()
    except UsageError as error:
        yield fails("Prefect", f"{installed}; {error}", "flows will not run until then; commands will")
        return
    yield ok("Prefect", f"{installed}; {url or 'no server is set, flows start one on this machine'}")
