"""Passwords of documents reach the parsers from a file and the environment, and nothing else."""

from pathlib import Path

import pytest

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.parser_settings import PASSWORDS, parser_settings
from cinnabar.extraction.plan.run_options import RunOptions


def test_passwords_come_from_the_environment_and_a_file_and_show_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "passwords"
    file.write_bytes("from a file\r\n\r\nfrom Ä\n".encode())
    monkeypatch.setenv(PASSWORDS, "from outside\nfrom a file")
    settings = parser_settings(RunOptions(password_file=str(file)))
    assert settings.passwords == ("from outside", "from a file", "from Ä") and "outside" not in repr(settings)
    monkeypatch.delenv(PASSWORDS)
    assert parser_settings().passwords == ()


def test_a_file_of_passwords_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--password-file .*missing: cannot be read"):
        parser_settings(RunOptions(password_file=str(tmp_path / "missing")))
    (tmp_path / "latin").write_bytes(b"pa\xdf")
    with pytest.raises(UsageError, match="UTF-8") as caught:
        parser_settings(RunOptions(password_file=str(tmp_path / "latin")))
    assert "pa" not in str(caught.value).replace("password", "").replace(str(tmp_path), "")


def test_hidden_text_is_read_on_request_and_makes_records_anew() -> None:
    asked = RunOptions(hidden=True)
    assert parser_settings(asked).hidden and not parser_settings().hidden
    assert asked.fingerprint("m") != RunOptions().fingerprint("m")


def test_too_many_passwords_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORDS, "\n".join(map(str, range(101))))
    with pytest.raises(UsageError, match="at most 100 passwords of documents, got 101"):
        parser_settings()
