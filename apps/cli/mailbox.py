"""`cinnabar mailbox` logs in to mailboxes by OAuth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.options import AsJson
from cinnabar.apps.cli.plans import print_notice
from cinnabar.extraction.documents.mailboxes.address import is_address, parse_address
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.documents.mailboxes.login import Login, in_file, kept_login
from cinnabar.extraction.documents.mailboxes.loopback import log_in_by_browser
from cinnabar.extraction.documents.mailboxes.oauth import Provider, discovered, log_in_by_device, provider_of
from cinnabar.schemas.errors import UsageError
from cinnabar.schemas.wording import counted, harmless

mailbox_app = typer.Typer()


@mailbox_app.callback(invoke_without_command=True)
def mailbox_group(context: typer.Context) -> None:
    """Log in to a mailbox by OAuth.

    \b
    Examples:
      cinnabar mailbox login imaps://anna%40example.org@outlook.office365.com
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@mailbox_app.command("login")
def log_in(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The mailbox: imaps://USER@HOST/MAILBOX.")],
    client_id: Annotated[
        str, typer.Option(metavar="ID", envvar="CINNABAR_OAUTH_CLIENT_ID", help="Your client at the provider.")
    ] = "",
    client_secret: Annotated[str, typer.Option(envvar="CINNABAR_OAUTH_CLIENT_SECRET", hidden=True)] = "",
    tenant: Annotated[
        str, typer.Option(metavar="T", envvar="CINNABAR_OAUTH_TENANT", help="Your tenant of Microsoft 365.")
    ] = "organizations",
    issuer: Annotated[
        str | None, typer.Option(metavar="URL", help="Another provider, by the issuer of its OpenID configuration.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(metavar="SCOPE", help="What to ask that provider for, so that IMAP is allowed.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Log in in a browser on this machine, in place of a code.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the login in this file, for a server.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Log in to a mailbox by OAuth, so that runs read it without a password.

    It shows a page and a code, waits until you have entered the code there on any device, keeps the login, and opens
    the mailbox once. Gmail wants a browser on this machine. The client's secret, if it has one, is read from
    CINNABAR_OAUTH_CLIENT_SECRET.

    \b
    Examples:
      cinnabar mailbox login imaps://anna%40example.org@outlook.office365.com --client-id 1b7c2f08-aaaa
      cinnabar mailbox login imaps://anna%40gmail.com@imap.gmail.com --file gmail.json
    """
    if not is_address(address):
        raise UsageError(f"expected a mailbox as imaps://USER@HOST/MAILBOX, got {address}")
    mailbox = parse_address(address)
    provider = _provider(mailbox.host, tenant, issuer, scope)
    if not client_id:
        raise UsageError("expected --client-id or CINNABAR_OAUTH_CLIENT_ID: the client that you registered there")
    client = Login(client_id, provider.token, provider.scope, client_secret=client_secret)
    way = log_in_by_browser if browser or not provider.device else log_in_by_device
    login = way(provider, client, lambda text: print_notice(harmless(text)))
    place = kept_login(mailbox) if file is None else in_file(file)
    place.write(login.text())
    # By what was kept, because a provider may take a refresh token only once.
    with ImapMailbox(replace(mailbox, password=place)) as opened:
        mails = len(opened.messages())
    if as_json:
        print(json.dumps({"address": str(mailbox), "kept": place.place, "mails": mails}))
    else:
        print(harmless(f"logged in: {mailbox}: {counted(mails, 'mail')}; the login is kept in {place.place}"))


def _provider(host: str, tenant: str, issuer: str | None, scope: str | None) -> Provider:
    if issuer is not None and scope is None:
        raise UsageError("--issuer: expected --scope beside it, what this provider calls the permission to use IMAP")
    found = provider_of(host, tenant) if issuer is None else discovered(issuer, scope or "")
    if found is None:
        raise UsageError(f"{host}: which provider logs in there is not known; name it with --issuer and --scope")
    return found if scope is None else replace(found, scope=scope)
