"""The policy of batches that fail: so many attempts, and which errors and deaths end a run at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinnabar.errors import ModelError, NoEngine, RunError, UsageError
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.documents.processes.process import WorkerDied
from cinnabar.extraction.filling.pipeline import Batch
from cinnabar.extraction.run.batch import retries
from cinnabar.extraction.run.batch.retries import ATTEMPTS, BatchAttempts, join_alone, lose_document
from cinnabar.extraction.store.records import Outcome

BATCH = [Input(name, Path(name)) for name in ("a.txt", "b.txt")]


@given(st.lists(st.sampled_from([OSError, ValueError, RunError]), max_size=5), st.booleans())
def test_a_batch_has_three_attempts_and_each_failed_one_is_told(errors: list[type[Exception]], steps: bool) -> None:
    told: list[str] = []
    attempts, left = BatchAttempts(told.append), list(errors)

    def work() -> str:
        if left:
            raise left.pop(0)("a bad moment")
        return "done"

    def two_steps() -> str:
        # The attempts of all steps of a batch count together.
        return (attempts.make(7, BATCH, work), attempts.make(7, BATCH, work))[1] if steps else work()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retries, "DELAYS", (0.0, 0.0))
        if len(errors) < ATTEMPTS:
            assert attempts.make(7, BATCH, two_steps) == "done"
        else:
            with pytest.raises(RunError, match=r"^batch 7 of 2 documents \(a\.txt, b\.txt\) failed on every attempt: "):
                attempts.make(7, BATCH, two_steps) if not steps else two_steps()
            assert len(errors) - len(left) == ATTEMPTS
    assert len(told) == min(len(errors), ATTEMPTS - 1)


@pytest.mark.parametrize("final", [UsageError, ModelError, NoEngine, WorkerDied, KeyboardInterrupt])
def test_an_error_that_only_repeats_and_a_death_are_raised_at_once(final: type[BaseException]) -> None:
    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        raise final("no")

    with pytest.raises(final, match=r"^no$"):
        BatchAttempts(calls.append).make(0, BATCH, work)  # type: ignore[arg-type]
    assert calls == [1]


def test_the_seconds_between_attempts_are_those_of_the_policy() -> None:
    attempts, error = BatchAttempts(lambda _: None), OSError("no")
    assert [attempts.pause_after(error, 3, BATCH) for _ in range(2)] == [1.0, 10.0]
    assert attempts.pause_after(error, 4, BATCH) == 1.0
    advice = "; committed batches are kept; run the same command again"
    with pytest.raises(RunError) as failed:
        attempts.pause_after(RunError(f"the disk is full{advice}"), 3, BATCH)
    assert str(failed.value).count(advice) == 1


def lost(name: str) -> Batch:
    return lose_document(name, "0" * 64, None, "ended by signal 9")


def test_processes_that_end_on_each_document_of_three_batches_fail_the_run_unless_one_was_filled() -> None:
    filled = Batch([Outcome("a.txt", "quarantined", "missing")], steps=1)
    broken = Batch([Outcome("broken.pdf", "quarantined", "damaged")])
    attempts = BatchAttempts(lambda _: None)
    for batch in (lost("a.txt"), broken, join_alone([lost("b.txt"), lost("c.txt")])):
        attempts.check_lost(batch)
    with pytest.raises(RunError, match=r"^the processes of 3 batches ended, .*no document is the cause.*d\.txt.*kept"):
        attempts.check_lost(lost("d.txt"))
    attempts = BatchAttempts(lambda _: None)
    for batch in (lost("a.txt"), filled, *(lost(f"{number}.txt") for number in range(9))):
        attempts.check_lost(batch)


def test_documents_that_went_alone_are_one_batch_in_their_order() -> None:
    whole = join_alone([Batch([Outcome("a.txt", "quarantined", "missing")], steps=2), lost("b.txt")])
    assert [(one.path, one.code) for one in whole.outcomes] == [("a.txt", "missing"), ("b.txt", "engine_died")]
    assert whole.steps == 2 and not whole.set_aside
