"""The report on the speed of PDFs counts pages, and sets two versions side by side."""

from pathlib import Path

import pytest
from bench.parsing_speed import best, lines, main, measured
from tests.support.drawn_pages import drawn


@pytest.mark.slow
def test_pages_are_counted_with_the_code_of_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pdf").write_bytes(drawn(lambda page: page.drawString(72, 700, "one"), lambda _: None))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-")
    ((pages, seconds),) = measured(Path(__file__).resolve().parents[2], [tmp_path])
    assert pages == 2
    assert seconds > 0
    main([str(tmp_path), "--turns", "1"])
    assert capsys.readouterr().out.splitlines()[2].startswith(f"| {tmp_path.name} | 2 | ")


def test_the_least_seconds_of_all_turns_are_compared() -> None:
    after, before = best([[(10, 2.0)], [(10, 1.0)]]), best([[(10, 4.0)], [(10, 5.0)]])
    assert lines([Path("a")], after, before).splitlines()[-1] == "| a | 10 | 10.0 | 2.5 | 4.00 |"
