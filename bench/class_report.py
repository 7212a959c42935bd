"""Measures how many mails of four classes are sorted right, those of each language apart.

    python -m bench class_report --model auto

The 72 mails of `bench/class_mails.jsonl` were written for this measurement, and nothing was fitted to them. They are
sorted by the classes' names and English descriptions alone; with `--words` also with a few German words of each class
given in the schema (`x-cinnabar-options`). `accepted at 95%` is the share of mails, the surest first, of which 95% are
right.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bench.reporting import machine_line, table
from cinnabar import extract
from cinnabar.extraction.learning.scoring import area_under_curve, coverage

MAILS = Path(__file__).parent / "class_mails.jsonl"
CLASSES = {
    "cancellation": "the writer ends a contract or does not renew it",
    "damage": "the writer reports a loss, an accident or a theft",
    "enquiry": "the writer asks a question or for an offer",
    "complaint": "the writer is dissatisfied with how he was treated",
}
WORDS = {
    "cancellation": ["Kündigung", "kündige", "Vertrag beenden", "auflösen"],
    "damage": ["Schaden", "Unfall", "Einbruch", "beschädigt", "kaputt"],
    "enquiry": ["Anfrage", "Frage", "Angebot", "Auskunft", "versichert ist"],
    "complaint": ["Beschwerde", "enttäuscht", "unzufrieden", "nicht einverstanden"],
}


def schema_of(words: bool) -> dict[str, Any]:
    """Returns the schema of a mail's class, with or without the German words."""
    field: dict[str, Any] = {
        "enum": [*CLASSES],
        "description": "What the mail is: " + "; ".join(f"{name} = {told}" for name, told in CLASSES.items()),
    }
    if words:
        field["x-cinnabar-options"] = WORDS
    return {"type": "object", "title": "mail", "properties": {"kind": field}, "required": ["kind"]}


def sorted_mails(model: str, mails: Sequence[dict[str, str]], words: bool) -> list[tuple[float, bool]]:
    """Returns for each mail the confidence of its class and whether it is right."""
    documents = [(f"{at:02}.txt", mail["text"].encode()) for at, mail in enumerate(mails)]
    found = extract(documents, schema_of(words), model=model, on_missing="guess")
    told = []
    for mail, one in zip(mails, found, strict=True):
        value = one.values["/kind"]
        told.append((value.confidence or 0.0, one.record["kind"] == mail["class"]))
    return told


def main() -> None:
    """Prints the share of right classes by language, without and with words of the other language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default")
    parser.add_argument("--words", action="store_true", help="again with German words of each class")
    asked = parser.parse_args()
    lines = MAILS.read_text("utf-8").splitlines()
    mails = [json.loads(line) for line in lines]
    rows = []
    for words in (False, True) if asked.words else (False,):
        told = sorted_mails(asked.model, mails, words)
        for language in ("de", "en", "fr"):
            own = [one for mail, one in zip(mails, told, strict=True) if mail["language"] == language]
            auc = area_under_curve(own)
            right = sum(is_right for _, is_right in own)
            rows.append((
                language, "with German words" if words else "English descriptions", f"{right} of {len(own)}",
                "–" if auc is None else f"{auc:.2f}", f"{coverage(own) / len(own):.2f}",
            ))  # fmt: skip
    print(machine_line(torch.device("cpu"), asked.model))
    print(table(("mails", "options", "right", "auc", "accepted at 95%"), rows))


if __name__ == "__main__":
    main()
