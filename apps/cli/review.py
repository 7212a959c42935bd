"""`cinnabar review` serves the page on which people look at records and correct them."""

from __future__ import annotations

import json
import webbrowser
from typing import Annotated

import typer

from cinnabar.apps.cli.lazy_commands import AsJson
from cinnabar.apps.cli.options import OutOption
from cinnabar.apps.review.server import serve_review
from cinnabar.errors import UsageError


def review(
    out: OutOption,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 0,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name on corrections.")
    ] = None,
    name_header: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The proxy's header with the user's name."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Correct records beside their documents, in the browser.

    The page is served to this machine alone, at the address that is printed. It shows first what most needs a look.
    Corrections are in the views at once.

    \b
    Examples:
      cinnabar review --out tables --open --who Ada
    """
    if name_header is not None and (open_browser or who):
        raise UsageError("--name-header: expected neither --open nor --who with it; the proxy tells who it is")

    def show_address(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"folder": str(out), "url": address}))
        else:
            whom = "for this machine alone" if name_header is None else "for the reverse proxy alone"
            typer.echo(f"Review of {out}: {address}\nCtrl-C ends it. The page is {whom}.")
        if open_browser:
            webbrowser.open(address)

    serve_review(out, port, who, show_address, name_header)
