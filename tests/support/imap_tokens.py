"""Makes an IMAP server (pymap) take access tokens by XOAUTH2, and end the sessions of outdated ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymap.config
from pymap.imap.state import ConnectionState
from pysasl import SASLAuth
from pysasl.creds.plain import PlainCredentials
from pysasl.exception import InvalidResponse
from pysasl.mechanism import ServerChallenge, ServerMechanism

_FORM = rb"user=(.+?)\x01auth=Bearer (.+?)\x01\x01"


class _Shown(PlainCredentials):
    """The credentials of a user who showed a token."""

    token = ""


class _Tokens(ServerMechanism):
    def __init__(self, file: Path, password: str) -> None:
        super().__init__("XOAUTH2")
        self.file, self.password = file, password

    def server_attempt(self, responses: Sequence[Any]) -> tuple[_Shown, None]:
        if not responses:
            raise ServerChallenge(b"")
        found = re.fullmatch(_FORM, responses[0].response)
        if found is None or len(responses) > 1:
            raise InvalidResponse
        token = found[2].decode()
        if token not in self.file.read_text().split():
            raise ServerChallenge(b'{"status":"401","schemes":"Bearer"}')
        credentials = _Shown(found[1].decode(), self.password)
        credentials.token = token
        return credentials, None


def install(file: str, password: str) -> None:
    """Patches this process: a session ends when its token is not in the file any more."""
    both = SASLAuth([*SASLAuth.defaults().server_mechanisms, _Tokens(Path(file), password)])
    pymap.config.IMAPConfig.tls_auth = property(lambda _: both)
    authenticate, command = ConnectionState.do_authenticate, ConnectionState.do_command

    async def remembering(state: Any, cmd: Any, creds: Any) -> Any:
        state.token = getattr(creds, "token", None)
        return await authenticate(state, cmd, creds)

    async def checked(state: Any, cmd: Any) -> Any:
        token = getattr(state, "token", None)
        if token is not None and token not in Path(file).read_text().split() and cmd.command != b"LOGOUT":
            raise ConnectionError
        return await command(state, cmd)

    ConnectionState.do_authenticate = remembering
    ConnectionState.do_command = checked
