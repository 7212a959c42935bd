"""A mailbox by OAuth: a login by code or browser, fresh tokens in a run, refusals, and no token anywhere."""

from __future__ import annotations

import json
import re
import ssl
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, build_opener, urlopen

import certificates
import imap_server
import oauth_server
import pytest
from begun_runs import begun_extraction
from imap_server import Server, mail
from oauth_server import CLIENT, CODE, SCOPE, Authority
from reading_model import ReadingModel

from cinnabar.apps.cli.main import run
from cinnabar.extraction.documents.inputs import gather, located
from cinnabar.extraction.documents.mailboxes import oauth
from cinnabar.extraction.documents.mailboxes.address import ImapAddress, KeptSecret, parse_address
from cinnabar.extraction.documents.mailboxes.credential import Credential, credential_of
from cinnabar.extraction.documents.mailboxes.imap import ImapMailbox
from cinnabar.extraction.documents.mailboxes.login import Login, kept_login
from cinnabar.extraction.documents.mailboxes.loopback import log_in_by_browser
from cinnabar.extraction.plan.run_options import RunOptions
from cinnabar.extraction.reading.model_sources import ModelSource
from cinnabar.schemas import load_schema
from cinnabar.schemas.errors import RunError, UsageError

SCHEMA = {
    "title": "note",
    "type": "object",
    "properties": {"name": {"type": "string"}, "total": {"type": ["number", "null"], "multipleOf": 0.01}},
    "required": ["name", "total"],
}
TOKEN = re.compile(r"(access|refresh)-\d+|[dxy]{40}|a-code|hush")


