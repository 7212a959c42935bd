"""Values in console tables keep all digits of numbers; progress goes to standard error, in lines without a terminal."""

from __future__ import annotations

import io
import time
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cinnabar.apps.cli import console
from cinnabar.apps.cli.console import CELL_WIDTH, Bar, cell, fitted, short, table, tables_within
from cinnabar.errors import UsageError
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.extraction.store.records import Outcome
from cinnabar.wording import with_noun


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4904.94, "4904.94"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e22, "1e+22"),
        (Decimal("4904.940"), "4904.940"),
        (Decimal("0E-12"), "0.000000000000"),
        (Decimal("123456789012345678901234567890.12"), "123456789012345678901234567890.12"),
        (10**60, "1" + "0" * 60),
        (Decimal(10**60), "1" + "0" * 60),
        ({"net": Decimal("10.50"), "who": 'A "B"'}, '{"net": 10.50, "who": "A \\"B\\""}'),
    ],
)
def test_a_number_has_all_its_digits(value: Any, shown: str) -> None:
    assert cell(value) == short(value) == shown


def test_a_long_text_ends_in_an_ellipsis() -> None:
    assert short("1234567890" * 10) == f"{'1234567890' * 10}"[: CELL_WIDTH - 1] + "…"


@pytest.mark.parametrize("count", range(1, 12))
def test_a_number_in_a_list_is_whole_or_left_out(count: int) -> None:
    value = ["x" * count, *[Decimal("4904.94")] * 12]
    shown = short(value)
    assert shown.endswith("…") and len(shown) <= CELL_WIDTH
    numbers = [number.rstrip(",") for number in shown.removesuffix("…").split(", ")[1:]]
    assert set(numbers) <= {"4904.94", ""} and numbers.count("4904.94") >= 3


OUTCOMES = [*(Outcome(name, "skipped", "done") for name in "ab"), Outcome("c", "quarantined", "too_long")]


def test_progress_without_a_terminal_comes_in_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "LINE_SECONDS", 0.05)
    with Bar() as bar:
        time.sleep(0.2)  # nothing is known yet
        bar.on_inputs(5)
        bar.advance(OUTCOMES)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(line.startswith("cinnabar: ") for line in lines)
    assert "3 of 5 documents, " in lines[-1]
    assert lines[-1].endswith(": 1 quarantined (too_long 1), 2 skipped")


def test_a_run_that_breaks_off_tells_its_totals_and_a_whole_one_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt), Bar(out=Path("tables")) as bar:
        bar.on_inputs(5)
        bar.advance(OUTCOMES)
        raise KeyboardInterrupt
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("cinnabar: so far 3 of 5 documents, ")
    assert line.endswith(": 1 quarantined (too_long 1), 2 skipped, in tables")
    with Bar(out=Path("tables")) as bar:
        bar.on_inputs(5)
    with pytest.raises(UsageError), Bar(out=Path("tables")) as bar:
        bar.on_inputs(5)
        raise UsageError("refused")
    assert capsys.readouterr().err == ""


def test_answered_documents_move_the_bar_and_count_once_they_are_committed() -> None:
    bar = Bar()
    bar.on_inputs(5)
    moves = []
    for answered, committed in ((1.5, 0), (0.5, 0), (2.25, 2), (0.5, 0), (3.0, 3)):
        bar.within(answered)
        moves.append(bar.completed)
        bar.step(committed)
    assert moves == [1.5, 1.5, 2.25, 2.5, 5.0] and bar.done == 5


def printed(*shown: Any, width: int = 80) -> list[str]:
    written = io.StringIO()
    for one in shown:
        Console(width=width, file=written, highlight=False).print(one)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_a_bar_tells_documents_the_time_left_and_quarantine_by_reason_in_80_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [50.0]
    monkeypatch.setattr("cinnabar.apps.cli.console.time.monotonic", lambda: now[0])
    bar = Bar()
    assert [line.endswith(" looking for documents") for line in printed(bar.shown())] == [True]
    bar.on_inputs(1_006)
    bar.advance(OUTCOMES)  # two of an earlier run, which take no time, and one that is read
    now[0] += 10
    bar.within(100.0)
    now[0] += 2
    first, second = printed(bar.shown())
    # 100 documents took 10 s, 903 are left, and 2 s have gone since.
    assert first.endswith(" 3 of 1,006 documents, 0 fields, 88 s left") and second == "1 quarantined (too_long 1)"
    now[0] += 100
    assert printed(bar.shown())[0].endswith(" 0 fields")
    now[0] += 6_000
    bar.within(160.0)
    assert printed(bar.shown())[0].endswith(", 9 h left")
    codes = [*UNREADABLE] * 40
    bar.advance([Outcome(f"{at}", "quarantined", code) for at, code in enumerate(codes)])
    assert [len(line) <= 80 for line in printed(bar.shown())] == [True, True] and printed(bar.shown())[1].endswith("…")
    bar.step(1_006 - bar.done)
    assert "left" not in printed(bar.shown())[0]


def test_a_count_agrees_with_its_noun() -> None:
    assert [with_noun(n, "row") for n in (0, 1, 2, 1200)] == ["0 rows", "1 row", "2 rows", "1,200 rows"]
    assert with_noun(2, "batch", "batches") == "2 batches"


def test_a_narrow_terminal_folds_texts_and_no_numbers() -> None:
    rows = [("/a_field_with_a_long_name", "a value of many words that needs its room", 0.8854, "copied")]
    lines = printed(table(("field", "value", "confidence", "origin"), rows), width=44)
    assert "confidence" in lines[1] and "0.8854" in lines[3] and "copied" in lines[3]
    assert max(map(len, lines)) <= 44


def test_a_preview_has_as_many_columns_as_fit_the_page_and_cuts_no_head_and_no_number() -> None:
    heads = ["document", "date_of_agreement", "name_of_the_vessel", "fee", "insurance_policy_no", "berth"]
    row = ["a.txt", date(2026, 5, 3), "Maria Celeste the Second of Hallow Cove", Decimal("1480.00"), "PAN-44", "C-14"]
    lines = printed(fitted(heads, [row], "1 of the records"))
    assert lines[0] == "1 of the records; 2 more fields each" and max(map(len, lines)) <= 80
    assert lines[2].split() == heads[:4] and "Maria Celeste the Secon…" in lines[4] and "1480.00" in lines[4]
    assert "; " not in printed(fitted(heads[:2], [row[:2]], "1 of the records"))[0]
    wide = ["運送会社の名前と住所", "荷物の数", "配達日時の記録", "受取人氏名", "備考欄の内容", "請求先"]
    heads, values = printed(fitted(wide, [wide], ""))[2:5:2]  # a character takes two columns
    assert heads.split() == values.split() == wide[:5]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_rows_are_told_field_by_field_where_a_head_has_no_room(width: int) -> None:
    heads = ["path", "date_of_agreement", "mooring_fee"]
    rows = [("inbox/agreement-of-the-year-2026-011.txt", "2026-05-03", Decimal("1480.00")), ("b.txt", None, None)]
    shown = tables_within(heads, rows, width)
    lines = printed(*shown, width=width)
    assert max(map(len, lines)) <= width and len(shown) == (1 if width >= 60 else 2)
    text = "\n".join(lines)
    assert all(head in text for head in heads[1:]) and "1480.00" in text


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert console.standard_output().no_color
