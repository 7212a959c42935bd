"""Kept files: whole or absent, within their limit, the least recently used go first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cinnabar.schemas.cache_files import CacheFiles, cache_folder, mark_used


def test_the_least_recently_used_file_is_removed_first(tmp_path: Path) -> None:
    kept = CacheFiles(tmp_path, "*/*.bin", 4000)
    for number in range(8):
        path = tmp_path / f"{number}" / "file.bin"
        assert kept.write(path, [bytes(500), bytes(400)], 900)
        os.utime(path, (number, number))
        mark_used(tmp_path / "0" / "file.bin")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.bin")) <= 4000
    # A folder without files goes with its last one.
    assert {path.name for path in tmp_path.iterdir()} >= {"0", "7"} and not (tmp_path / "1").exists()


def test_processes_that_write_to_one_folder_keep_its_limit_together(tmp_path: Path) -> None:
    limit, size = 100_000, 900
    writers = [CacheFiles(tmp_path, "*.bin", limit) for _ in range(4)]
    for number in range(400):
        writers[number % len(writers)].write(tmp_path / f"{number}.bin", [bytes(size)], size)
    count = len([*tmp_path.iterdir()])
    assert limit / 2 < count * size <= limit + len(writers) * (0.01 * limit + size)


def test_nothing_is_kept_beyond_the_limit_or_where_a_file_is_in_the_way(tmp_path: Path) -> None:
    assert not CacheFiles(tmp_path / "small", "*", 100).write(tmp_path / "small" / "one", [bytes(101)], 101)
    assert not (tmp_path / "small").exists()
    (tmp_path / "file").write_text("in the way")
    assert not CacheFiles(tmp_path / "file", "*", 100).write(tmp_path / "file" / "one", [b"x"], 1)


def test_what_fails_while_it_is_written_leaves_nothing(tmp_path: Path) -> None:
    def parts() -> object:
        yield b"half"
        raise OSError(28, "No space left on device")

    assert not CacheFiles(tmp_path, "*", 100).write(tmp_path / "one", parts(), 10)  # type: ignore[arg-type]
    assert not [*tmp_path.iterdir()]


def test_a_file_is_readable_by_whom_the_user_lets_read_his_files(tmp_path: Path) -> None:
    CacheFiles(tmp_path, "*", 100).write(tmp_path / "one", [b"x"], 1)
    (tmp_path / "other").write_bytes(b"x")
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_a_killed_process_left_goes_like_any_other_file(tmp_path: Path) -> None:
    torn = tmp_path / ".part-torn.bin"
    torn.write_bytes(bytes(90))
    os.utime(torn, (1, 1))
    assert CacheFiles(tmp_path, "*.bin", 100).write(tmp_path / "one.bin", [bytes(50)], 50)
    assert [path.name for path in tmp_path.iterdir()] == ["one.bin"]


def test_the_cache_folder_belongs_to_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINNABAR_CACHE", "")
    assert cache_folder() is None
    monkeypatch.delenv("CINNABAR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/cache")
    assert cache_folder() == Path("/some/cache/cinnabar")
