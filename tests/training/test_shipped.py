"""The sources that the shipped weights are trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from training import shipped
from training.generator.generator import FAMILIES
from training.prepared import save_source
from training.recipe import load_recipe

from cinnabar.engine.models.identity import SHIPPED
from cinnabar.engine.training.pool import Source
from cinnabar.schemas.errors import UsageError


@pytest.fixture(name="data")
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one text beside the sets, and a cache in which every source is already prepared."""
    # The pretrained encoder has the vocabulary of the shipped model.
    monkeypatch.setattr(shipped, "pretrained_folder", lambda: SHIPPED)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "letters.jsonl.xz").write_bytes(b"")
    names = [*load_recipe().sets, *(f"synthetic_{family}" for family in FAMILIES), "mined_letters"]
    for name in names:
        save_source(Source(name, 1.0, []), tmp_path / "pool")
    return tmp_path


def _names(data: Path, *without: str) -> set[str]:
    return {source.name for source in shipped.shipped_sources(data, data / "pool", print, without)}


def test_an_excluded_source_is_not_used_although_it_is_prepared(data: Path) -> None:
    assert _names(data) - _names(data, "fara_forms", "letters") == {"fara_forms", "mined_letters"}
    assert not _names(data, "fara_forms", "letters") - _names(data)


def test_an_excluded_name_must_be_a_source(data: Path) -> None:
    with pytest.raises(UsageError, match=r"--without faras: expected one of .*fara_forms.*letters"):
        _names(data, "faras")
