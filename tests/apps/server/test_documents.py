"""Files into records: a form or JSON, one result for each file, evidence and quarantine."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.server_process import INVOICE, NAME, ServerProcess, invoice

ROOT = Path(__file__).resolve().parents[3]
SAMPLES = ROOT / "data" / "samples" / "invoice"
File = tuple[str, tuple[str, bytes]]


def extract(served: ServerProcess, files: list[File], **fields: Any) -> httpx.Response:
    schema = {"schema": json.dumps(INVOICE)}
    return httpx.post(f"{served.url}/extract", files=files, data=schema | fields, timeout=60)


def results(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def text_file(number: int = 117, name: str = "a.txt") -> File:
    return ("files", (name, invoice(number).encode()))


def test_a_text_file_gives_the_record_of_the_same_text_in_a_chat(served: ServerProcess) -> None:
    (found,) = results(extract(served, [text_file()]))
    assert found["status"] == "written" and found["name"] == "a.txt"
    said = served.chat().json()["choices"][0]["message"]["content"]
    assert json.dumps(found["record"]) == json.dumps(json.loads(said))
    fields = {one["pointer"]: one for one in found["fields"]}
    number = fields["/invoice_number"]
    assert (number["value"], number["text"], number["origin"]) == ("2024-117", "2024-117", "copied")
    start, end = number["spans"][0]
    assert invoice()[start:end] == "2024-117" and 0 < number["confidence"] <= 1
    # The text does not say that it is paid.
    assert fields["/paid"]["value"] is not True


def test_each_file_has_a_result_in_the_order_of_the_form(served: ServerProcess) -> None:
    pdf = next(iter(sorted(SAMPLES.rglob("*.pdf"))))
    files = [text_file(118), ("files", (pdf.name, pdf.read_bytes())), ("files", ("b.bin", b"\0\1\2")), text_file(119)]
    first, second, third, fourth = results(extract(served, files))
    assert first["record"]["invoice_number"] == "2024-118" and fourth["record"]["invoice_number"] == "2024-119"
    assert second["media_type"] == "application/pdf" and second["pages"] >= 1
    boxes = [box for one in second["fields"] for box in one["boxes"]]
    assert boxes and set(boxes[0]) == {"page", "x0", "top", "x1", "bottom"}
    assert (third["status"], third["code"], third["record"]) == ("quarantined", "unsupported", None) and third["detail"]


def test_json_with_base64_gives_the_same_as_a_form(served: ServerProcess) -> None:
    content = base64.b64encode(invoice().encode()).decode()
    body = {"schema": INVOICE, "files": [{"name": "a.txt", "content": content}], "model": NAME}
    assert results(served.post("/extract", body)) == results(extract(served, [text_file()]))


def test_a_schema_may_be_named(served: ServerProcess) -> None:
    (found,) = results(extract(served, [text_file()], schema="invoice", on_missing="guess"))
    assert found["record"]["number"] == "2024-117"
    answer = extract(served, [text_file()], schema="pyproject.toml")
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "schema"
    assert "invoice, receipt" in answer.json()["error"]["message"]


def test_a_record_that_lacks_a_demanded_value_is_held_back_unless_guesses_are_wanted(served: ServerProcess) -> None:
    schema = json.dumps({"type": "object", "properties": {"iban": {"type": "string", "minLength": 9}},
                         "required": ["iban"]})  # fmt: skip
    files: list[File] = [("files", ("a.txt", b"A letter about nothing."))]
    (held,) = results(extract(served, files, schema=schema))
    assert (held["status"], held["code"], held["pointers"]) == ("quarantined", "missing", ["/iban"])
    (guessed,) = results(extract(served, files, schema=schema, on_missing="guess"))
    assert guessed["status"] == "written" and guessed["fields"][0]["missing"]
    (unsure,) = results(extract(served, [text_file()], min_confidence="1"))
    assert unsure["code"] == "low_confidence" and unsure["record"]


def test_a_record_without_a_value_is_held_back_skipped_or_written(served: ServerProcess) -> None:
    schema = json.dumps({"type": "object", "properties": {"iban": {"type": ["string", "null"]}}, "required": ["iban"]})
    files: list[File] = [("files", ("lunch.txt", b"Hi Bob, shall we have lunch at noon? Anna"))]
    (held,) = results(extract(served, files, schema=schema))
    assert (held["status"], held["code"]) == ("quarantined", "empty_record")
    assert held["record"] == {"iban": None} and "empty" in held["flags"]
    (written,) = results(extract(served, files, schema=schema, on_empty="write"))
    assert written["status"] == "written" and "empty" in written["flags"]
    (skipped,) = results(extract(served, files, schema=schema, on_empty="skip"))
    assert (skipped["status"], skipped["code"], skipped["record"]) == ("skipped", "empty_record", None)


def test_the_name_of_a_file_is_no_path(served: ServerProcess) -> None:
    files = [text_file(name="../../etc/passwd.txt"), ("files", ("/dev/null.txt", b"Total: 5"))]
    first, second = results(extract(served, files))
    assert first["record"]["invoice_number"] == "2024-117" and second["status"] == "written"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"schema": "{"}, "invalid_json"),
    ({"schema": '{"type": "nothing"}'}, "invalid_schema"),
    ({"on_missing": "ignore"}, "invalid_value"),
    ({"min_confidence": "much"}, "invalid_value"),
    ({"more": "x"}, "unknown_parameter"),
    ({"model": "gpt"}, "model_not_found"),
]


@pytest.mark.parametrize(("fields", "code"), WRONG)
def test_a_wrong_field_of_the_form_is_told(served: ServerProcess, fields: dict[str, Any], code: str) -> None:
    answer = extract(served, [text_file()], **fields)
    assert answer.status_code in (400, 404) and answer.json()["error"]["code"] == code


def test_a_form_without_files_or_that_is_none_is_told(served: ServerProcess) -> None:
    answer = httpx.post(f"{served.url}/extract", files={"schema": (None, "{}")})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "missing_parameter")
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = httpx.post(f"{served.url}/extract", content=b"nonsense", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_form")
    answer = served.post("/extract", {"schema": INVOICE, "files": [{"content": "%"}]})
    assert answer.json()["error"]["param"] == "files[0].content"
    assert httpx.post(f"{served.url}/extract", content=b"{}").status_code == 415
