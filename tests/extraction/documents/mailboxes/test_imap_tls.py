"""TLS for mailboxes: a mailbox is read only by an encrypted connection to a server with a trusted certificate."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support import certificates, imap_server
from tests.support.imap_server import PASSWORD, Encryption, Server, mail

from cinnabar.apps.cli.main import run
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import gather, parse_locations
from cinnabar.extraction.documents.mailboxes.address import ImapAddress, parse_address
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox

BOTH: list[Encryption] = ["TLS", "STARTTLS"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Encryption, Server]]:
    made = certificates.make(tmp_path_factory.mktemp("certificates"))
    with imap_server.running("TLS", made) as first, imap_server.running("STARTTLS", made) as second:
        yield {"TLS": first, "STARTTLS": second}


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", PASSWORD)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


def trust(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.certificates is not None
    monkeypatch.setenv("SSL_CERT_FILE", str(server.certificates.authority))


@pytest.mark.parametrize("encryption", BOTH)
def test_mails_are_read_encrypted_once_the_authority_is_trusted(
    servers: dict[Encryption, Server], monkeypatch: pytest.MonkeyPatch, encryption: Encryption
) -> None:
    server = servers[encryption]
    server.deliver(mail(1), mail(2))
    trust(server, monkeypatch)
    with ExitStack() as connections:
        items = gather(parse_locations([server.address()]), None, connections)
        assert [item.read() for item in items] == [mail(1), mail(2)]
        assert isinstance(items[0].mailbox._connection.sock, ssl.SSLSocket)


@pytest.mark.parametrize("encryption", BOTH)
def test_an_untrusted_certificate_is_refused_before_the_password_is_sent(
    servers: dict[Encryption, Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    encryption: Encryption,
) -> None:
    logins = list[bool]()
    for way in ("login", "authenticate"):
        monkeypatch.setattr(f"imaplib.IMAP4.{way}", lambda *_: logins.append(True))
    address = servers[encryption].address()
    assert run(["extract", address, "--schema", "receipt", "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "its certificate is not trusted (unable to get local issuer" in printed
    assert "SSL_CERT_FILE names the certificates to trust" in printed
    assert not logins and PASSWORD not in printed and not (tmp_path / "out").exists()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE is .*none\.pem, which is not a file"):
        ImapMailbox(parse_address(address))


@pytest.mark.parametrize("encryption", BOTH)
def test_a_certificate_for_another_server_is_refused(
    servers: dict[Encryption, Server], monkeypatch: pytest.MonkeyPatch, encryption: Encryption
) -> None:
    server = servers[encryption]
    trust(server, monkeypatch)
    with pytest.raises(UsageError, match="name the server as its certificate does") as refused:
        ImapMailbox(parse_address(server.address(host="localhost")))
    assert "Hostname mismatch" in str(refused.value) and "SSL_CERT_FILE" not in str(refused.value)


def test_a_remote_server_without_encryption_gets_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with imap_server.running() as server:
        # The server runs on this machine, so the test makes it count as a remote one.
        monkeypatch.setattr("cinnabar.extraction.documents.mailboxes.imap.is_this_machine", lambda _: False)
        asked = ImapAddress("127.0.0.1", server.port, imap_server.USER, "INBOX", False)
        with pytest.raises(UsageError, match="the server offers no encryption for the password; try imaps://"):
            ImapMailbox(asked)
