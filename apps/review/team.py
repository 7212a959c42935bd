"""The team behind a reverse proxy: the proxy tells who asks, and only a named proxy is believed.

The person's name and groups stand in headers that the proxy sets anew on each request. They are believed if the
connection comes from one of the named addresses, and each is there once: a proxy that adds its header beside one of the
browser would leave the choice to whoever sent both. As the proxy's session is in a cookie, which browsers send along
with the requests of other sites, a change must name our own origin, made of the address that the proxy tells.
"""

from __future__ import annotations

import ipaddress
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Scope

from cinnabar.apps.review.access import READS, Guard, is_json, is_page
from cinnabar.apps.review.people import PERSON, ROLES, Person, Role, least_role
from cinnabar.schemas.errors import UsageError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# The most characters of a name, and of all groups together.
_NAME, _GROUPS = 200, 4000
_PORTS = {"http": ":80", "https": ":443"}


class NotAdmitted(Exception):
    """A request that is not answered, with the status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Team:
    """Where the names and roles of people come from.

    name_header: has the person's name. group_header: has roles, or groups if there is a file, parted by commas.
    names, groups: the roles of the file. proxies: the networks whose word is believed.
    """

    name_header: str
    proxies: Sequence[Network]
    group_header: str | None = None
    names: Mapping[str, Role] | None = None
    groups: Mapping[str, Role] = field(default_factory=dict)

    @classmethod
    def of(cls, name_header: str, group_header: str | None, roles: Path | None, proxies: Sequence[str]) -> Team:
        """Returns the team of these options. Raises UsageError, which names the option that is wrong."""
        for option, header in (("--proxy-header", name_header), ("--role-header", group_header)):
            if header is not None and not header.replace("-", "").isalnum():
                raise UsageError(f"{option}: expected the name of a header such as X-Forwarded-User, got {header!r}")
        if group_header is None and roles is None:
            raise UsageError("--proxy-header: expected --role-header or --roles with it, which tell who may do what")
        networks = [_network(one) for one in proxies or ("127.0.0.1/32",)]
        names, groups = (None, dict[str, Role]()) if roles is None else _roles_in(roles)
        return cls(name_header.lower(), networks, group_header and group_header.lower(), names, groups)

    def person(self, scope: Scope, headers: Mapping[str, Sequence[str]]) -> Person:
        """Returns who asks. Raises NotAdmitted if it is nobody of the team, or not the proxy that says so."""
        host = (scope.get("client") or ("",))[0]
        if not self._is_proxy(host):
            raise NotAdmitted(403, "This address is for the reverse proxy alone; open the one of the proxy.")
        name = unicodedata.normalize("NFC", _single(headers, self.name_header)).strip()
        if not name:
            raise NotAdmitted(401, f"The proxy told no name: {self.name_header} is missing or empty.")
        if len(name) > _NAME or any(unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp") for one in name):
            raise NotAdmitted(400, f"The name is longer than {_NAME} characters, or has one that cannot be shown.")
        listed = "" if self.group_header is None else _single(headers, self.group_header)
        role = self._role(name, [one.strip() for one in listed[:_GROUPS].split(",")])
        if role is None:
            raise NotAdmitted(403, "You are signed in, and have no role here: ask an owner of this review.")
        return Person(name, role)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self.proxies)

    def _role(self, name: str, listed: Sequence[str]) -> Role | None:
        if self.names is None:
            found = [ROLES[one.lower()] for one in listed if one.lower() in ROLES]
        else:
            found = [self.groups[one] for one in listed if one in self.groups]
            found += [self.names[name]] if name in self.names else []
        return max(found, default=None)


class TeamAccess(Guard):
    """Lets a request of a team's proxy through to the `app` with its person, as far as their role goes."""

    def __init__(self, app: ASGIApp, team: Team) -> None:
        super().__init__(app)
        self._team = team

    def _refused(self, scope: Scope) -> Response | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("utf-8", "replace"))
        method, path = scope["method"], scope["path"]
        try:
            person = self._team.person(scope, headers)
            if method not in READS:
                _check_own(headers)
        except NotAdmitted as refused:
            return PlainTextResponse(f"{refused}\n", refused.status)
        if not is_page(path) and person.role < (least := least_role(method, path)):
            return PlainTextResponse(f"This needs the role {least.name.lower()}.\n", 403)
        scope[PERSON] = person
        return None


def _check_own(headers: Mapping[str, Sequence[str]]) -> None:
    """Raises NotAdmitted for a change that the page itself did not ask for."""
    scheme = _single(headers, "x-forwarded-proto") or "http"
    host = (_single(headers, "x-forwarded-host") or _single(headers, "host")).lower()
    own = f"{scheme.lower()}://{host.removesuffix(_PORTS.get(scheme.lower(), ':'))}"
    origin, site = _single(headers, "origin").lower(), _single(headers, "sec-fetch-site") or "same-origin"
    if origin != own or site != "same-origin" or not is_json(_single(headers, "content-type")):
        reason = "Changes come from the review page alone. Does the proxy tell X-Forwarded-Proto and X-Forwarded-Host?"
        raise NotAdmitted(403, reason)


def _single(headers: Mapping[str, Sequence[str]], name: str) -> str:
    values = headers.get(name, ())
    if len(values) > 1:
        raise NotAdmitted(400, f"The header {name} is there {len(values)} times; the proxy must replace it.")
    return values[0] if values else ""


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise UsageError(f"--trusted-proxy {text}: expected an address such as 127.0.0.1/32 ({error})") from error


def _roles_in(path: Path) -> tuple[dict[str, Role], dict[str, Role]]:
    """Returns the roles of names and of groups in a TOML file with the tables `names` and `groups`."""
    example = '[names] with lines such as "ada@example.org" = "owner", and [groups]'
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--roles {path}: expected a TOML file: {example} ({error})") from error
    tables = []
    for table in ("names", "groups"):
        told = content.pop(table, {})
        if not isinstance(told, dict) or any(role not in ROLES for role in told.values()):
            raise UsageError(f"--roles {path}: expected one of {', '.join(ROLES)} for each entry: {example}")
        tables.append({unicodedata.normalize("NFC", name): ROLES[role] for name, role in told.items()})
    if content:
        raise UsageError(f"--roles {path}: expected {example}, got {next(iter(content))!r}")
    return tables[0], tables[1]
