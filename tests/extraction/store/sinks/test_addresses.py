"""Addresses of sinks are judged before any work."""

from __future__ import annotations

import re
from pathlib import Path

import obstore
import pytest

from cinnabar.errors import UsageError
from cinnabar.extraction.documents.inputs import parse_locations
from cinnabar.extraction.store.sinks import delta
from cinnabar.extraction.store.sinks.sink import check_apart, sink_of


def test_a_store_without_create_if_absent_is_refused(out: Path, tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put = obstore.put
    monkeypatch.setattr(obstore, "put", lambda store, path, data, **_: put(store, path, data))
    with pytest.raises(UsageError, match="only if there is none"):
        sink_of(tables, out).check()


def test_a_sink_does_not_lie_where_documents_are_read(tables: str, tmp_path: Path) -> None:
    inputs = parse_locations(["s3://bucket/inbox", "s3://other", str(tmp_path / "inbox")])
    for place in ("s3://bucket/inbox", "s3://bucket/inbox/res", "s3://other/x"):
        with pytest.raises(UsageError, match=f"{re.escape(place)}: lies where documents are read"):
            check_apart([sink_of(f"delta+{place}")], inputs)
    stores = ("delta+s3://bucket/inbox2", "delta+s3://bucket", "delta+gs://bucket/inbox")
    others = (*stores, "postgresql://me@db/x", tables)
    check_apart(map(sink_of, others), inputs)


def test_wrong_settings_of_a_store_are_told_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_address: str) -> None:
        raise UsageError("AWS_ENDPOINT_URL: expected an address")

    monkeypatch.setattr(delta, "open_object_store", wrong)
    with pytest.raises(UsageError, match=r"^AWS_ENDPOINT_URL: expected an address$"):
        sink_of("delta+s3://bucket/x")


def test_wrong_addresses_are_told_without_their_secrets(out: Path) -> None:
    for wrong, reason in (
        ("delta+s3://", "s3://BUCKET"),
        ("delta+s3://key:secret@bucket/x", "without credentials"),
        ("delta+s3://bucket/x?secret=a@b", "without credentials"),
        (f"delta:{out}/copy", "lies in the output folder"),
        ("s3://bucket/x", r"begins with one of .*delta\+s3://"),
        ("ftp://host/x", "begins with one of"),
    ):
        with pytest.raises(UsageError, match=reason) as raised:
            sink_of(wrong, out)
        assert "secret" not in str(raised.value)
