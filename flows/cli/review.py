"""`cinnabar review` serves the page on which people look at records and correct them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.flows.cli.options import AsJson
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import counted, harmless


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
        Path | None, typer.Option(metavar="FILE", help="Write a page that needs no server, and serve nothing.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="With --export: documents that meet this condition.")
    ] = None,
    schema: Annotated[str | None, typer.Option(metavar="NAME", help="With --export: records of this schema.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="With --export: the most documents.")] = 200,
    as_json: AsJson = False,
) -> None:
    """Look at records beside their documents and correct them, in the browser.

    The page is served to this machine alone, at the address that is printed. It shows first what most needs a look.
    Corrections are in the views at once.

    \b
    Examples:
      cinnabar review --out tables --open
      cinnabar review --out tables --who Ada
      cinnabar review --out tables --export doubtful.html --where "confidence < 0.5"
    """
    if export is not None:
        from cinnabar.extraction.watching.export import export_page

        found = export_page(out, export, where=where, schema_name=schema, limit=limit)
        if as_json:
            typer.echo(json.dumps(asdict(found) | {"path": str(found.path)}))
            return
        more = f"; {found.left_out:,} more were left out, --limit takes them in" if found.left_out else ""
        told_pages = f"{counted(found.documents, 'document')}, {counted(found.pages, 'page')} as pictures"
        typer.echo(f"{harmless(str(found.path))}: {told_pages}, {found.bytes / 1e6:.1f} MB{more}")
        return
    if where is not None or schema is not None:
        raise UsageError("--where and --schema: expected --export with them")
    from cinnabar.flows.review.server import serve_review

    def told(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"folder": str(out), "url": address}))
        else:
            typer.echo(f"Review of {out}: {address}\nCtrl-C ends it. The page is for this machine alone.")
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve_review(out, port, who, told)
