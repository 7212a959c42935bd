"""Variables for stores come from a Secret block for as long as a flow runs, and are shown nowhere."""

from __future__ import annotations

import os

import pytest

from cinnabar.errors import UsageError
from cinnabar.flows import prefect_server
from cinnabar.flows.prefect_server import with_environment


@pytest.fixture(autouse=True)
def block(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    texts: dict[str, str] = {}
    monkeypatch.setattr(prefect_server, "secret", lambda name, _parameter: lambda: texts[name])
    return texts


def test_variables_hold_within_the_block_alone(block: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    block["keys"] = "AWS_REGION=us-east-1\n\nAWS_SECRET_ACCESS_KEY=a=b c\n"
    with pytest.raises(KeyError), with_environment("keys"):
        assert (os.environ["AWS_REGION"], os.environ["AWS_SECRET_ACCESS_KEY"]) == ("us-east-1", "a=b c")
        raise KeyError
    assert os.environ["AWS_REGION"] == "eu-west-1"
    assert "AWS_SECRET_ACCESS_KEY" not in os.environ


@pytest.mark.parametrize("text", ["s3cret", "A=1\n=s3cret", "A=1\nB C=s3cret"])
def test_another_line_is_refused_and_not_shown(block: dict[str, str], text: str) -> None:
    block["keys"] = text
    with pytest.raises(UsageError, match="NAME=VALUE") as refused, with_environment("keys"):
        pass
    assert "s3cret" not in str(refused.value)
