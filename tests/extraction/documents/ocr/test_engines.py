"""The OCR engines that a run may choose."""

import pytest

from cinnabar import extras
from cinnabar.errors import UsageError
from cinnabar.extraction.documents.ocr import engines
from cinnabar.extraction.documents.ocr.engines import OcrEngine
from cinnabar.extraction.documents.parser_settings import parser_settings
from cinnabar.extraction.plan.run_options import RunOptions


@pytest.mark.parametrize(
    ("choice", "name", "languages"),
    [
        ("rapidocr", "rapidocr", ""),
        ("tesseract", "tesseract", ""),
        ("tesseract:deu", "tesseract", "deu"),
        ("tesseract:chi_sim+script/Latin", "tesseract", "chi_sim+script/Latin"),
    ],
)
def test_an_engine_is_named_with_its_languages(choice: str, name: str, languages: str) -> None:
    assert OcrEngine.parse(choice) == OcrEngine(name, languages)


@pytest.mark.parametrize("choice", ["", "ocr", "rapidocr:eng", "tesseract:", "tesseract:-c", "tesseract:deu eng"])
def test_other_engines_are_refused_before_any_document(choice: str) -> None:
    with pytest.raises(UsageError, match=r"ocr_engine: expected rapidocr, tesseract or tesseract:LANGUAGES"):
        parser_settings(RunOptions(ocr_engine=choice))


def installed(monkeypatch: pytest.MonkeyPatch, *languages: str) -> None:
    monkeypatch.setattr(engines, "tesseract_languages", lambda: languages)


def test_tesseract_needs_its_program_and_its_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    with pytest.raises(UsageError, match="install Tesseract"):
        parser_settings(RunOptions(ocr_engine="tesseract"))
    assert parser_settings(RunOptions(ocr_engine="tesseract", ocr="never")).ocr == "never"
    installed(monkeypatch, "deu", "eng", "osd")
    monkeypatch.setattr(engines, "find_spec", lambda _: True)
    assert parser_settings(RunOptions(ocr_engine="tesseract:deu")).ocr_engine == "tesseract:deu"
    with pytest.raises(UsageError, match="language rus; it has deu, eng, osd"):
        parser_settings(RunOptions(ocr_engine="tesseract:rus+eng"))
    assert OcrEngine.parse("tesseract").chosen_languages() == "eng+deu"
    assert OcrEngine.parse("tesseract:deu").chosen_languages() == "deu"
    installed(monkeypatch, "ces", "deu", "ell", "eng", "fra", "ita", "nld", "osd", "rus")
    assert OcrEngine.parse("tesseract").chosen_languages() == "eng+ces+deu+ell+fra+ita"
    # The networks read the others themselves.
    assert OcrEngine.parse("rapidocr").chosen_languages() == "eng+ell+rus+ces+deu+fra"


def test_ocr_that_is_demanded_and_not_installed_is_told_before_any_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    assert parser_settings(RunOptions()).ocr == "auto"
    with pytest.raises(UsageError, match=r'pip install "cinnabar-extract\[ocr\]"'):
        parser_settings(RunOptions(ocr="always"))


def test_other_engines_and_languages_read_pages_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "deu", "eng")
    choice = ("rapidocr", "tesseract:deu", "tesseract:eng")
    assert len({OcrEngine.parse(one).fingerprint() for one in choice}) == 3


def test_the_choice_of_ocr_is_part_of_a_records_key_unless_it_is_the_usual_one() -> None:
    usual = RunOptions().fingerprint("m")
    assert RunOptions(ocr="auto", ocr_engine="rapidocr").fingerprint("m") == usual
    others = [RunOptions(ocr="never"), RunOptions(ocr="always"), RunOptions(ocr_engine="tesseract")]
    assert len({usual, *(one.fingerprint("m") for one in others)}) == 4
