"""A path has one spelling in an output folder: that of the first run that read there."""

from __future__ import annotations

from pathlib import Path

from tests.support.cases import each

from cinnabar.extraction.store.spelling import Spelling

HERE = Path("/data")


@each(
    "earlier, path, spelled",
    [
        ([], "mails/1.txt", "mails/1.txt"),
        ([], "./mails//1.txt", "mails/1.txt"),
        ([], "old/../mails/1.txt", "mails/1.txt"),
        ([], "/data/mails/1.txt", "/data/mails/1.txt"),
        (["mails"], "/data/mails/1.txt", "mails/1.txt"),
        (["mails"], "/data/mails", "mails"),
        (["mails"], "/data/mails2/1.txt", "/data/mails2/1.txt"),
        (["/data/mails"], "mails/1.txt", "/data/mails/1.txt"),
        (["mails/1.txt"], "/data/mails/1.txt", "mails/1.txt"),
        (["in.mbox"], "/data/in.mbox#3", "in.mbox#3"),
        (["."], "/data/mails/1.txt", "mails/1.txt"),
        (["/data/mails", "mails"], "mails/1.txt", "/data/mails/1.txt"),
        (["mails", "/data/mails"], "mails/1.txt", "mails/1.txt"),
        (["../data/mails"], "mails/1.txt", "../data/mails/1.txt"),
        (["/"], "mails/1.txt", "/data/mails/1.txt"),
        (["imaps://anna@example.org/INBOX"], "imaps://anna@example.org/INBOX", "imaps://anna@example.org/INBOX"),
    ],
)
def test_a_path_is_spelled_as_an_earlier_run_spelled_its_location(earlier: list[str], path: str, spelled: str) -> None:
    assert Spelling(earlier, [HERE], HERE)(path) == spelled


def test_a_relative_location_is_known_from_the_folder_that_its_run_started_from() -> None:
    spelling = Spelling(["mails"], [Path("/archive"), HERE], Path("/elsewhere"))
    assert spelling("/archive/mails/1.txt") == "mails/1.txt"
    assert spelling("../data/mails/1.txt") == "mails/1.txt"
    assert spelling("mails/1.txt") == "mails/1.txt"
    assert spelling("/elsewhere/mails/1.txt") == "/elsewhere/mails/1.txt"


def test_a_step_back_behind_a_link_is_no_needless_part(tmp_path: Path) -> None:
    (tmp_path / "far" / "in").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "in")
    assert Spelling([], [], tmp_path)("link/../a.txt") == "link/../a.txt"
    assert Spelling([], [], tmp_path)("far/../a.txt") == "a.txt"
