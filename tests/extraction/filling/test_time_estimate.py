"""The time that a run takes: told before its first document, and told anew where its documents show another one."""

from __future__ import annotations

import pytest

from cinnabar.extraction.filling.model_sources import LanguageSource, RemoteSource, model_source
from cinnabar.extraction.filling.time_estimate import CORE_SPEED, READER_SECONDS, Pace, TimeEstimate, usual_seconds
from cinnabar.extraction.plan.run_options import RunOptions


@pytest.mark.parametrize(
    ("seconds", "documents", "said"),
    [
        (12.2, 200, "about 12 s a document, 41 minutes in all"),
        (0.41, 100, "about 0.41 s a document, 41 seconds in all"),
        (150.0, 100, "about 2.5 minutes a document, 4.2 hours in all"),
        (100.0, 100_000, "about 100 s a document, 120 days in all"),
        (12.0, 1, "about 12 s a document"),
    ],
)
def test_times_are_spoken(seconds: float, documents: int, said: str) -> None:
    assert str(TimeEstimate(seconds, documents)) == said


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [50.0]
    monkeypatch.setattr("cinnabar.extraction.filling.time_estimate.time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("takes", [3.0, 12.0, 50.0])
@pytest.mark.parametrize("step", [0.25, 1.0, 16.0])
def test_from_the_third_document_on_the_time_is_true(clock: list[float], takes: float, step: float) -> None:
    told = list[TimeEstimate]()
    pace = Pace(told.append)
    pace.begin(160, 12.0)
    assert [str(one) for one in told] == ["about 12 s a document, 32 minutes in all"]
    clock[0] += 30  # while the model is loaded
    done = 0.0
    while done < 160:
        # A batch of 16 that a language model answers piece by piece, committed at its end.
        clock[0] += takes * step
        done += step
        whole = 16 * int(done / 16)
        if done % 16 == 0:
            pace.advance(16)
        else:
            pace.within(done - whole)
        if done >= 3 + 2 * step:
            assert 1 / 1.5 < told[-1].seconds / takes < 1.5
    # What is known is not told again.
    assert len(told) == (1 if takes == 12.0 else 2)


def test_a_short_run_is_told_nothing_of_and_one_that_turns_out_long_is(clock: list[float]) -> None:
    told = list[TimeEstimate]()
    pace = Pace(told.append)
    pace.begin(10, 0.4)
    assert not told
    pace.advance(4)
    clock[0] += 120
    pace.advance(4)
    assert [str(one) for one in told] == ["about 30 s a document, 5 minutes in all"]


def test_what_the_caller_has_told_is_not_told_again(clock: list[float]) -> None:
    told = list[TimeEstimate]()
    pace = Pace(told.append)
    pace.expect(10.0)
    pace.begin(100, 3.0)
    pace.advance(4)
    clock[0] += 39
    pace.advance(4)
    assert not told


def language(weights: float) -> LanguageSource:
    return LanguageSource("m", "cpu", "float32", "f", int(4 * weights))


def test_the_usual_time_grows_with_the_weights_and_falls_with_cores_and_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    reader = model_source()
    alone = usual_seconds([reader], RunOptions())
    small, large = (usual_seconds([reader, language(size)], RunOptions()) for size in (0.5e9, 1.5e9))
    assert alone is not None and small is not None and large is not None and alone < small < large / 2
    assert usual_seconds([reader, language(1.5e9)], RunOptions(seconds_each=4.0)) == pytest.approx(alone + 4)
    assert usual_seconds([reader, language(1.5e9)], RunOptions(seconds_each=4.0), 0) == alone
    # The effort alone tells nothing: a model that the caller named is asked once with each.
    assert usual_seconds([reader, language(1.5e9)], RunOptions(effort="instant")) == large
    assert usual_seconds([reader, language(1.5e9)], RunOptions(), 2) == pytest.approx(2 * large - alone)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert usual_seconds([reader], RunOptions()) == alone / 2
    remote = RemoteSource.__new__(RemoteSource)
    assert usual_seconds([reader, remote], RunOptions()) is None


@pytest.mark.parametrize(("threads", "cores"), [("4,2", 4), (" 3 ", 3), ("0", 8), ("", 8), ("many", 8)])
def test_the_usual_time_is_that_of_the_threads_told_first_or_else_of_the_cores_that_may_be_used(
    threads: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr("cinnabar.extraction.filling.time_estimate.core_speed", lambda: CORE_SPEED)
    assert usual_seconds([model_source()], RunOptions()) == READER_SECONDS / cores
