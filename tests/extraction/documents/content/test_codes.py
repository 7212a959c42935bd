"""Each code of an unreadable file comes with what to do."""

from pathlib import Path

import pytest
from tests.support.cases import each

from cinnabar.apps.cli.main import run
from cinnabar.errors import DocumentError
from cinnabar.extraction.documents.content.parse_context import problem_message
from cinnabar.extraction.documents.inputs import Input
from cinnabar.extraction.plan.outcomes import UNREADABLE
from cinnabar.extraction.run.settled_inputs import settle_inputs


class Nothing:
    def done(self, digest: str) -> bool:
        return not digest

    def known_problem(self, path: str, problem: DocumentError) -> bool:
        return not (path and problem.code)


@each("code", UNREADABLE)
def test_an_outcome_says_what_to_do(code: str) -> None:
    problem = DocumentError(code, "of some kind")
    ((outcome,), _) = settle_inputs([Input("a.bin", Path("a.bin"), problem=problem)], Nothing())
    assert outcome.detail == f"of some kind; {UNREADABLE[code].advice}"
    assert problem_message(DocumentError(code)) == UNREADABLE[code].advice
    told = problem_message(DocumentError(code, "The file ends early."))
    assert told == f"The file ends early; {UNREADABLE[code].advice}"


def test_a_detail_that_says_what_to_do_stays_as_it_is() -> None:
    for detail in ("encrypted: give its password by --password-file", "a RAR archive: pack it as .zip"):
        assert problem_message(DocumentError("unsupported", detail)) == detail


@pytest.mark.parametrize(
    ("name", "data", "advice"),
    [
        ("a.pdf", b"%PDF-1.4\n1 0 obj\n<<", "copy or download it once more"),
        ("a.zip", b"PK\x03\x04" + bytes(60), "copy or download it once more"),
        ("a.pdf", b"no such thing", "save it as a PDF"),
    ],
)
def test_the_command_tells_the_reader_of_a_broken_file_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes, advice: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert run(["text", str(tmp_path / name)]) == 1
    assert advice in capsys.readouterr().err
