"""Serves the review page on this machine.

The team behind a reverse proxy: the proxy tells who asks, and only a named proxy is believed.

The person's name and groups stand in headers that the proxy sets anew on each request. They are believed if the
connection comes from one of the named addresses, and each is there once: a proxy that adds its header beside one of the
browser would leave the choice to whoever sent both. As the proxy's session is in a cookie, which browsers send along
with the requests of other sites, a change must name our own origin, made of the address that the proxy tells.
"""

from __future__ import annotations

import getpass
import hmac
import ipaddress
import secrets
import socket
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal

import uvicorn
from pydantic import AfterValidator, BaseModel, ConfigDict, IPvAnyNetwork, StringConstraints, ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Scope

from cinnabar.apps.review.access import HOST, PERSON, READS, Access, Guard, Person, Role, is_page, least_role
from cinnabar.apps.review.app import review_app
from cinnabar.apps.review.improving import Improving
from cinnabar.apps.server.connections import Connection
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.review.review import Review

#: The header that has the proxy's secret.
SECRET = "x-cinnabar-proxy"
# The most characters of a name.
_LONGEST = 200
_PORTS = {"http": ":80", "https": ":443"}


def _compose(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


_Header = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+$", to_lower=True)]
_Roles = dict[
    Annotated[str, AfterValidator(_compose), StringConstraints(min_length=1)], Literal["reader", "reviewer", "owner"]
]


class Team(BaseModel):
    """The source of the names of people, and the role of each.

    name_header, group_header: have the person's name, and their groups parted by commas. proxies: the networks whose
    word is believed. host: the address that they reach. names, groups: the roles. secret: what the proxy sends
    along, so that no other process of its machine can speak for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name_header: _Header = "x-forwarded-user"
    group_header: _Header = "x-forwarded-groups"
    proxies: list[IPvAnyNetwork] = [ipaddress.IPv4Network(f"{HOST}/32")]
    host: str = HOST
    secret: Annotated[str, StringConstraints(min_length=16)] | None = None
    names: _Roles = {}
    groups: _Roles = {}

    @classmethod
    def read(cls, path: Path) -> Team:
        """Returns the team of a TOML file, with the secret of the file that it names.

        Raises UsageError, which names the entry that is wrong.
        """
        try:
            read = tomllib.loads(path.read_text("utf-8"))
            if "secret" in read:
                read["secret"] = (path.parent / str(read["secret"])).read_text("utf-8").strip()
            return cls.model_validate(read)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise UsageError(f"--team {path}: {place}: {first['msg']} (docs/review.md has an example)") from error
        except (OSError, ValueError) as error:
            raise UsageError(f"--team {path}: expected a TOML file ({error})") from error

    def person(self, scope: Scope, headers: Headers) -> Person:
        """Returns who asks. Raises HTTPException if it is nobody of the team, or not the proxy that says so."""
        if not self.is_proxy((scope.get("client") or ("",))[0]):
            raise HTTPException(403, "This address is for the reverse proxy alone; open the one of the proxy.")
        if self.secret and not hmac.compare_digest(_single(headers, SECRET).encode(), self.secret.encode()):
            raise HTTPException(403, f"The proxy did not tell its secret in {SECRET}; open the address of the proxy.")
        name = _compose(_single(headers, self.name_header))
        if not name:
            raise HTTPException(401, f"The proxy told no name: {self.name_header} is missing or empty.")
        if len(name) > _LONGEST or any(unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") for one in name):
            raise HTTPException(400, f"The name is longer than {_LONGEST} characters, or has one that cannot be shown.")
        groups = _single(headers, self.group_header).split(",")
        roles = [self.names.get(name), *(self.groups.get(_compose(one)) for one in groups)]
        role = max((Role[one.upper()] for one in roles if one), default=None)
        if role is None:
            raise HTTPException(403, "You are signed in, and have no role here: ask an owner of this review.")
        return Person(name, role)

    def is_proxy(self, host: str) -> bool:
        """Returns whether headers from this address are believed."""
        try:
            return any(ipaddress.ip_address(host) in network for network in self.proxies)
        except ValueError:
            return False


class TeamAccess(Guard):
    """Lets a request of a team's proxy through to the `app` with its person, as far as their role goes."""

    def __init__(self, app: ASGIApp, team: Team) -> None:
        super().__init__(app)
        self._team = team

    def refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Returns the answer to a request of somebody who may not make it."""
        method, path = scope["method"], scope["path"]
        try:
            person = self._team.person(scope, headers)
            if method not in READS and _single(headers, "origin").lower() != _own_origin(headers):
                text = "Changes come from the review page alone. Does the proxy tell X-Forwarded-Proto and -Host?"
                raise HTTPException(403, text)
            if not is_page(path) and person.role < (least := least_role(method, path)):
                raise HTTPException(403, f"This needs the role {least.name.lower()}.")
        except HTTPException as refused:
            return PlainTextResponse(f"{refused.detail}\n", refused.status_code)
        scope[PERSON] = person
        return None


def _own_origin(headers: Headers) -> str:
    scheme = (_single(headers, "x-forwarded-proto") or "http").lower()
    host = (_single(headers, "x-forwarded-host") or _single(headers, "host")).lower()
    return f"{scheme}://{host.removesuffix(_PORTS.get(scheme, ':'))}"


def _single(headers: Headers, name: str) -> str:
    values = headers.getlist(name)
    if len(values) > 1:
        raise HTTPException(400, f"The header {name} is there {len(values)} times; the proxy must replace it.")
    # Proxies send UTF-8, which `Headers` reads as Latin-1.
    return values[0].encode("latin-1").decode("utf-8", "replace") if values else ""


@contextmanager
def open_review(out: Path, port: int, who: str, team: Team | None = None) -> Iterator[tuple[ASGIApp, str]]:
    """Yields the guarded application over an output folder, and the address that opens it.

    That of a `team` is for its proxy. Raises UsageError if the folder holds no results.
    """
    key = secrets.token_urlsafe(32)
    improving = Improving(out)
    with Review(out, who, parser_settings(), team is not None) as review:
        app = review_app(review, improving)
        hosts = (f"{HOST}:{port}", f"localhost:{port}")
        guarded = Access(app, key, hosts) if team is None else TeamAccess(app, team)
        try:
            yield guarded, f"http://{HOST}:{port}/#{key}" if team is None else f"http://{team.host}:{port}/"
        finally:
            improving.stop()


def serve_review(
    out: Path, port: int, who: str | None, show_address: Callable[[str], None], team: Team | None = None
) -> None:
    """Serves the page until SIGINT or SIGTERM; `show_address` gets its address once it answers.

    A `port` of 0 takes a free one. Raises UsageError if the port cannot be had, or the folder holds no results.
    """
    with _listen(port, HOST if team is None else team.host) as listener:
        number = listener.getsockname()[1]
        with open_review(out, number, who or _user(), team) as (app, address):
            server = _ReviewServer(
                uvicorn.Config(
                    app,
                    log_level="error",
                    access_log=False,
                    server_header=False,
                    http=Connection,
                    ws="none",
                    timeout_graceful_shutdown=3,
                    # Else uvicorn would take the address of a client from a header that anybody can send.
                    proxy_headers=False,
                ),
                lambda: show_address(address),
            )
            # After the shutdown uvicorn raises again the signal that asked for it.
            with suppress(KeyboardInterrupt):
                server.run([listener])


class _ReviewServer(uvicorn.Server):
    """A server that tells when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to answer."""
        await super().startup(sockets)
        self._on_start()


@contextmanager
def _listen(port: int, host: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise UsageError(f"--port {port} of {host}: cannot be used ({error.strerror}); name another") from error
        yield listener


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"
