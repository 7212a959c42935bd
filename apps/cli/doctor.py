"""`cinnabar doctor` checks whether this installation will work."""

from __future__ import annotations

from dataclasses import asdict

from cinnabar.apps.cli.console import PAGE_WIDTH, standard_output, table
from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.extraction.maintenance.diagnosis.installation import findings_of, models, parser, versions
from cinnabar.wording import with_noun


def doctor() -> Answer:
    """Check this installation: versions, weights, and a process of the parser.

    Each line says ok, or fails and what to do. Exit status 1 if something will not work.

    \b
    Examples:
      cinnabar doctor
    """
    findings = findings_of([("versions", versions), ("models", models), ("parser", parser)])
    failing = sum(one.state == "fails" for one in findings)
    yield {"works": not failing, "checks": [asdict(one) for one in findings]}
    rows = [(one.check, one.state, " → ".join(filter(None, (one.found, one.advice)))) for one in findings]
    console = standard_output(PAGE_WIDTH)
    console.print(table(("check", "", "found"), rows))
    console.print(f"{with_noun(failing, 'check')} failed" if failing else "all is well")
    return 1 if failing else 0