class Mailboxes:
    """The servers of this module: one mailbox behind each way to show a token."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.made = certificates.make(folder)
        self.tokens = folder / "tokens"
        self.tokens.touch()
        ways = {"OAUTHBEARER": ("OAUTHBEARER", "XOAUTH2"), "XOAUTH2": ("XOAUTH2",), "PLAIN": ()}
        ends = {"OAUTHBEARER": "EXPIRED", "XOAUTH2": "BYE", "PLAIN": "BYE"}
        self.by = {
            way: stack.enter_context(imap_server.running("TLS", self.made, self.tokens, offered, ends[way]))
            for way, offered in ways.items()
        }


@pytest.fixture(scope="module")
def mailboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mailboxes]:
    with ExitStack() as stack:
        yield Mailboxes(tmp_path_factory.mktemp("oauth"), stack)


@pytest.fixture
def server(mailboxes: Mailboxes) -> Server:
    return mailboxes.by["XOAUTH2"]


@pytest.fixture
def authority(mailboxes: Mailboxes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    for name in ("CINNABAR_IMAP_PASSWORD", "CINNABAR_IMAP_PASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(mailboxes.made.authority))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CINNABAR_OAUTH_CLIENT_ID", CLIENT)
    monkeypatch.setattr("cinnabar.extraction.documents.mailboxes.login._keyring", lambda: None)
    with oauth_server.running(mailboxes.made, mailboxes.tokens) as found:
        yield found


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(oauth, "sleep", waited.append)
    return waited


def log_in(authority: Authority, server: Server, *more: str) -> int:
    scope = ["--issuer", authority.url, "--scope", SCOPE]
    return run(["mailbox", "login", server.address(), *scope, *more])


def provider(authority: Authority) -> oauth.Provider:
    return oauth.discovered(authority.url, SCOPE)


def client(authority: Authority) -> Login:
    return Login(CLIENT, f"{authority.url}/token", SCOPE)


def test_after_a_login_by_code_runs_read_the_mailbox_without_a_password(
    authority: Authority, mailboxes: Mailboxes, waits: list[float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority.pending = ["authorization_pending", "slow_down", "authorization_pending"]
    for server in (mailboxes.by["OAUTHBEARER"], mailboxes.by["XOAUTH2"]):
        server.renumber("Daily", mail(1), mail(2))
        assert log_in(authority, server) == 0
        out, err = capsys.readouterr()
        assert f"visit {authority.url}/enter and enter the code {CODE}" in err
        (kept,) = (tmp_path / "config/cinnabar/mailboxes").glob(f"*{server.port}.json")
        assert f"the login is kept in {kept}" in out and not TOKEN.search(out + err)
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        with ExitStack() as connections:
            items = gather(located([server.address("Daily")]), None, connections)
            assert [item.read() for item in items] == [mail(1), mail(2)]
    # RFC 8628, 3.5: five seconds more from the first slow_down on.
    assert waits == [2, 2, 7, 7, 2]


@pytest.mark.parametrize(
    ("pending", "expected"),
    [
        (["authorization_pending", "access_denied"], "gave no access token (access_denied)"),
        (["expired_token"], "the code expired before it was entered"),
        (["authorization_pending"] * 1000, "the code expired before it was entered"),
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
    assert log_in(authority, server) == 2
    assert expected in (err := capsys.readouterr().err) and err.count("\n") == 2
    assert not (tmp_path / "config").exists()


def test_a_provider_that_fails_while_it_is_asked_is_asked_again_more_slowly(
    authority: Authority, waits: list[float]
) -> None:
    where = provider(authority)
    authority.pending = ["temporarily_unavailable", "authorization_pending"]
    assert oauth.log_in_by_device(where, client(authority), lambda _: setattr(authority, "broken", 1)).refresh_token
    assert waits == [2, 4, 8, 8]


@pytest.mark.parametrize("way", ["XOAUTH2", "OAUTHBEARER"])
def test_a_token_that_expires_in_the_middle_of_a_run_is_renewed(
    authority: Authority, mailboxes: Mailboxes, waits: list[float], way: str
) -> None:
    server = mailboxes.by[way]
    server.renumber("Long", *map(mail, range(4)))
    authority.rotating = True
    assert log_in(authority, server) == 0 and waits
    with ExitStack() as connections:
        items = gather(located([server.address("Long")]), None, connections)
        assert items[0].read() == mail(0)
        for number in (1, 2):
            before = authority.given
            authority.expire()
            assert items[number].read() == mail(number) and authority.given == before + 1
        # The provider took each refresh token once, and the last one is kept.
        assert len(authority.known) == 1 and authority.known.pop() in kept_login(parse_address(server.address()))()


def test_the_results_of_a_run_hold_no_token(
    authority: Authority, server: Server, waits: list[float], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.renumber("Tables", mail(1), mail(2))
    assert log_in(authority, server) == 0 and waits
    model, out = ReadingModel(), tmp_path / "out"
    source, schema = ModelSource(model.fingerprint, lambda: model), load_schema(SCHEMA)
    where = located([server.address("Tables")])
    with begun_extraction(where, schema, out, source, RunOptions(workers=1, batch=1)) as extraction:
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
    assert log_in(authority, server) == 0 and waits
    with ExitStack() as connections:
        items = gather(located([server.address("Revoked")]), None, connections)
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


def test_a_scope_that_is_not_granted_is_named(
    authority: Authority, server: Server, waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    authority.granted = "openid contacts"
    assert log_in(authority, server) == 2 and waits
    assert "the provider did not grant mail.read; your client needs that permission" in capsys.readouterr().err
    authority.granted = None
    assert log_in(authority, server) == 0


def test_a_login_in_the_browser_proves_itself_by_pkce(authority: Authority) -> None:
    where, trusted = provider(authority), build_opener(HTTPSHandler(context=ssl.create_default_context()))
    strays = list[int]()

    def visit(text: str) -> None:
        page = text.split()[1]

        def browse() -> None:
            home = re.search(r"redirect_uri=http%3A%2F%2F127.0.0.1%3A(\d+)", page)
            assert home is not None
            try:
                urlopen(f"http://127.0.0.1:{home[1]}/?code=stolen&state=guessed", timeout=5)
            except HTTPError as error:
                with error:
                    strays.append(error.code)
            with trusted.open(page, timeout=5) as answer:
                assert b"You may close this page" in answer.read()

        threads.append(threading.Thread(target=browse))
        threads[-1].start()

    threads: list[threading.Thread] = []
    assert log_in_by_browser(where, client(authority), visit).refresh_token in authority.known
    authority.denied = "access_denied"
    with pytest.raises(UsageError, match="no code for a login \\(access_denied\\)"):
        log_in_by_browser(where, client(authority), visit)
    for thread in threads:
        thread.join()
    assert strays == [404, 404]


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
    file = tmp_path / "secrets" / "mailbox.json"
    assert log_in(authority, server, "--file", str(file), "--json") == 0 and waits
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


def test_a_token_goes_to_no_server_without_encryption_or_without_oauth(
    authority: Authority, mailboxes: Mailboxes
) -> None:
    authority.known.add("refresh-0")
    login = Login(CLIENT, f"{authority.url}/token", SCOPE, "refresh-0")
    with pytest.raises(UsageError, match="the server offers no login by OAuth"):
        ImapMailbox(parse_address(mailboxes.by["PLAIN"].address(), login.text))
    unencrypted = pytest.raises(UsageError, match="no encryption for the token; try imaps://")
    with imap_server.running() as plain, unencrypted:
        ImapMailbox(parse_address(plain.address(), login.text))


@pytest.mark.usefixtures("authority")
def test_a_mail_server_that_refuses_a_token_gets_its_answer_and_shows_no_token(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "cinnabar.extraction.documents.mailboxes.imap.credential_of", lambda _: Credential("access-9", is_token=True)
    )
    with pytest.raises(UsageError, match=r"did not let anna@example.org in \(.*is IMAP on for the mailbox\?") as found:
        ImapMailbox(parse_address(server.address()))
    assert not TOKEN.search(str(found.value))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/token", "", "file:///etc/passwd"])
def test_a_token_endpoint_without_tls_is_never_asked(url: str) -> None:
    address = parse_address("imaps://a@mail.example.org", Login(CLIENT, url, SCOPE, "hush").text)
    with pytest.raises(UsageError, match="expected an https:// address") as refused:
        credential_of(address)
    assert "hush" not in str(refused.value)


def test_an_authority_with_an_unknown_certificate_or_a_redirect_gets_no_second_token(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, paths = Login(CLIENT, f"{authority.url}/moved", SCOPE, "hush"), list[str]()

    def answer(_: Authority, path: str, asked: dict[str, str]) -> object:
        paths.append(path)
        return f"{authority.url}/token" if asked else {"access_token": "access-1"}

    monkeypatch.setattr(Authority, "answer", answer)
    with pytest.raises(UsageError, match="expected a JSON object"):
        oauth.refreshed(moved)
    assert paths == ["/moved"]
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(UsageError, match=r"CERTIFICATE_VERIFY_FAILED") as refused:
        oauth.refreshed(moved)
    assert "hush" not in str(refused.value)


def test_no_representation_shows_a_token() -> None:
    login = Login(CLIENT, "https://login.example/token", SCOPE, "refresh-1", "hush")
    address = parse_address("imaps://a@mail.example.org", login.text)
    shown = repr([login, address, Credential("access-1", is_token=True), Login.of(login.text())])
    assert not TOKEN.search(shown) and Login.of(login.text()) == login


@pytest.mark.parametrize("text", ["pass", "17", "{}", '{"a": 1}', "null", '["refresh_token"]'])
def test_a_password_is_never_taken_for_a_login(text: str) -> None:
    assert Login.of(text) is None


def test_a_broken_login_is_never_sent_as_a_password() -> None:
    with pytest.raises(UsageError, match="got one with other fields") as refused:
        Login.of('{"refresh_token": "hush", "else": 1}')
    assert "hush" not in str(refused.value)


def test_the_providers_of_microsoft_and_google_are_known() -> None:
    microsoft = oauth.provider_of("outlook.office365.com", "contoso.example")
    assert microsoft is not None and "/contoso.example/" in microsoft.token and microsoft.device
    google = oauth.provider_of("imap.gmail.com", "")
    assert google is not None and not google.device and google.authorization
    assert oauth.provider_of("mail.example.org", "") is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["imaps://a@mail.example.org"], "name it with --issuer and --scope"),
        (["imaps://a@mail.example.org", "--issuer", "https://login.example"], "expected --scope beside it"),
        (["imaps://a@imap.gmail.com"], "expected --client-id or CINNABAR_OAUTH_CLIENT_ID"),
        (["mails"], "expected a mailbox as imaps://USER@HOST/MAILBOX, got mails"),
    ],
)
def test_a_login_without_what_it_needs_says_what(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CINNABAR_OAUTH_CLIENT_ID", raising=False)
    assert run(["mailbox", "login", *arguments]) == 2
    assert expected in capsys.readouterr().err


class _Ring:
    priority = 5.0

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, text: str) -> None:
        self.kept[service, name] = text


def test_a_login_lies_in_the_keyring_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    ring = _Ring()
    monkeypatch.setattr("cinnabar.extraction.documents.mailboxes.login._keyring", lambda: ring)
    place = kept_login(ImapAddress("mail.example.org", 993, "anna@example.org", "INBOX", True))
    assert place() == ""
    place.write(json.dumps({"refresh_token": "refresh-1"}))
    assert json.loads(place()) == {"refresh_token": "refresh-1"} and not list(tmp_path.iterdir())
    assert place.place == "the keyring, as anna@example.org@mail.example.org%3A993 of the service cinnabar"
