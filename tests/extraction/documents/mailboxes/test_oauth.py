"""A mailbox by OAuth: a login by code or browser, fresh tokens in a run, refusals, and no token anywhere."""

from __future__ import annotations

import json
import re
import ssl
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support import certificates, imap_server, oauth_server
from tests.support.begun_runs import begun_extraction
from tests.support.imap_server import Server, mail
from tests.support.notes import NOTE
from tests.support.oauth_server import CLIENT, CODE, SCOPE, Authority
from tests.support.reading_model import ReadingModel

from cinnabar.apps.cli.main import run
from cinnabar.errors import RunError, UsageError
from cinnabar.extraction.documents.inputs import gather, parse_locations
from cinnabar.extraction.documents.mailboxes import oauth
from cinnabar.extraction.documents.mailboxes.address import ImapAddress, parse_address
from cinnabar.extraction.documents.mailboxes.credential import Credential, KeptSecret, credential_of, stored_login
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.documents.mailboxes.oauth import Login, Provider
from cinnabar.extraction.filling.model_sources import ModelSource
from cinnabar.extraction.plan.run_options import RunOptions

TOKEN_SHOWN = Credential("XOAUTH2", "access-9", b"user=anna@example.org\x01auth=Bearer access-9\x01\x01")
TOKEN = re.compile(r"(access|refresh)-\d+|[dxy]{40}|a-code|hush")


