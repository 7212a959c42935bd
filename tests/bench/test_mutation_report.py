"""The report on mutated files draws the same files again, and fails on what has no code."""

import time
from collections.abc import Iterator

import pytest
from bench import mutation_report
from bench.mutation_report import Mutations, main
from bench.mutation_seeds import KINDS, built, seeds_of
from bench.mutations import mutated

from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.ingest import ParserSettings, parse

SETTINGS = ParserSettings(passwords=("secret",), ocr="never", hidden=True)


def test_seeds_are_the_same_in_each_build_and_every_kind_has_some() -> None:
    first = dict(built())
    built.cache_clear()
    assert built() == first
    assert all(seeds_of(kind) for kind in KINDS)


@pytest.mark.parametrize("name", sorted(name for name in built() if not name.endswith(KINDS["image"])))
def test_every_seed_is_read_as_it_is(name: str) -> None:
    assert any(map(str.isalnum, parse(built()[name], name, SETTINGS).text))


def test_a_file_depends_on_its_kind_number_and_seed_alone() -> None:
    seeds = seeds_of("pdf")
    files = [Mutations("pdf", seed, seeds) for seed in (1, 1, 2)]
    one, again, other = ([of.file(number) for number in (40, 3, 41)] for of in files)
    assert one == again
    assert one != other
    assert all(data != seeds[files[0].name(number)] for data, number in zip(one, (40, 3, 41), strict=True))


def test_most_changes_of_a_pdf_leave_a_file_that_opens() -> None:
    seeds = seeds_of("pdf")
    files, read = Mutations("pdf", 1, seeds), 0
    for number in range(120):
        try:
            read += bool(parse(files.file(number), "a.pdf", SETTINGS).text)
        except DocumentError:
            continue
    assert read > 60


def test_the_report_fails_on_unknown_codes_silence_and_missing_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reads(*_: object) -> Iterator[tuple[int, str, str]]:
        yield 0, "document", ""
        yield 1, "unknown flags x", ""
        yield 2, "worker_died", "ended by signal 11"
        raise TimeoutError("data 3: no outcome within 8 s")

    monkeypatch.setattr(mutation_report, "read", reads)
    assert main(["--kind", "data", "--count", "5"]) == 1
    shown = capsys.readouterr().out
    assert "FAULT data 1 a.html: unknown flags x" in shown
    assert "- data 2 a.json: worker_died ended by signal 11" in shown
    assert "FAULT data data 3: no outcome within 8 s" in shown
    assert "2 files without an outcome, the first is 3" in shown


def test_a_file_without_an_outcome_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import Future

    monkeypatch.setattr("cinnabar.extraction.documents.ingest.sandbox.ParserPool.submit", lambda *_: Future())
    monkeypatch.setattr(Future, "result", lambda _, limit: (_ for _ in ()).throw(TimeoutError(limit)))
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match="data 0: no outcome within"):
        list(mutation_report.read(Mutations("data", 1, seeds_of("data")), [0, 1], 1, 10))
    assert time.monotonic() - begun < 60


def test_one_file_can_be_written(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["--kind", "pdf", "--show", "5"]) == 0
    assert capfdbinary.readouterr().out == Mutations("pdf", 1, seeds_of("pdf")).file(5)


def test_an_empty_file_has_nothing_to_change() -> None:
    import random

    assert mutated("a.txt", b"", (), random.Random(1)) == b""
