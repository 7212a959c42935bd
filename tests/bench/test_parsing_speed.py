"""The report on the speed of PDFs counts the pages that can be read."""

from pathlib import Path

import pytest
from bench.parsing_speed import main
from tests.support.drawn_pages import drawn


def test_pages_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.pdf").write_bytes(drawn(lambda page: page.drawString(72, 700, "one"), lambda _: None))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-")
    main([str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[2].startswith(f"| {tmp_path.name} | 2 | ")