class Mailboxes:
    """The servers of this module: one takes tokens, the other passwords alone."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.made = certificates.make(folder)
        self.tokens = folder / "tokens"
        self.tokens.touch()
        self.with_tokens = stack.enter_context(imap_server.running("TLS", self.made, self.tokens))
        self.without = stack.enter_context(imap_server.running("TLS", self.made))


@pytest.fixture(scope="module")
def mailboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mailboxes]:
    with ExitStack() as stack:
        yield Mailboxes(tmp_path_factory.mktemp("oauth"), stack)


@pytest.fixture
def server(mailboxes: Mailboxes) -> Server:
    return mailboxes.with_tokens


@pytest.fixture
def authority(mailboxes: Mailboxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    for name in ("CINNABAR_IMAP_PASSWORD", "CINNABAR_IMAP_PASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(mailboxes.made.authority))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CINNABAR_OAUTH_CLIENT_ID", CLIENT)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with oauth_server.running(mailboxes.made, mailboxes.tokens) as found:
        ends = (f"{found.url}/{{tenant}}/{name}" for name in ("token", "authorize"))
        provider = Provider(*ends, SCOPE, f"{found.url}/{{tenant}}/device")
        monkeypatch.setitem(oauth.PROVIDERS, "127.0.0.1", provider)
        yield found


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(oauth, "sleep", waited.append)
    return waited


def log_in(server: Server, *more: str) -> int:
    return run(["flows", "login", server.address(), *more])


def test_after_a_login_by_code_runs_read_the_mailbox_without_a_password(
    authority: Authority, server: Server, waits: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority.pending = ["authorization_pending", "slow_down", "authorization_pending"]
    server.renumber("Daily", mail(1), mail(2))
    assert log_in(server) == 0
    out, err = capsys.readouterr()
    assert f"visit {authority.url}/enter and enter the code {CODE}" in err
    (kept,) = (tmp_path / "config/cinnabar/mailboxes").iterdir()
    assert f"the login is kept in {kept}" in out and not TOKEN.search(out + err)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with ExitStack() as connections:
        items = gather(parse_locations([server.address("Daily")]), None, connections)
        assert [item.read() for item in items] == [mail(1), mail(2)]
    # RFC 8628, 3.5: five seconds more from the first slow_down on.
    assert waits == [2, 2, 7, 7]


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        (["authorization_pending", "access_denied"], "gave no access token (access_denied)"),
        (["expired_token"], "gave no access token (expired_token); log in again"),
        (["authorization_pending"] * 1000, "gave no access token (expired_token); log in again"),
        (["authorization_declined"], "authorization_declined"),
    ],
)
def test_a_login_that_nobody_confirms_ends_in_one_line_and_keeps_nothing(
    authority: Authority,
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    pending: list[str],
    expected: str,
) -> None:
    now = [0.0]
    monkeypatch.setattr(oauth.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(oauth, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    authority.pending = pending
    assert log_in(server) == 2
    assert expected in (err := capsys.readouterr().err) and err.count("\n") == 2
    assert not (tmp_path / "config").exists()


def test_a_provider_that_fails_while_it_is_asked_is_asked_again_more_slowly(
    authority: Authority, waits: list[float]
) -> None:
    authority.pending = ["temporarily_unavailable", "authorization_pending"]
    client = Login(CLIENT, "home")
    given = oauth.log_in(
        oauth.provider_of("127.0.0.1"), client, lambda _: setattr(authority, "broken", 1), None
    )
    assert given.refresh_token and waits == [2, 7, 12, 12]


def test_a_token_that_expires_in_the_middle_of_a_run_is_renewed(
    authority: Authority, server: Server, waits: list[float]
) -> None:
    server.renumber("Long", *map(mail, range(4)))
    authority.rotating = True
    assert log_in(server) == 0 and waits
    with ExitStack() as connections:
        items = gather(parse_locations([server.address("Long")]), None, connections)
        assert items[0].read() == mail(0)
        for number in (1, 2):
            before = authority.given
            authority.expire()
            assert items[number].read() == mail(number) and authority.given == before + 1
        # The provider took each refresh token once, and the last one is kept.
        assert len(authority.known) == 1 and authority.known.pop() in stored_login(parse_address(server.address()))()


def test_the_results_of_a_run_hold_no_token(
    authority: Authority, server: Server, waits: list[float], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.renumber("Tables", mail(1), mail(2))
    assert log_in(server) == 0 and waits
    model, out = ReadingModel(), tmp_path / "out"
    source = ModelSource(model.fingerprint, lambda: model)
    where = parse_locations([server.address("Tables")])
    with begun_extraction(where, NOTE, out, source, RunOptions(workers=1, batch=1)) as extraction:
        for number in range(len(extraction.batches)):
            authority.expire()
            extraction.work(number)
        assert extraction.finish().written == 2
    files = [file for file in out.rglob("*") if file.is_file()]
    assert files and not [file for file in files if TOKEN.search(file.read_bytes().decode("latin-1"))]
    assert not TOKEN.search(caplog.text)


def test_a_revoked_login_says_log_in_again_before_and_within_a_run(
    authority: Authority, server: Server, waits: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.renumber("Revoked", mail(1), mail(2))
    assert log_in(server) == 0 and waits
    with ExitStack() as connections:
        items = gather(parse_locations([server.address("Revoked")]), None, connections)
        authority.revoked = authority.echoing = True
        authority.expire()
        with pytest.raises(RunError, match=r"invalid_grant.*; log in again; run the same command again") as refused:
            items[0].read()
    capsys.readouterr()
    out = tmp_path / "out"
    assert run(["extract", server.address("Revoked"), "--schema", "receipt", "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "; log in again" in err and not out.exists()
    assert not TOKEN.search(err + str(refused.value))


def browsed(shown: str) -> str:
    """Returns the address where a browser ends that visits the page that was shown."""
    page = urlsplit(shown.split()[1])
    connection = HTTPSConnection(page.netloc, timeout=5, context=ssl.create_default_context())
    with closing(connection):
        connection.request("GET", f"{page.path}?{page.query}")
        return str(connection.getresponse().headers["Location"])


def test_a_login_by_the_address_of_a_browser_proves_itself_by_pkce_and_state(authority: Authority) -> None:
    provider, client = oauth.provider_of("127.0.0.1"), Login(CLIENT, "home")
    shown: list[str] = []

    def entered() -> str:
        return f" {browsed(shown[-2])}\n"

    assert oauth.log_in(provider, client, shown.append, entered).refresh_token in authority.known
    assert urlsplit(shown[0].split()[1]).path == "/home/authorize"
    authority.denied = "access_denied"
    with pytest.raises(UsageError, match="no code for this login \\(access_denied\\)"):
        oauth.log_in(provider, client, shown.append, entered)
    for address in ("http://localhost/?code=stolen&state=guessed", "http://localhost/?code=stolen", "stolen", ""):
        given = authority.given
        with pytest.raises(UsageError, match="no code for this login") as refused:
            oauth.log_in(provider, client, shown.append, lambda address=address: address)
        assert "stolen" not in str(refused.value) and authority.given == given


def test_a_login_by_a_browser_reads_its_address_from_the_terminal(
    authority: Authority, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal:
        def readline(self) -> str:
            page, asking = capsys.readouterr().err.splitlines()
            assert "enter the address http://localhost/" in asking
            return browsed(page.removeprefix("cinnabar: "))

    monkeypatch.setattr("sys.stdin", Terminal())
    assert authority.url and log_in(server, "--browser", "--json") == 0
    assert json.loads(capsys.readouterr().out)["address"] == server.address()


def test_a_login_of_a_server_lies_in_a_file_an_environment_variable_or_a_block(
    authority: Authority,
    server: Server,
    waits: list[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    authority.secret = "hush"
    monkeypatch.setenv("CINNABAR_OAUTH_CLIENT_SECRET", "hush")
    file = tmp_path / "secrets" / "mailbox.login"
    assert log_in(server, "--file", str(file), "--json") == 0 and waits
    assert json.loads(capsys.readouterr().out)["kept"] == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and not (tmp_path / "config").exists()
    login = file.read_text().strip()

    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD_FILE", str(file))
    with ImapMailbox(parse_address(server.address())):
        pass
    monkeypatch.delenv("CINNABAR_IMAP_PASSWORD_FILE")
    with ImapMailbox(parse_address(server.address(), lambda: login)):
        pass
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD", login)
    with ImapMailbox(parse_address(server.address())):
        pass
    authority.rotating = True
    block = [login]
    secret = KeptSecret("block", lambda: block[0], lambda text: block.__setitem__(0, text))
    for _ in range(3):
        with ImapMailbox(parse_address(server.address(), secret)):
            pass


def test_a_password_in_a_file_logs_in(
    server: Server, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    monkeypatch.setenv("CINNABAR_IMAP_PASSWORD_FILE", str(file))
    with pytest.raises(UsageError, match="password: cannot be read"):
        ImapMailbox(parse_address(server.address()))
    file.write_text(f"{imap_server.PASSWORD}\n")
    with ImapMailbox(parse_address(server.address())):
        assert not authority.asked


def test_a_token_goes_to_no_server_without_oauth_and_to_none_of_another_provider(
    authority: Authority, mailboxes: Mailboxes
) -> None:
    authority.known.add("refresh-0")
    login = Login(CLIENT, "home", refresh_token="refresh-0").text
    with pytest.raises(UsageError, match="the server offers no login by OAuth"):
        ImapMailbox(parse_address(mailboxes.without.address(), login))
    asked = len(authority.asked)
    with pytest.raises(UsageError, match=r"org: expected a mail server with a login by OAuth") as refused:
        credential_of(parse_address("imaps://a@mail.example.org", login))
    assert len(authority.asked) == asked and "refresh-0" not in str(refused.value)


@pytest.mark.usefixtures("authority")
def test_a_mail_server_that_refuses_a_token_gets_its_answer_and_shows_no_token(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "cinnabar.extraction.documents.mailboxes.imap.credential_of", lambda _: TOKEN_SHOWN
    )
    with pytest.raises(UsageError, match=r"did not let anna@example.org in \(.*is IMAP on for the mailbox\?") as found:
        ImapMailbox(parse_address(server.address()))
    assert not TOKEN.search(str(found.value))


def test_an_authority_with_an_unknown_certificate_or_a_redirect_gets_no_second_token(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    login, paths = Login(CLIENT, "home", refresh_token="hush"), list[str]()
    moved = Provider(f"{authority.url}/moved", "", SCOPE)

    def answer(_: Authority, path: str, asked: dict[str, str]) -> object:
        paths.append(path)
        return f"{authority.url}/token" if asked else {"access_token": "access-1"}

    monkeypatch.setattr(Authority, "answer", answer)
    with pytest.raises(UsageError, match="no answer in JSON"):
        oauth.refresh_login(moved, login)
    assert paths == ["/moved"]
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(UsageError, match=r"CERTIFICATE_VERIFY_FAILED") as refused:
        oauth.refresh_login(moved, login)
    assert "hush" not in str(refused.value)


def test_no_representation_shows_a_token() -> None:
    login = Login(CLIENT, "home", "hush", "refresh-1")
    address = parse_address("imaps://a@mail.example.org", login.text)
    shown = repr([login, address, TOKEN_SHOWN, Login.of(login.text())])
    assert not TOKEN.search(shown) and Login.of(login.text()) == login


@pytest.mark.parametrize("text", ["pass", "17", "", "a=b&client_id=c", "refresh_token=c"])
def test_a_password_is_never_taken_for_a_login(text: str) -> None:
    assert Login.of(text) is None


def test_a_broken_login_is_never_sent_as_a_password() -> None:
    with pytest.raises(UsageError, match="got one with other fields") as refused:
        Login.of("client_id=a&refresh_token=hush&else=1")
    assert "hush" not in str(refused.value)


def test_microsoft_365_is_asked_in_its_tenant_and_gmail_wants_a_browser() -> None:
    microsoft, google = (oauth.provider_of(host) for host in ("outlook.office365.com", "imap.gmail.com"))
    assert microsoft.token.format(tenant="t") == "https://login.microsoftonline.com/t/oauth2/v2.0/token"
    assert microsoft.device and google.authorization and not google.device


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["imaps://a@mail.example.org", "--client-id", "c"], "one of outlook.office365.com, imap.gmail.com"),
        (["imaps://a@imap.gmail.com"], "--client-id"),
        (["mails", "--client-id", "c"], "expected a mailbox as imaps://USER@HOST/MAILBOX, got mails"),
    ],
)
def test_a_login_without_what_it_needs_says_what(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CINNABAR_OAUTH_CLIENT_ID", raising=False)
    assert run(["flows", "login", *arguments]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(("place", "why"), [("taken/login", ""), (".", "it is a folder")])
def test_nobody_is_asked_for_a_login_that_cannot_be_kept(
    authority: Authority, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, why: str
) -> None:
    (tmp_path / "taken").touch()
    assert log_in(server, "--file", str(tmp_path / place)) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / place}: cannot be written ({why}" in said and authority.url not in said


class _Ring:
    """The package keyring, with one keyring."""

    priority = 5.0

    def get_keyring(self) -> _Ring:
        return self

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text


def test_a_login_lies_in_the_keyring_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    ring = _Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    place = stored_login(ImapAddress("mail.example.org", 993, "anna@example.org", "INBOX", True))
    assert place() == ""
    place.write("client_id=a&refresh_token=refresh-1")
    assert place() == "client_id=a&refresh_token=refresh-1" and not list(tmp_path.iterdir())
    assert place.place == "the keyring, as anna@example.org@mail.example.org%3A993 of the service cinnabar"
