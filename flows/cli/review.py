"""`cinnabar review` serves the page on which people look at records and correct them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import counted


def review(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder with the results of extract.")],
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 0,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name on corrections, if not that of the user.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a static page instead of serving one.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Which documents to export, such as \"confidence < 0.8\".")
    ] = None,
    schema: Annotated[str | None, typer.Option(metavar="S", help="Export records of this schema alone.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="The most documents to export.")] = 200,
) -> None:
    """Look at records beside their documents and correct them, in the browser.

    The page is served to this machine alone, at the address that is printed. It shows first what most needs a look.
    Corrections are in the views at once. With --export it writes one file that needs no server.

    \b
    Examples:
      cinnabar review --out tables --open
      cinnabar review --out tables --export doubtful.html --where "confidence < 0.8"
    """
    if export is None and (where is not None or schema is not None):
        raise UsageError("--where and --schema: they choose documents for --export; the page has its own filters")
    if export is not None:
        from cinnabar.extraction.watching.export import export_page

        found = export_page(out, export, where=where, schema_name=schema, limit=limit)
        left = f"; {counted(found.left_out, 'document')} left out, --limit {limit}" if found.left_out else ""
        typer.echo(f"{found.path}: {counted(found.documents, 'document')}, {found.bytes / 2**20:.1f} MiB{left}")
        return
    from cinnabar.flows.review.server import serve

    def told(address: str) -> None:
        typer.echo(f"Review of {out}: {address}\nCtrl-C ends it. The page is for this machine alone.")
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(out, port, who, told)
