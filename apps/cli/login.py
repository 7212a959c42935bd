"""`cinnabar flows login` logs in to a mailbox by OAuth."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cinnabar.apps.cli.lazy_commands import Answer
from cinnabar.apps.cli.notices import print_notice
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.mailboxes.address import is_address, parse_address
from cinnabar.extraction.documents.mailboxes.credential import check_writable, in_file, stored_login
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.documents.mailboxes.oauth import Login, log_in, provider_of
from cinnabar.wording import harmless, with_noun


def log_in_to_mailbox(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="imaps://USER@HOST/MAILBOX.")],
    client_id: Annotated[
        str, typer.Option(metavar="ID", envvar="CINNABAR_OAUTH_CLIENT_ID", help="Your client at the provider.")
    ],
    client_secret: Annotated[str, typer.Option(envvar="CINNABAR_OAUTH_CLIENT_SECRET", hidden=True)] = "",
    tenant: Annotated[
        str, typer.Option(metavar="T", envvar="CINNABAR_OAUTH_TENANT", help="Your tenant of Microsoft 365.")
    ] = "organizations",
    browser: Annotated[bool, typer.Option("--browser", help="By an address in place of a code, as for Gmail.")] = False,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the login here, for a server.")
    ] = None,
) -> Answer:
    """Log in to a mailbox of Microsoft 365 or Gmail by OAuth.

    It shows a page and a code, waits until you have entered the code there on any device, keeps the login, and opens
    the mailbox once. For Gmail you give it the address where your browser ends. The client's secret, if it has one, is
    read from CINNABAR_OAUTH_CLIENT_SECRET.

    \b
    Examples:
      cinnabar flows login imaps://a%40gmail.com@imap.gmail.com --file gmail.login
    """
    if not is_address(address):
        raise UsageError(f"expected a mailbox as imaps://USER@HOST/MAILBOX, got {address}")
    mailbox = parse_address(address)
    provider = provider_of(mailbox.host)
    if file is not None:
        check_writable(file)  # before somebody consents in vain
    ask = sys.stdin.readline if browser or not provider.device else None
    login = log_in(provider, Login(client_id, tenant, client_secret), print_notice, ask)
    place = stored_login(mailbox) if file is None else in_file(file)
    place.write(login.text())
    # By what was kept, because a provider may take a refresh token only once.
    with ImapMailbox(replace(mailbox, password=place)) as opened:
        mails = len(opened.messages())
    yield {"address": str(mailbox), "kept": place.place, "mails": mails}
    print(harmless(f"logged in: {mailbox}: {with_noun(mails, 'mail')}; the login is kept in {place.place}"))
